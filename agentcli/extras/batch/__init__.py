"""Batches: many tasks, each with its own agent in its own worktree."""
