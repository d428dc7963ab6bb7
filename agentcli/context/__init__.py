"""The context engine: decides what the model sees. Pure, without I/O."""
