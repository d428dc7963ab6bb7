"""Extras: programs beside the agent, which nothing of it imports."""
