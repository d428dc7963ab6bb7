"""Batches: many tasks, each by an agent of its own in a worktree of its own."""
