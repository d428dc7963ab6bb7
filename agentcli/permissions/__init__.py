"""Decisions about calls: rules, modes, paths and commands, decided without running anything."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for tables that are read by people."""
    return frozenset(text.split())
