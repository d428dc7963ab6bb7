"""Context engine: the content of each request to the model. Pure, without I/O."""
