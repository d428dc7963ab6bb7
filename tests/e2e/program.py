"""Runs the installed program as a user would, in folders of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.preloaded import ROOT, forks, preloaded
from tests.terminal import Terminal

__all__ = ["ROOT", "Program", "Ran"]


@dataclass(frozen=True)
class Ran:
    """The output and exit code of a run."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON lines of its stdout."""
        return [json.loads(line) for line in self.out.split("\n") if line]

    @property
    def result(self) -> dict[str, Any]:
        """The last line, which is the result on every path."""
        last = self.lines[-1]
        assert last["type"] == "result", last
        return last

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The lines of one type."""
        return [line for line in self.lines if line["type"] == kind]


@dataclass
class Program:
    """The program with its own home under `base`, working in `base/work`; `python` and `command` start it."""

    base: Path
    more: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ("-m", "agentcli")
    python: str = sys.executable

    @property
    def work(self) -> Path:
        """The folder it works in."""
        folder = self.base / "work"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def sessions(self) -> Path:
        """The folder of its sessions."""
        return self.base / "data" / "agentcli" / "sessions"

    @property
    def env(self) -> dict[str, str]:
        """Its environment: of ours nothing but PATH, the language, and that git knows no name."""
        places = {f"XDG_{kind.upper()}_HOME": str(self.base / kind) for kind in ("config", "data", "state", "cache")}
        names = ("PATH", "LANG", "LC_ALL", "GIT_CONFIG_SYSTEM")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        return {**kept, "HOME": str(self.base), "TERM": "xterm-256color", **places, **self.more}

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """The program, running."""
        pipes: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }
        command = [self.python, *self.command, *arguments]
        return subprocess.Popen(command, cwd=self.work, env=self.env, **{**pipes, **more})

    def terminal(self, *arguments: str, **more: Any) -> Terminal:
        """The program in a terminal of its own, forked unless `more`, which is the terminal's, says otherwise."""
        command = [self.python, *self.command, *arguments]
        return Terminal(command, **{"cwd": str(self.work), "env": self.env, "forked": True, **more})

    def run(self, *arguments: str, stdin: str | None = None, seconds: float = 60) -> Ran:
        """The program, run to its end, in a fork of a process that has made its imports where that can be."""
        ran = self._run_in_a_fork(arguments, stdin, seconds) or self._run_anew(arguments, stdin, seconds)
        assert "Traceback" not in ran.err, ran.err
        return ran

    def _run_in_a_fork(self, arguments: Sequence[str], stdin: str | None, seconds: float) -> Ran | None:
        """None where the start itself matters."""
        if not self._forks:
            return None
        return Ran(*preloaded().run([*self.command[1:], *arguments], self.env, self.work, stdin, seconds))

    @property
    def _forks(self) -> bool:
        usual = self.python == sys.executable and tuple(self.command) == ("-m", "agentcli")
        return usual and forks("agentcli", self.more)

    def _run_anew(self, arguments: Sequence[str], stdin: str | None, seconds: float) -> Ran:
        process = self.start(*arguments, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL)
        out, err = process.communicate(stdin, timeout=seconds)
        return Ran(process.returncode, out, err)

    def ask(self, *arguments: str, **more: Any) -> Ran:
        """The same with JSON lines."""
        return self.run("-o", "stream-json", *arguments, **more)

    def config(self, text: str) -> None:
        """Write the user's config.toml."""
        folder = self.base / "config" / "agentcli"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text)

    def records(self, session: str = "") -> list[dict[str, Any]]:
        """The records of a session, by default of the only one."""
        (folder,) = self.sessions.glob(f"*/{session or '*'}/records")
        return [json.loads(path.read_text()) for path in sorted(folder.iterdir()) if path.suffix == ".json"]
