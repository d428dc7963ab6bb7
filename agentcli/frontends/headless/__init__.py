"""Front end without a terminal: one prompt, its answer on stdout."""
