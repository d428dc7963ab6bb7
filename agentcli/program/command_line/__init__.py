"""What the program and its features need for their commands: flags, output, tables, progress, questions. Nothing but typer is imported at once."""
