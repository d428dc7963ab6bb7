"""Edits that change nothing but comments, as their diffs show."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePath

_MARKS = {"#": "py pyi rb sh bash zsh yaml yml toml r pl ex exs", "//": "js jsx ts tsx mjs cjs go rs c h cc cpp hpp java kt kts swift cs scala php dart zig", "--": "sql lua hs"}  # fmt: skip
"""How a comment begins, with the endings of the files in which it does."""
_DIRECTIVES = re.compile(r"\s*(?:#!|//(?:go:build|\s*\+build|export\b)|#\s*-\*-)")
"""Comments that tools obey when they build or run a file."""


def changes_only_comments(diff: str) -> bool:
    """Return True if a diff changes comments and blank lines alone."""
    mark, left, changed = "", list[str](), False
    lines = diff.splitlines()
    for line, after in pairwise([*lines, ""]):
        if line.startswith("--- ") and after.startswith("+++ "):
            continue
        if line.startswith("+++ "):
            ending = PurePath(line.split("\t")[0].strip()).suffix.removeprefix(".")
            mark = next((sign for sign, endings in _MARKS.items() if ending in endings.split()), mark)
        elif line[:1] in ("+", "-"):
            changed = True
            bare = _bare(line[1:], mark)
            if bare is None:
                return False
            left += [line[0] + bare] if bare else []
    added = [line[1:] for line in left if line[0] == "+"]
    return changed and added == [line[1:] for line in left if line[0] == "-"]


def _bare(line: str, mark: str) -> str | None:
    """Return a line without its comment, None if that is unclear; a mark within quotes begins none."""
    if not mark or _DIRECTIVES.match(line):
        return None
    found = next(
        (
            each.start()
            for each in re.finditer(rf"(?:^|\s){re.escape(mark)}", line)
            if not _quoted(line[: each.start()])
        ),
        len(line),
    )
    return line[:found].rstrip()


def _quoted(before: str) -> bool:
    return any(before.count(quote) % 2 for quote in "\"'`")
