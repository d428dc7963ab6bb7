"""Extras: programs beside the agent; nothing in the agent imports them."""
