"""Texts of results as a program wants them: without the notes that tools add for a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentcli.core.message import ToolResult
from agentcli.core.tool import NO_OUTPUT, Traits

_LINE = re.compile(r"\d+[:-]")


def parted(result: ToolResult, traits: Traits) -> tuple[str, tuple[str, ...]]:
    """Return the text of a successful call, and the notes that its tool has added."""
    text, about = result.for_people, result.metadata
    if text == NO_OUTPUT:
        return "", ()
    if traits.reads_files and isinstance(about.get("lines"), list):
        rows = _rows(about)
        return _cut(text, rows) if rows else ("", ())
    if traits.searches:
        return _found(text, about)
    if traits.runs_commands and isinstance(size := about.get("bytes"), int):
        return _printed(text, size)
    return text, ()


def _rows(about: Mapping[str, Any]) -> int:
    first, last = about["lines"]
    return int(last) - int(first) + 1


def _cut(text: str, rows: int) -> tuple[str, tuple[str, ...]]:
    lines = text.split("\n")
    return "\n".join(lines[:rows]), tuple(lines[rows:])


def _found(text: str, about: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    lines = text.split("\n")
    before = [line for line in lines[:1] if line.startswith("[nothing matches ")]
    lines = lines[len(before) :]
    after: list[str] = []
    while lines and lines[-1].startswith("[") and lines[-1].endswith("]"):
        after.insert(0, lines.pop())
    return "" if about.get("matches") == 0 else flat("\n".join(lines)), (*before, *after)


def flat(text: str) -> str:
    """Return the results of a search with the file before each line: `path:number:text`, as programs print them."""
    rows: list[str] = []
    path, listed = "", True
    for line in text.split("\n"):
        if path and _LINE.match(line):
            rows.append(f"{path}:{line}")
            listed = True
        elif line not in ("", "--"):
            rows += [] if listed else [path]
            path, listed = line, False
    return "\n".join([*rows, *([] if listed else [path])])


def _printed(text: str, size: int) -> tuple[str, tuple[str, ...]]:
    """Divide a result into the output of its command, of `size` bytes, and the lines in brackets after it."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= size:
        return text, ()
    at = data.rfind(b"\n[", 0, size + 2) if size else -1
    if size and at < 0:
        return text, ()
    notes = data[at + 1 :].decode("utf-8", "replace")
    return data[: max(0, at)].decode("utf-8", "surrogatepass"), tuple(notes.split("\n"))
