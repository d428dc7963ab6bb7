"""The tree that forks and subagents make of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def nested(parents: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield ids with their depth, each once and right below its parent; `parents` maps an id to its parent's.

    Siblings stay in the given order. A session whose parent is missing is at the root.
    """
    children: dict[str, list[str]] = {}
    for each, parent in parents.items():
        children.setdefault(parent if parent in parents and parent != each else "", []).append(each)
    ahead = [(0, each) for each in reversed(children.get("", ()))]
    while ahead:
        depth, each = ahead.pop()
        yield depth, each
        ahead += [(depth + 1, child) for child in reversed(children.get(each, ()))]


def stem(depth: int) -> str:
    """Return the prefix of a title at this depth, for people."""
    return "  " * (depth - 1) + "└ " if depth else ""
