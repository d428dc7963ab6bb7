"""The line after a turn that cost much more than usual."""
