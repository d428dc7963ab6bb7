"""Costs of a session explained: its requests, and the causes of what a turn cost."""
