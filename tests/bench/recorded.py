"""The recorded coding session that the replay bench plays: its calls with their results, and the files as far as they are known."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

VARIABLE = "AGENTCLI_BENCH_SESSION"
"""Names the file, where it is not in the sibling folder `shared`."""
_BESIDE = Path(__file__).resolve().parents[3] / "shared/data/real-session.jsonl"
_NOTICE = re.compile(r"\n\n\[(?:Showing lines \d+-\d+ of (?P<total>\d+)|(?P<more>\d+) more lines in file)[^\]]*\]\Z")
_ROW = re.compile(r"(?P<sign>[ +-]) *(?P<number>\d+) (?P<text>.*)")


def session_file() -> Path | None:
    """The recorded session, or None where it is not at hand."""
    file = Path(os.environ.get(VARIABLE) or _BESIDE)
    return file if file.is_file() else None


@dataclass(frozen=True)
class Call:
    """A recorded call with its result. `folder` is the session's, with a slash; `path` is relative to it, empty for one elsewhere."""

    folder: str
    tool: str
    given: Mapping[str, Any]
    path: str
    output: str
    failed: bool
    diff: str

    @cached_property
    def read_parts(self) -> tuple[int, list[str], int]:
        """Of a read: the index of its first line, its lines, and the number of all lines (one more behind a final newline)."""
        found = _NOTICE.search(self.output)
        lines = self.output[: found.start() if found else None].split("\n")
        first = (self.given.get("offset") or 1) - 1
        if found is None:
            return first, lines, first + len(lines)
        total = int(found["total"]) if found["total"] else first + len(lines) + int(found["more"])
        return first, lines, total

    @cached_property
    def diff_rows(self) -> tuple[dict[int, str], dict[int, str]]:
        """Of an edit: lines of the file before (the context among them) and lines that it put in, by index."""
        before: dict[int, str] = {}
        added: dict[int, str] = {}
        for line in self.diff.split("\n"):
            if found := _ROW.fullmatch(line):
                rows = added if found["sign"] == "+" else before
                rows[int(found["number"]) - 1] = found["text"]
        return before, added


def calls(file: Path) -> Iterator[Call]:
    """The calls in the order of their results."""
    asked: dict[str, Mapping[str, Any]] = {}
    folder = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        folder = f"{entry['cwd']}/" if "cwd" in entry else folder
        message = entry.get("message", {})
        if message.get("role") == "assistant":
            asked |= {part["id"]: part for part in message["content"] if part["type"] == "toolCall"}
        elif message.get("role") == "toolResult":
            yield _call(asked[message["toolCallId"]], message, folder)


def _call(asked: Mapping[str, Any], result: Mapping[str, Any], folder: str) -> Call:
    given = asked["arguments"]
    path = str(given.get("path", ""))
    return Call(
        folder,
        asked["name"],
        given,
        path.removeprefix(folder) if path.startswith(folder) else "",
        "".join(part.get("text", "") for part in result["content"]),
        bool(result["isError"]),
        (result.get("details") or {}).get("diff", ""),
    )


@dataclass
class KnownFile:
    """The lines of a file as far as the record tells them; an unknown one is a text that occurs nowhere else."""

    name: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def agrees(self, rows: Mapping[int, str]) -> bool:
        """True if the lines at these indices are known to be these."""
        return all(n < len(self.lines) and self.lines[n] == text for n, text in rows.items())

    def learn(self, rows: Mapping[int, str], total: int = 0) -> bool:
        """Take over lines. True where the file must have changed, since a known line differs or the number of all lines does."""
        at_odds = (n < len(self.lines) and self._known(n) and self.lines[n] != text for n, text in rows.items())
        changed = (bool(total and self.lines) and total != len(self.lines)) or any(at_odds)
        if changed:
            self.lines = []
        most = max([total, *(n + 1 for n in rows)])
        self.lines += [self._unknown(n) for n in range(len(self.lines), most)]
        for n, text in rows.items():
            self.lines[n] = text
        return changed

    def _known(self, n: int) -> bool:
        return self.lines[n] != self._unknown(n)

    def _unknown(self, n: int) -> str:
        return f"<line {n + 1} of {self.name} is unknown>"


def placed(rows: Mapping[int, str], old: str) -> dict[int, str]:
    """These rows, and with them all lines of a text that an edit has found, where the rows allow one place for it."""
    lines = old.split("\n")
    places = [start for start in range(max(rows, default=-1) + 1) if _may_begin_at(start, rows, lines)]
    if len(places) != 1:
        return dict(rows)
    whole = lines[:-1] if lines[-1] == "" else lines
    return {places[0] + n: line for n, line in enumerate(whole)} | dict(rows)


def _may_begin_at(start: int, rows: Mapping[int, str], old: Sequence[str]) -> bool:
    last = len(old) - 1
    common = [n for n in range(len(old)) if start + n in rows]
    return bool(common) and all(_may_be(old[n], rows[start + n], n == 0, n == last) for n in common)


def _may_be(part: str, line: str, first: bool, last: bool) -> bool:
    """True if a line of the old text can be (of its first and last line: the end and the beginning of) a line of the file."""
    if first and last:
        return part in line
    if first:
        return line.endswith(part)
    return line.startswith(part) if last else line == part
