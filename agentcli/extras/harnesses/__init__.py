"""Adapters to the harnesses of others: Harbor and Inspect."""
