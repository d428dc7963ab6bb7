"""Literal texts that every match of a regular expression contains, so that an index can exclude records."""

from __future__ import annotations

import re
from collections.abc import Iterator

LEAST = 3
"""Minimum characters of a useful literal."""


def literals(regex: re.Pattern[str]) -> tuple[tuple[str, ...], ...]:
    """Return alternatives: each match contains all literals of one of them, ignoring case; none if nothing is certain.

    Only the outermost level is read, without groups and classes.
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
    """Yield the runs of literal characters outside of groups, in order; None before each further alternative."""
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
    """Return the next element: its first character, its literal character, and the index after it.

    The second is empty if the element stands for no literal character.
    """
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
