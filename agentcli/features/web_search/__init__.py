"""Web search by an engine of the user's choice."""
