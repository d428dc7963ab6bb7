"""Decisions about calls: rules, modes, paths and commands, decided without running anything."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text: a readable notation for tables."""
    return frozenset(text.split())
