"""Configuration of other programs, a module for each."""

PROGRAMS = ("claude", "gemini", "codex", "opencode")
"""The programs, by the names of their modules."""
