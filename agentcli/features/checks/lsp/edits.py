"""Edits that a language server proposes for a rename, as a patch that takes the same way as every edit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any

from agentcli.core.errors import ToolError
from agentcli.features.checks.lsp.server import path_of
from agentcli.system import probe

FILES = 200
"""Maximum files of a rename."""


def patch_of(edit: Any, root: Path) -> tuple[str, int, Sequence[Path]]:
    """Return the patch of a workspace edit, the number of its places, and its files. Raises ToolError for an unusable one."""
    changes = dict(_changes(edit))
    if not changes:
        raise ToolError("The language server proposes no change. Is the symbol at that place?")
    if len(changes) > FILES:
        raise ToolError(f"The rename would change {len(changes):,} files, more than {FILES}.")
    sections: list[str] = []
    places, files = 0, []
    for uri, edits in changes.items():
        path = path_of(uri)
        if path is None or not probe.is_file(path):
            raise ToolError(f"The rename would change {uri}, which is not a file.")
        text = path.read_bytes().decode("utf-8", "strict")
        places += len(edits)
        files.append(path)
        sections += _section(os.path.relpath(path, root), text, applied(text, edits))
    return "\n".join(["*** Begin Patch", *sections, "*** End Patch"]), places, files


def _changes(edit: Any) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    if not isinstance(edit, Mapping):
        return
    for change in edit.get("documentChanges") or ():
        if "kind" in change:
            raise ToolError(f"The rename wants to {change['kind']} a file, which is not supported.")
        yield change["textDocument"]["uri"], change["edits"]
    if not edit.get("documentChanges"):
        yield from (edit.get("changes") or {}).items()


def applied(text: str, edits: Sequence[Mapping[str, Any]]) -> str:
    """Return the text with the protocol's edits, whose positions are lines and UTF-16 units.

    Raises ToolError for edits that overlap or are outside.
    """
    lines = text.splitlines(keepends=True) or [""]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(at: Mapping[str, int]) -> int:
        if at["line"] >= len(lines):
            return len(text)
        return starts[at["line"]] + units_before(lines[at["line"]], at["character"])

    spans = sorted((place(each["range"]["start"]), place(each["range"]["end"]), each["newText"]) for each in edits)
    pieces, done = [], 0
    for start, end, new in spans:
        if start < done or end < start:
            raise ToolError("The edits of the language server overlap.")
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def units_before(line: str, units: int) -> int:
    """Return the index of the character before which a line has so many UTF-16 units."""
    for index, letter in enumerate(line):
        if units <= 0:
            return index
        units -= 2 if ord(letter) > 0xFFFF else 1
    return len(line)


def _section(name: str, old: str, new: str) -> Iterator[str]:
    """Yield a patch's lines for one file, including all its lines, so that each place is certain."""
    yield f"*** Update File: {name}"
    before, after = old.splitlines(), new.splitlines()
    hunk = [*unified_diff(before, after, lineterm="", n=len(before) + len(after))][3:]
    yield from ["@@", *hunk]
