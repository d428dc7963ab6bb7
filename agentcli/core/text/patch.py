"""Patch format of OpenAI's models (`*** Begin Patch`): parses a text into file changes; reads and writes nothing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Literal

from agentcli.core.dataclass import dataclass

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_AT_END = "*** End of File"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: *(.*\S)")
_MOVE = re.compile(r"\*\*\* Move to: *(.*\S)")
_PATH = re.compile(r"(?m)^(\*\*\* (?:(?:Add|Update|Delete) File|Move to): *)(.*\S)")
_HEREDOC = re.compile(r"(?s)<<-?\s*(['\"]?)(\w+)\1[^\n]*\n(.*)\n\s*\2\s*")
_PLACE = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)? ?@@ ?")
"""Line numbers of a usual diff, which mean nothing here: this format finds places by their text."""


class PatchError(ValueError):
    """A text that is not a patch; the message tells the model what to change."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of a file: the lines `old` become the lines `new`.

    It is searched after the lines in `anchors`, in their order; `at_end` if the old lines end the file.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    anchors: tuple[str, ...] = ()
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file: `content` of an added file, `hunks` of an updated file, which may move."""

    kind: Literal["add", "update", "delete"]
    path: str
    content: str = ""
    hunks: tuple[Hunk, ...] = ()
    move_to: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it touches."""
        return (self.path, self.move_to) if self.move_to else (self.path,)


def parse(text: str) -> tuple[FileChange, ...]:
    """Return the changes in a patch, in their order. Raises PatchError."""
    return _Parser(_lines(text)).changes()


def touched(text: str) -> tuple[str, ...]:
    """Return the distinct paths that a patch touches. Raises PatchError."""
    return tuple(dict.fromkeys(path for change in parse(text) for path in change.paths))


def moved_to(text: str, folder: str) -> str:
    """Return a patch with its relative paths resolved against a folder."""
    return _PATH.sub(lambda found: found[1] + posixpath.join(folder, found[2]), text) if folder else text


def _lines(text: str) -> list[str]:
    text = text.strip().replace("\r\n", "\n")
    if heredoc := _HEREDOC.fullmatch(text):
        text = heredoc[3].strip()
    lines = text.split("\n")
    if lines[0].strip() != _BEGIN:
        raise PatchError(f"A patch begins with the line {_BEGIN!r}, and this one with {lines[0][:80]!r}.")
    if len(lines) < 2 or lines[-1].strip() != _END:
        raise PatchError(f"A patch ends with the line {_END!r}, and this one with {lines[-1][:80]!r}.")
    return lines


class _Parser:
    """Parser of the lines of one patch, ending with its last line.

    `_at` is the index of the next line. Messages count from one.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines, self._at = lines, 1
        self._last = len(lines) - 1

    def changes(self) -> tuple[FileChange, ...]:
        found = []
        while self._at < self._last:
            line = self._lines[self._at]
            if head := _FILE.fullmatch(line.strip()):
                self._at += 1
                found.append(self._change(head[1], head[2]))
            elif not found and line.startswith("*** ") and ":" in line:
                self._at += 1  # a line about the environment in some versions of the format
            elif line.strip():
                raise self._error("a line such as '*** Update File: path' is expected")
            else:
                self._at += 1
        if not found:
            raise PatchError("The patch changes no file.")
        return tuple(found)

    def _change(self, kind: str, path: str) -> FileChange:
        match kind:
            case "Add":
                return FileChange("add", path, content=self._content())
            case "Delete":
                return FileChange("delete", path)
            case _:
                return self._update(path)

    def _content(self) -> str:
        lines = []
        while self._at < self._last and not _is_head(self._lines[self._at]):
            line = self._lines[self._at]
            if line.startswith("+"):
                lines.append(line[1:])
            elif line.strip():
                raise self._error("each line of an added file begins with '+'")
            self._at += 1
        if len(lines) > 1 and not lines[-1]:
            lines.pop()  # models write the end of the last line this way
        return "".join(f"{line}\n" for line in lines)

    def _update(self, path: str) -> FileChange:
        move_to = ""
        if moved := _MOVE.fullmatch(self._lines[self._at].strip()):
            move_to = moved[1]
            self._at += 1
        hunks: list[Hunk] = []
        while self._at < self._last and not _is_head(self._lines[self._at]):
            hunk = self._hunk(bool(hunks))
            if hunk is not None:
                hunks.append(hunk)
        if not hunks and not move_to:
            raise PatchError(f"The patch has no change for {path}.")
        return FileChange("update", path, hunks=tuple(hunks), move_to=move_to)

    def _hunk(self, later: bool) -> Hunk | None:
        """Return the next hunk; None for blank lines only, as between files."""
        began = self._at
        anchors: list[str] = []
        while self._lines[self._at].startswith("@@"):
            place = _PLACE.sub("", self._lines[self._at][2:].removeprefix(" "))
            anchors += [place] if place.strip() else []
            self._at += 1
        old: list[str] = []
        new: list[str] = []
        at_end = changes = False
        while self._at < self._last:
            line = self._lines[self._at]
            if line.startswith("@@") or _is_head(line):
                break
            self._at += 1
            if line.rstrip() == _AT_END:
                at_end = True
                break
            sign, text = line[:1], line[1:]
            if sign not in ("", " ", "+", "-"):
                self._at -= 1
                raise self._error("a line of a change begins with ' ', '+' or '-', and a place with '@@'")
            changes = changes or bool(sign)
            old += [text] if sign != "+" else []
            new += [text] if sign != "-" else []
        if not changes and (later or not anchors) and not any(old):
            return None
        if not (old or new):
            self._at = began
            raise self._error("this place has no lines to change")
        return Hunk(tuple(old), tuple(new), tuple(anchors), at_end)

    def _error(self, what: str) -> PatchError:
        return PatchError(f"Line {self._at + 1} of the patch is {self._lines[self._at][:80]!r}: {what}.")


def _is_head(line: str) -> bool:
    return _FILE.fullmatch(line.strip()) is not None and line.startswith("***")
