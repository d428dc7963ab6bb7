"""Batches: many tasks, each for its own agent in its own worktree."""
