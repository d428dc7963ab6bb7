"""Pieces of text that every match of a regular expression holds, so that an index can tell where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

LEAST = 3
"""Characters from which a piece says anything."""


def literals(regex: re.Pattern[str]) -> tuple[tuple[str, ...], ...]:
    """Alternatives of which each match holds all pieces of one, whatever their case; none at all where nothing can be said.

    Only the outermost level is read: what stands in groups and classes is left out.
    """
    if regex.flags & re.VERBOSE:
        return ()
    alternatives: list[list[str]] = [[]]
    for piece in _runs(regex.pattern):
        if piece is None:
            alternatives.append([])
        elif len(piece) >= LEAST:
            alternatives[-1].append(piece)
    return tuple(map(tuple, alternatives)) if all(alternatives) else ()


def _runs(pattern: str) -> Iterator[str | None]:
    """The runs of literal characters outside of groups, in order; None where another alternative begins."""
    run: list[str] = []
    at = 0
    while at < len(pattern):
        token, literal, at = _token(pattern, at)
        if literal:
            run.append(literal)
            continue
        if run and (token in ("*", "?") or (token == "{" and at)):
            run.pop()
        yield "".join(run)
        run = []
        if token == "|":
            yield None
    yield "".join(run)


def _token(pattern: str, at: int) -> tuple[str, str, int]:
    """The next element: its first character, the literal character that it stands for if any, and the place behind it."""
    character = pattern[at]
    match character:
        case "\\":
            return _escape(pattern, at)
        case "[":
            return character, "", _behind_class(pattern, at)
        case "(":
            return character, "", _behind_group(pattern, at)
        case "{":
            found = _REPEATS.match(pattern, at)
            return character, "" if found else character, found.end() if found else at + 1
        case "." | "^" | "$" | "*" | "+" | "?" | "|":
            return character, "", at + 1
        case _:
            return character, character, at + 1


def _escape(pattern: str, at: int) -> tuple[str, str, int]:
    found = _ESCAPE.match(pattern, at)
    if found:
        return "\\", "", found.end()
    return "\\", pattern[at + 1 : at + 2], at + 2


def _behind_class(pattern: str, at: int) -> int:
    found = _CLASS.match(pattern, at)
    return found.end() if found else len(pattern)


def _behind_group(pattern: str, at: int) -> int:
    if pattern.startswith("(?#", at):
        return pattern.index(")", at) + 1
    at += 1
    while at < len(pattern) and pattern[at] != ")":
        match pattern[at]:
            case "\\":
                at += 2
            case "[":
                at = _behind_class(pattern, at)
            case "(":
                at = _behind_group(pattern, at)
            case _:
                at += 1
    return at + 1


_REPEATS = re.compile(r"\{(?:\d+(?:,\d*)?|,\d*)\}")
_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|\d{1,3}|[A-Za-z])", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
