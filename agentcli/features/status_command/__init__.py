"""The person's own program for the status line."""
