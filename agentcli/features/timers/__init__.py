"""Timers: prompts that begin a turn at intervals, or once after a time."""
