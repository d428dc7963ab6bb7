"""Imports of instruction files: `@path` at the start of a line or after a blank, outside of code."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from agentcli.core.sanitise import safe_line
from agentcli.core.text.encodings import is_binary, readable
from agentcli.system import probe

DEPTH = 5
"""Largest depth of imports within imports."""
TOTAL_BYTES = 100_000
"""Maximum total size of one file's imports, in bytes."""
_FENCE = re.compile(r"\s{0,3}(`{3,}(?=[^`]*$)|~{3,})")
_SPAN = re.compile(r"(`+).+?\1")
_COMMENT = re.compile(r"<!--.*?(?:-->|$)")
_LIST = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:~/|\.{0,2}/)?(?:\\ |[^\s@`])+)")


def imported_names(text: str) -> list[str]:
    """Return the distinct paths that a text imports, in order.

    `\\ ` in a path is a blank, `#` begins a section name.
    """
    found: dict[str, None] = {}
    for line in _prose(text):
        for name in _IMPORT.findall(line.replace("*", " ")):
            path = name.partition("#")[0].rstrip(".,;:!?)\"'")
            found[path.replace("\\ ", " ")] = None
    return [name for name in found if name]


def _prose(text: str) -> Iterator[str]:
    """Yield the lines without comments and code (fenced, indented or in spans)."""
    fence, in_comment, after_blank, in_list = "", False, True, False
    for line in text.splitlines():
        mark = _FENCE.match(line)
        indented = line.startswith(("    ", "\t"))
        if in_comment:
            _, closed, line = line.partition("-->")
            in_comment = not closed
        elif mark and not fence:
            fence = mark[1]
            continue
        elif fence:
            closes = mark and mark[1].startswith(fence) and not line[mark.end() :].strip()
            fence = "" if closes else fence
            continue
        elif indented and after_blank and not in_list:
            continue
        line = _SPAN.sub(" ", line)
        in_comment = in_comment or line.rfind("<!--") > line.rfind("-->")
        yield _COMMENT.sub(" ", line)
        after_blank = not line.strip()
        in_list = in_list if after_blank or indented else bool(_LIST.match(line))


class Imports:
    """Imports of one instruction file. `allowed` returns whether a resolved path may be read."""

    def __init__(self, home: Path, allowed: Callable[[Path], bool], limit: int = TOTAL_BYTES) -> None:
        self._home, self._allowed, self._left = home, allowed, limit
        self.notes: list[str] = []
        """Notes about imports that were not followed, and why."""

    def of(self, file: Path, text: str) -> Iterator[tuple[Path, str]]:
        """Yield the imported files with their texts, each after its importing file."""
        yield from self._of(file, text, (file.resolve(),), {file.resolve()})

    def _of(self, file: Path, text: str, chain: tuple[Path, ...], known: set[Path]) -> Iterator[tuple[Path, str]]:
        for name in imported_names(text):
            target = self._target(file, name)
            if target is None:
                continue
            if target in chain:
                self._note(file, name, "it imports itself")
            elif target in known:
                continue
            elif len(chain) > DEPTH:
                self._note(file, name, f"it lies more than {DEPTH} imports deep")
            elif (inner := self._read(file, name, target)) is not None:
                known.add(target)
                yield target, inner
                yield from self._of(target, inner, (*chain, target), known)

    def _target(self, file: Path, name: str) -> Path | None:
        """Return the file of a name; None if it is not a file, or may not be read."""
        path = self._home / name[2:] if name.startswith("~/") else file.parent / name
        try:
            target = Path(os.path.realpath(path))
            there = probe.is_file(target)
        except (OSError, ValueError):
            return None
        if not there:
            if "/" in name or re.search(r"\.\w{1,5}$", name):  # a mention such as @alice is not an import
                self._note(file, name, "there is no such file")
            return None
        if not self._allowed(target):
            self._note(file, name, "it lies outside")
            return None
        return target

    def _read(self, file: Path, name: str, target: Path) -> str | None:
        try:
            with target.open("rb") as stream:
                data = stream.read(self._left + 1)
        except OSError as error:
            self._note(file, name, str(error.strerror))
            return None
        if len(data) > self._left:
            self._note(file, name, f"imports may have {TOTAL_BYTES:,} bytes together")
            return None
        self._left -= len(data)
        if is_binary(data):
            self._note(file, name, "it is not text")
            return None
        return readable(data).strip()

    def _note(self, file: Path, name: str, why: str) -> None:
        self.notes.append(safe_line(f"{file}: @{name} is not imported: {why}."))
