"""Slash commands in prompts."""

from __future__ import annotations


def name_and_argument(line: str) -> tuple[str, str]:
    """Return the name and the argument of a line `/name argument`; either may be empty."""
    name, *rest = line.strip().removeprefix("/").split(None, 1) or [""]
    return name, rest[0].strip() if rest else ""
