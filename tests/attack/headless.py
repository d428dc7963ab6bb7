"""Runs the program headless on a hostile folder, and counts which hostile programs were started."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT = 120
"""Seconds that a run may take."""
Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Victim:
    """A user with a home below `base`, who works in `base/work`."""

    base: Path

    @property
    def work(self) -> Path:
        """The folder that somebody else has filled."""
        return self.base / "work"

    @property
    def marks(self) -> Path:
        """The folder in which each hostile program that runs leaves a file of its name."""
        return self.base / "marks"

    def prepare(self) -> None:
        """Make the folders."""
        for folder in (self.work, self.marks):
            folder.mkdir(parents=True, exist_ok=True)

    def program(self, file: Path) -> Path:
        """A hostile program: it leaves its mark, and goes on as the one whose name it has, if there is one."""
        file.parent.mkdir(parents=True, exist_ok=True)
        mark = shlex.quote(str(self.marks))
        file.write_text(
            f'#!/bin/sh\nname=${{0##*/}}\n: > {mark}/$name\nreal=$(PATH=/usr/bin:/bin command -v "$name")\n'
            f'case $real in /*) exec "$real" "$@";; esac\n'
        )
        file.chmod(0o755)
        return file

    def run(self, calls: Sequence[Call], path: str, *arguments: str) -> dict[str, Any]:
        """Let a model that is in league with the folder make these calls; the result event."""
        replies = [{"calls": [{"name": name, "input": dict(given)}]} for name, given in calls]
        script = self.base / "script.json"
        script.write_text(json.dumps({"replies": [*replies, {"text": "done"}]}))
        kinds = ("config", "data", "state", "cache")
        places = {f"XDG_{kind.upper()}_HOME": str(self.base / kind) for kind in kinds}
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "LANG") if name in os.environ}
        command = [sys.executable, "-P", "-m", "agentcli", "-p", "go", "-m", f"script:{script}", *arguments]
        done = subprocess.run(
            [*command, "-o", "stream-json", "--max-turns", str(len(replies) + 1)],
            cwd=self.work,
            env={**kept, **places, "HOME": str(self.base), "PATH": path, "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        events = [json.loads(line) for line in done.stdout.split("\n") if line]
        assert events, done.stderr
        assert events[-1]["type"] == "result", done.stderr
        assert sum(event["type"] == "tool_result" for event in events) == len(replies), "every call was answered"
        return events[-1]

    def started(self) -> list[str]:
        """The names of the hostile programs that ran."""
        return sorted(mark.name for mark in self.marks.iterdir())
