"""The status command: the user's program whose output is shown in the status line."""
