"""The front end without a terminal: one prompt, its answer on stdout."""
