"""A second process swaps folders of the workspace for links that lead out of it, while the model reads and writes through them.

The installed program runs headless with a scripted model: agent, permissions, tools and sandbox are the real ones.
`python -m tests.attack.link_swap [CALLS]` prints a table of modes and sandboxes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program

SECRET = "the-secret-of-the-house"
MODES = ("ask", "plan", "auto-edit", "auto")
FILE_TOOLS = ("read", "write", "edit", "multi_edit", "glob", "grep", "list")
BATCH = 9
"""Calls in one reply; all of them are decided about before the first of them runs."""

_SWAPPER = """
import ctypes, os, random, sys, time
exchange = ctypes.CDLL(None, use_errno=True).renameat2
pairs = [(os.fsencode(sys.argv[1] + "/" + a), os.fsencode(sys.argv[1] + "/" + b)) for a, b in (("link", ".link"), ("folder", ".folder"))]
while True:
    for a, b in pairs:
        exchange(-100, a, -100, b, 2)
    time.sleep(random.choice((0, 0, 0.0001, 0.0005, 0.002)))
"""


@dataclass(frozen=True)
class Found:
    """The result of an attack: the count of each tool's endings, what was read outside, and what was written there."""

    ended: Counter[str]
    read: int
    written: Sequence[str]

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum(self.ended.values())


def attack(
    base: Path, mode: str, sandbox: str, calls: int, *, shell: bool = False, more: Mapping[str, str] | None = None
) -> Found:
    """Let the model make so many calls through the swapped paths: of the file tools, or of commands that only read.

    `sandbox` is bubblewrap, landlock or off; `more` goes into the program's environment.
    """
    program = Program(base, {**(more or {}), **_environment(base, sandbox)})
    inside, outside = program.work, base / "outside"
    _lay_out(inside, outside)
    before = _state(outside)
    script = base / "script.json"
    made = list(_commands(calls) if shell else _file_calls(calls))
    replies = [{"calls": made[start : start + BATCH]} for start in range(0, len(made), BATCH)]
    script.write_text(json.dumps({"replies": [*replies, {"text": "Done."}]}))
    settings = ["--set", f"sandbox={'off' if sandbox == 'off' else 'require'}", "--set", "agent.max_steps=1000000"]
    settings += ["--set", "agent.repeat_limit=0"]
    with swapping(inside):
        ran = program.ask("-p", "go", "-m", f"script:{script}", "--mode", mode, *settings, seconds=3_600)
    results = [record for record in program.records() if record["kind"] == "tool_result"]
    read = sum(SECRET in json.dumps(result) for result in results)
    assert read or SECRET not in ran.out
    ended = Counter(f"{result['name']} {result['status']}" for result in results)
    after = _state(outside)
    return Found(ended, read, sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))


@contextmanager
def swapping(folder: Path) -> Iterator[None]:
    """A process that swaps `link` and `folder` for links that lead out, as fast as it can and now and then more slowly."""
    process = subprocess.Popen([sys.executable, "-c", _SWAPPER, str(folder)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _environment(base: Path, sandbox: str) -> Mapping[str, str]:
    """A PATH without bubblewrap where Landlock is to be used."""
    if sandbox != "landlock":
        return {}
    programs = base / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "cat", "head", "grep", "ls", "sort", "wc", "rg", "git", "find", "sed", "diff", "env"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    return {"PATH": str(programs)}


def _lay_out(inside: Path, outside: Path) -> None:
    """In the workspace two names that lead to a folder inside, each beside one that leads to the same outside."""
    for folder, word in ((inside / "real", "inside"), (inside / "folder", "inside"), (outside, SECRET)):
        (folder / "deep").mkdir(parents=True)
        for file in (folder / "x.txt", folder / "deep/y.txt"):
            file.write_text(f"{word}\n")
    (outside / f"{SECRET}.txt").write_text(SECRET)
    (inside / "link").symlink_to("real")
    (inside / ".link").symlink_to(outside)
    (inside / ".folder").symlink_to(outside)


def _state(folder: Path) -> Mapping[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _file_calls(count: int) -> Iterator[Mapping[str, Any]]:
    change = {"old_string": "inside", "new_string": "inside and more"}
    for n in range(count):
        top = ("link", "folder")[n % 2]
        inputs: Mapping[str, Mapping[str, Any]] = {
            "read": {"file_path": f"{top}/x.txt"},
            "write": {"file_path": f"{top}/new-{n}.txt", "content": "escaped"},
            "edit": {"file_path": f"{top}/x.txt", **change},
            "multi_edit": {"file_path": f"{top}/deep/y.txt", "edits": [change]},
            "glob": {"pattern": "*", "path": top} if n % 3 else {"pattern": f"{top}/**/*"},
            "grep": {"pattern": "secret|inside", "output_mode": "content", "path": f"{top}/x.txt" if n % 3 else top},
            "list": {"path": top},
        }
        name = FILE_TOOLS[n // 2 % len(FILE_TOOLS)]
        yield {"name": name, "input": inputs[name]}


def _commands(count: int) -> Iterator[Mapping[str, Any]]:
    lines = (
        "cat {}/x.txt",
        "head -n 3 {}/deep/y.txt",
        "grep -r . {}/",
        "ls {}/",
        "sort {}/x.txt | wc -l; cat {}/x.txt",
    )
    for n in range(count):
        yield {
            "name": "bash",
            "input": {"command": lines[n // 2 % len(lines)].replace("{}", ("link", "folder")[n % 2])},
        }


def sandboxes() -> Sequence[str]:
    """The sandboxes that work here, and doing without one."""
    found = {detect().kind, detect(path="/nowhere").kind}
    return [*(kind for kind in ("bubblewrap", "landlock") if kind in found), "off"]


def main(calls: int) -> int:
    """Attack in every mode with every sandbox, and print how it went; 1 when anything got out."""
    failed = False
    print(f"{'sandbox':12} {'mode':10} {'tools':8} {'calls':>6} {'read':>6} {'written':>8}  ended")
    for sandbox in sandboxes():
        for mode in MODES:
            for shell in (False, True) if sandbox != "off" else (False,):
                # Not below a folder for temporary files, which a sandbox may cover anyway.
                with tempfile.TemporaryDirectory(prefix=".agentcli-swap-", dir=os.path.expanduser("~")) as folder:
                    found = attack(Path(folder).resolve(), mode, sandbox, calls, shell=shell)
                kind = "commands" if shell else "files"
                ended = ", ".join(f"{how} {count}" for how, count in sorted(found.ended.items()))
                print(
                    f"{sandbox:12} {mode:10} {kind:8} {found.calls:6} {found.read:6} {len(found.written):8}  {ended}",
                    flush=True,
                )
                failed |= bool(found.read or found.written)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000))
