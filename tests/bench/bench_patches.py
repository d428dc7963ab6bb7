"""Replay recorded patches with the real tool: `python -m tests.bench.bench_patches FOLDER [--half tuning|unseen|all]`.

FOLDER has sessions of OpenCode as JSON (below it, any names): each finished `apply_patch` in them comes with the files before and
after. A patch that succeeded there must give the same bytes here. Sessions are split in halves by the hash of their id, so that
what was learned from one half can be checked on the other.
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

Json = Mapping[str, Any]
HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


@dataclass(frozen=True)
class Recorded:
    """A patch that succeeded, with the texts of its files before and after; None for no file. Paths are relative."""

    call: str
    text: str
    before: Mapping[str, str | None]
    after: Mapping[str, str | None]


def half_of(session: str) -> str:
    """The half that a session belongs to."""
    return ("tuning", "unseen")[hashlib.sha256(session.encode()).digest()[0] % 2]


def recorded(folder: Path, half: str) -> Iterator[Recorded]:
    """The patches of the sessions in a folder, each once."""
    seen: set[str] = set()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            session = json.loads(file.read_text(encoding="utf-8"))
            info, messages = session["info"], session["messages"]
        except (ValueError, KeyError, TypeError):
            continue
        if half not in ("all", half_of(info["id"])):
            continue
        for part in (part for message in messages for part in message["parts"] if part.get("tool") == "apply_patch"):
            state = part["state"]
            text = str(state["input"].get("patchText"))
            key = f"{info['id']} {part['callID']} {hashlib.sha256(text.encode()).hexdigest()[:8]}"
            if key not in seen and state["status"] == "completed" and (state.get("metadata") or {}).get("files"):
                seen.add(key)
                yield _patch(key, state, info["directory"])


def _patch(key: str, state: Json, directory: str) -> Recorded:
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    for file in state["metadata"]["files"]:
        path, moved = _inside(file["filePath"], directory), file.get("movePath")
        kind = file["type"]
        before.setdefault(path, None if kind == "add" else file["before"])
        after[path] = None if kind == "delete" or moved else file["after"]
        if moved:
            before.setdefault(_inside(moved, directory), None)
            after[_inside(moved, directory)] = file["after"]
    lines = (
        next((f"{head}{_inside(line[len(head) :], directory)}" for head in HEADS if line.startswith(head)), line)
        for line in state["input"]["patchText"].split("\n")
    )
    return Recorded(key, "\n".join(lines), before, after)


def _inside(path: str, directory: str) -> str:
    """A path below the working folder, whatever machine it was on."""
    plain = path.strip().removeprefix(directory)
    return plain.replace("../", "up/").lstrip("/")


def replayed(patch: Recorded, base: Path) -> str:
    """Empty if the patch gives the recorded files, else what differs."""
    (base / "work").mkdir()
    ctx = Bench((base / "work").resolve(), base / "outputs")
    for name, text in patch.before.items():
        if text is not None:
            file = ctx.cwd / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
            ctx.seen.remember(file, text.encode())
    tool = tools({"apply_patch"})[0]
    outcome = asyncio.run(run(tool, ctx, "c1", {"input": patch.text}))
    if outcome.status != "success":
        return f"refused: {outcome.output.splitlines()[0][:160]}"
    for name, text in patch.after.items():
        file = ctx.cwd / name
        found = file.read_bytes().decode() if file.exists() else None
        if patch.before.get(name) is None and text and not text.endswith("\n"):
            text += "\n"  # OpenCode notes an added file without the line end with which it is written
        if found != text:
            same = found is not None and text is not None and found.split() == text.split()
            return f"differs{' by blanks' if same else ''}: {name}"
    return ""


def main() -> int:
    """Print the rate of equal files; 1 if it is below 99 %."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", default="all", choices=("tuning", "unseen", "all"))
    given = parser.parse_args()
    count: Counter[str] = Counter()
    for patch in recorded(given.folder, given.half):
        with TemporaryDirectory() as base:
            trouble = replayed(patch, Path(base))
        count[trouble.partition(":")[0] or "equal"] += 1
        if trouble:
            print(f"{patch.call}: {trouble}")
    whole = count.total()
    print(f"{given.half}: {count['equal']} of {whole} equal ({count['equal'] / max(whole, 1):.2%}), {dict(count)}")
    return 0 if whole and count["equal"] >= 0.99 * whole else 1


if __name__ == "__main__":
    sys.exit(main())
