"""Replay recorded edits of Claude with the real tool: `python -m tests.bench.bench_edits FOLDER [--half tuning|unseen|all]`.

FOLDER has transcripts of Claude Code, one file for each session: its results of edits and writes name the whole file before the call.
An edit that succeeded there must give the same bytes here. Sessions are split in halves by the hash of their id.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentcli.tools.registry import run, tools
from tests.tools.workplace import Bench


@dataclass(frozen=True)
class Edit:
    """An edit that succeeded: the model's name, the file before, and the call."""

    session: str
    model: str
    before: str
    old: str
    new: str
    every: bool

    @property
    def after(self) -> str:
        """The file that Claude Code wrote."""
        return self.before.replace(self.old, self.new, -1 if self.every else 1)


def edits(folder: Path, half: str) -> Iterator[Edit]:
    """The edits of the sessions in a folder whose former file is known, each once."""
    for file in sorted(folder.glob("*.json*")):
        if half not in ("all", ("tuning", "unseen")[hashlib.sha256(file.stem.encode()).digest()[0] % 2]):
            continue
        seen: set[str] = set()
        models: dict[str, str] = {}
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield from _edits(file.stem, entry, models, seen)


def _edits(session: str, entry: Mapping[str, Any], models: dict[str, str], seen: set[str]) -> Iterator[Edit]:
    message = entry.get("message")
    parts = message.get("content") if isinstance(message, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_use":
            models[str(part.get("id"))] = str(message.get("model", ""))  # type: ignore[union-attr]
    found = entry.get("toolUseResult")
    if not isinstance(found, dict) or not isinstance(found.get("originalFile"), str):
        return
    old, new = found.get("oldString"), found.get("newString")
    call = next((str(part.get("tool_use_id")) for part in parts or () if isinstance(part, dict)), "")
    if isinstance(old, str) and isinstance(new, str) and old and old in found["originalFile"] and call not in seen:
        seen.add(call)
        every = bool(found.get("replaceAll"))
        yield Edit(session, models.get(call, "unknown"), found["originalFile"], old, new, every)


def replayed(edit: Edit, base: Path) -> str:
    """Empty if the edit gives the recorded file, else what differs."""
    (base / "work").mkdir()
    ctx = Bench((base / "work").resolve(), base / "outputs")
    file = ctx.cwd / "file.txt"
    file.write_bytes(edit.before.encode("utf-8", "surrogatepass"))
    ctx.seen.remember(file, file.read_bytes())
    given = {"file_path": "file.txt", "old_string": edit.old, "new_string": edit.new, "replace_all": edit.every}
    outcome = asyncio.run(run(tools({"edit"})[0], ctx, "c1", given))
    if outcome.status != "success":
        return f"refused: {outcome.output.splitlines()[0][:160]}"
    return "" if file.read_bytes() == edit.after.encode("utf-8", "surrogatepass") else "differs"


def main() -> int:
    """Print the rates of equal files by model; 1 if all together are below 99.9 %."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", default="all", choices=("tuning", "unseen", "all"))
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for edit in edits(given.folder, given.half):
        with TemporaryDirectory() as base:
            trouble = replayed(edit, Path(base))
        for name in (edit.model, "all"):
            counts.setdefault(name, Counter())[trouble.partition(":")[0] or "equal"] += 1
        if trouble:
            print(f"{edit.session}: {trouble}")
    for name, count in counts.items():
        print(
            f"{name:32} {count['equal']} of {count.total()} equal ({count['equal'] / count.total():.2%}) {dict(count)}"
        )
    whole = counts.get("all", Counter())
    return 0 if whole.total() and whole["equal"] >= 0.999 * whole.total() else 1


if __name__ == "__main__":
    sys.exit(main())
