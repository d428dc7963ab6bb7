"""The calls of a recorded session, run through the tools: `python -m tests.bench.replay`.

Edits that were made then must be made now, to the byte; what the model read is counted in tokens, in today's form and with
numbers on all lines. The files are rebuilt from the record as far as it tells them: by reads, writes, and the diffs of edits.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from agentcli.context.ledger.shell_effects import effects
from agentcli.context.tokens.estimators import Tiktoken, vocabularies
from agentcli.core.tool import ToolLimits, ToolOutput
from agentcli.tools.registry import run, tools
from tests.bench.recorded import VARIABLE, Call, KnownFile, calls, placed, session_file
from tests.tools.workplace import Bench

_TOOLS = {tool.name: tool for tool in tools()}
_PIECE = re.compile(r"[^\r\n\w]?[^\W\d_]+|\d{1,3}| ?[^\s\w]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+|_")
"""A piece of text that no token exceeds, as o200k and its like split it; counted, they save 2 % more than the tokens of o200k."""


@dataclass
class Figures:
    """Outcomes of recorded edits, and tokens of recorded reads. `unlike` and `refused` name the calls."""

    known: int = 0
    made: int = 0
    refused: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    unknown: int = 0
    failures_refused: int = 0
    failures: int = 0
    reads: int = 0
    reads_unlike: int = 0
    tokens: Counter[str] = field(default_factory=Counter)

    def report(self) -> dict[str, Any]:
        """The figures by name, with the shares that are promised."""
        bare, now, numbered = (self.tokens[name] for name in ("bare", "now", "numbered"))
        return {
            "edits whose file is known": self.known,
            "made at once": self.made,
            "share made": round(self.made / max(1, self.known), 4),
            "refused": self.refused,
            "applied differently": self.unlike,
            "edits whose file is not known": self.unknown,
            "recorded failures refused": f"{self.failures_refused} of {self.failures}",
            "reads": self.reads,
            "reads with other lines": self.reads_unlike,
            "tokens of reads, text alone": bare,
            "tokens of reads now": now,
            "tokens of reads with numbers on all lines": numbered,
            "tokens saved": round(1 - now / max(1, numbered), 4),
        }


class Replay:
    """The files of a recorded session in a folder of this machine, and the calls made there."""

    def __init__(self, folder: Path, count: Callable[[str], int]) -> None:
        self.ctx = Bench(Path(os.path.realpath(folder)), None)
        self.figures = Figures()
        self._count = count
        self._files: dict[str, KnownFile] = {}

    def play(self, recorded: Sequence[Call]) -> Figures:
        """All calls in order."""
        for n, call in enumerate(recorded):
            if call.tool == "bash" and not call.failed:
                self._command(call)
            elif not call.path:
                continue
            elif call.tool == "read" and not call.failed:
                self._read(call)
            elif call.tool == "write" and not call.failed:
                self._write(call)
            elif call.tool == "edit" and call.failed:
                self._failed_edit(call, recorded[n + 1 :])
            elif call.tool == "edit":
                self._edit(f"call {n}: {call.path}", call)
        return self.figures

    def _read(self, call: Call) -> None:
        first, lines, total = call.read_parts
        self._learn(call.path, dict(enumerate(lines, first)), total)
        offset, limit = call.given.get("offset"), call.given.get("limit")
        given = {name: value for name, value in (("offset", offset), ("limit", limit)) if value}
        now = self._call("read", call, **given).output
        self.ctx.limits = ToolLimits(line_numbers="always")
        output = self._call("read", call, **given).output
        self.ctx.limits = ToolLimits()
        rows = re.findall(r"(?m)^ *(\d+)\t(.*)$", output)
        self.figures.reads += 1
        ends_file = first + len(lines) == total and lines[-1] == ""
        self.figures.reads_unlike += [row for _, row in rows] != (lines[:-1] if ends_file else lines)
        self.figures.tokens["bare"] += self._count("\n".join(row for _, row in rows))
        self.figures.tokens["now"] += self._count(now)
        self.figures.tokens["numbered"] += self._count(output)

    def _write(self, call: Call) -> None:
        known = self._files[call.path] = KnownFile(call.path, str(call.given["content"]).split("\n"))
        if self._call("write", call, content=known.text).status != "success":
            self._put(call.path, known.text)

    def _edit(self, label: str, call: Call) -> None:
        old, new = str(call.given["oldText"]), str(call.given["newText"])
        before, added = call.diff_rows
        if not self._knows(call.path, old, before):
            self._learn(call.path, placed(before, old))
        known = self._files[call.path]
        if known.text.count(old) != 1:
            self.figures.unknown += 1
            self._learn(call.path, added)
            return
        self.figures.known += 1
        wanted = known.text.replace(old, new)
        outcome = self._call("edit", call, old_string=old, new_string=new)
        known.lines = wanted.split("\n")
        if outcome.status != "success":
            self.figures.refused.append(f"{label}: {outcome.output.partition(chr(10))[0]}")
            self._put(call.path, wanted)
        elif (self.ctx.cwd / call.path).read_text() != wanted or not known.agrees(added):
            self.figures.unlike.append(label)
        else:
            self.figures.made += 1

    def _failed_edit(self, call: Call, later: Sequence[Call]) -> None:
        """An edit that failed then, on the file as the next read shows it."""
        following = next((other for other in later if other.path == call.path), None)
        if following is not None and following.tool == "read":
            first, lines, total = following.read_parts
            self._learn(call.path, dict(enumerate(lines, first)), total)
        self.figures.failures += 1
        given = {"old_string": call.given["oldText"], "new_string": call.given["newText"]}
        self.figures.failures_refused += self._call("edit", call, **given).status != "success"

    def _command(self, call: Call) -> None:
        """Files that were copied, moved and deleted."""
        command = str(call.given["command"])
        copied = re.fullmatch(r"cp (\S+) \S+", command)
        source = copied[1].removeprefix(call.folder) if copied else ""
        gone: list[str] = []
        for effect in effects(command):
            path = effect.path.removeprefix(call.folder)
            if effect.kind == "deleted" and path in self._files:
                gone.append(path)
                source = path
            elif effect.kind == "created" and source in self._files:
                self._files[path] = KnownFile(path, list(self._files[source].lines))
                self._put(path, self._files[path].text)
        for path in gone:
            del self._files[path]
            (self.ctx.cwd / path).unlink(missing_ok=True)

    def _knows(self, path: str, old: str, rows: Mapping[int, str]) -> bool:
        """True if the file is known to have this text once, and these lines."""
        known = self._files.get(path)
        return known is not None and known.text.count(old) == 1 and known.agrees(rows)

    def _learn(self, path: str, rows: dict[int, str], total: int = 0) -> None:
        """Take over lines. What merely becomes known was there before: it does not count as a change of the file."""
        known = self._files.setdefault(path, KnownFile(path))
        file = self.ctx.cwd / path
        current = self.ctx.seen.knowledge(file, known.text.encode()) == "current"
        changed = known.learn(rows, total)
        self._put(path, known.text)
        if current and not changed:
            self.ctx.seen.remember(file, known.text.encode())

    def _put(self, path: str, text: str) -> None:
        file = self.ctx.cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def _call(self, name: str, call: Call, **given: Any) -> ToolOutput:
        return asyncio.run(run(_TOOLS[name], self.ctx, "c", {"file_path": call.path, **given}))


def counter() -> tuple[str, Callable[[str], int]]:
    """The tokenizer o200k where its vocabulary is on disk, and else the pieces that it would split a text into."""
    found = vocabularies(["o200k_base"])
    if found:
        tokenizer = Tiktoken(*found[0])
        return "o200k", lambda text: int(tokenizer.size(text))
    return "pieces", lambda text: len(_PIECE.findall(text))


def figures(file: Path, most: int | None = None) -> Figures:
    """The figures of a session, or of its first calls."""
    folder = tempfile.mkdtemp()
    try:
        return Replay(Path(folder), counter()[1]).play(list(islice(calls(file), most)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    session = session_file()
    if session is None:
        raise SystemExit(f"There is no recorded session here. Name one in {VARIABLE}.")
    print(json.dumps({"counted in": counter()[0], **figures(session).report()}, indent=2))
