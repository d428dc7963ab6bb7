"""A stand-in for Harbor: as much of it as the adapter touches."""
