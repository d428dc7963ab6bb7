"""Configuration of other programs, with one module for each."""

PROGRAMS = ("claude", "gemini", "codex", "opencode", "pi", "copilot")
"""Names of the programs and of their modules."""
