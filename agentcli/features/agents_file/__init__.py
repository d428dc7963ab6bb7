"""The command that has the model write AGENTS.md."""
