"""Scripts: Python of the model that calls the session's tools, in a sandbox with nothing else."""
