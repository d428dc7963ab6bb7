"""A recorded walk: the real program in a terminal, its screens as text and as pictures."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.e2e.program import Program
from tests.picture import svg
from tests.terminal import Terminal

COLUMNS, ROWS = 88, 28
FOLDER = Path(__file__).with_name("screens")
PATIENCE = 30.0
"""Seconds for a screen to come."""
QUIET = 1.5
"""Seconds without output after which a screen that nothing is expected of is taken as it is."""
_VOLATILE = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-z]+"), "SESSION"),
    (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?"), "DATE"),
    (re.compile(r"[\d,.]+k?/[\d,.]+[kM]( ▕.*▏)?"), "USED/WINDOW"),
    (re.compile(r"[\d,.]+[kM]? → [\d,.]+[kM]? tokens"), "BEFORE → AFTER tokens"),
    (re.compile(r"\b[\d,.]+k? in, [\d,.]+k? out( · \$[\d.]+)?"), "IN in, OUT out"),
    (re.compile(r"(↑|↓) [\d,.]+k?( tokens)?"), r"\1 TOKENS"),
    (re.compile(r"[\d,]+ tokens"), "N tokens"),
    (re.compile(r"just now|\d+ (min|h) ago"), "AGO"),
    (re.compile(r", \d+s\b"), ""),
    (re.compile(r"\b\d+m \d\ds|\b\d+s\b"), "TIME"),
    (re.compile(r"sandbox \w+(: Shift-Tab( twice| three times)? for auto)?"), "sandbox STATE"),
    (re.compile(r"agentcli \d+\.\d+\.\d+\S*"), "agentcli VERSION"),
    (re.compile(r"^─{8,}$"), "────"),
    (re.compile(r"(\$\d+\.\d+ · )?cache \d+%|\$\d+\.\d+"), "COST"),
)
"""What differs from run to run."""
_SUMMARISED = re.compile(r"Summarised \d+ messages.*?(?=\n\n|$)", re.DOTALL)
_BLANKS = re.compile(r"(?<=\S) {3,}")


def normalised(rows: Sequence[str], base: Path) -> str:
    """The screen as text without what differs from run to run, and without empty rows at its ends."""
    text = "\n".join(rows).replace(str(base), "~").strip("\n")
    text = _SUMMARISED.sub("Summarised N messages", text)
    return "\n".join(_row(row).rstrip() for row in text.split("\n"))


def _row(row: str) -> str:
    before = row
    for pattern, instead in _VOLATILE:
        row = pattern.sub(instead, row)
    # The number of blanks follows from the length of what was there.
    return row if row == before else _BLANKS.sub("  ", row)


class Story:
    """Plays a walk. Each scene is awaited as it is expected; without `expected` it is recorded.

    The model answers with the replies that are given to `start`, one after the other.
    """

    def __init__(self, base: Path, expected: dict[str, str] | None = None) -> None:
        self.program = Program(base)
        self.expected = expected
        self.scenes: dict[str, str] = {}
        self.pictures: dict[str, str] = {}
        self._terminals: list[Terminal] = []

    def __enter__(self) -> Story:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for terminal in self._terminals:
            terminal.__exit__(kind, error, trace)

    def start(self, *arguments: str, replies: Sequence[dict[str, Any]]) -> None:
        """Start the program with a model that gives these replies."""
        script = self.program.base / "script.json"
        script.write_text(json.dumps({"replies": list(replies)}))
        terminal = self.program.terminal(*arguments, "-m", f"script:../{script.name}", columns=COLUMNS, rows=ROWS)
        self._terminals.append(terminal.__enter__())

    @property
    def terminal(self) -> Terminal:
        """The terminal of the newest program."""
        return self._terminals[-1]

    def file(self, name: str, text: str) -> None:
        """Write a file of the project."""
        (self.program.work / name).write_text(text)

    def type(self, text: str, *, until: str = "") -> None:
        """Type, and wait for a text on the screen."""
        self.terminal.send(text)
        if until:
            self.terminal.until(until, seconds=PATIENCE)

    def scene(self, title: str) -> None:
        """The screen as it stands now; in a test it must come to be the one that is expected."""
        if self.expected is None:
            self.terminal.settle(QUIET, 3 * QUIET)
        elif not self._comes(self.expected.get(title, "")):
            raise AssertionError(f"{title!r} is not as recorded, but:\n{self._text()}\n\n{RENEW}")
        self.scenes[title] = self._text()
        self.pictures[title] = svg(self.terminal.picture(), title)

    def _comes(self, text: str) -> bool:
        ends = time.monotonic() + PATIENCE
        while self._text() != text and time.monotonic() < ends:
            self.terminal.settle(0.1, 1.0)
        return self._text() == text

    def _text(self) -> str:
        return normalised(self.terminal.screen(), self.program.base)


RENEW = "`python -m tests.stories [NAME]` records the story anew."


def recorded(name: str) -> dict[str, str]:
    """The screens of a story by their titles."""
    parts = re.split(r"^=+ (.*) =+$\n", (FOLDER / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {title: text.rstrip("\n") for title, text in zip(parts[::2], parts[1::2], strict=True)}


def record(name: str, scenes: dict[str, str]) -> None:
    """Write the screens of a story."""
    text = "\n\n".join(f"{f' {title} ':=^{COLUMNS}}\n{scene}" for title, scene in scenes.items())
    (FOLDER / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
