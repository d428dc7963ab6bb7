"""Task files. One text file contains the prompt, the files to start from, and the check. The agent never gets the
check.

A file begins with a TOML table; a line `-- PATH --` begins each part. `prompt` is the prompt. `files/PATH` is a file of
the agent's repository. `make.py`, if there is one, runs in that folder before its first commit. `hidden/PATH` is a file
for the check, `hidden/check.py` the check itself (see `judging`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agentcli.core.annotation import fields_of
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError, in_words
from agentcli.core.text.words import instead
from agentcli.system import probe
from agentcli.system.git import git

FOLDER = Path(__file__).parent / "tasks"
"""Our own set."""
CHECK = "hidden/check.py"
"""Part that is the check."""
OWN = "own"
"""Name of our own set."""
_PART = re.compile(r"^-- (\S+) --\n", re.MULTILINE)
_WHO = {"NAME": "agentcli", "EMAIL": "agentcli@localhost", "DATE": "2024-01-01T00:00:00Z"}
_AUTHOR = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _WHO.items()}


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task with its parts by path.

    `kind` is what it measures, in a few words. `setup` runs in each tree before the agent; `settings` are `NAME=VALUE`.
    If `kill_after` is not 0, the agent is killed once after so many calls, and continues in its session. Limits are per
    run: requests to the model, seconds and USD.
    """

    id: str
    path: Path
    parts: Mapping[str, str]
    kind: str = ""
    setup: str = ""
    settings: list[str] = field(default_factory=list)
    kill_after: int = 0
    max_turns: int = 40
    max_time: float = 900.0
    max_cost: float = 1.0

    @property
    def prompt(self) -> str:
        """Prompt of the agent."""
        return self.parts["prompt"]

    def under(self, folder: str) -> Mapping[str, str]:
        """Return the parts in a folder, by their paths in it."""
        prefix = folder + "/"
        return {name.removeprefix(prefix): text for name, text in self.parts.items() if name.startswith(prefix)}


_HEADER = {slot.name for slot in fields_of(TaskFile)} - {"id", "path", "parts"}


def read_set(name: str) -> Sequence[TaskFile]:
    """Return the tasks of a set: our own by name, else those of a folder or a file.

    Raise InputError for an invalid one.
    """
    place = FOLDER if name == OWN else Path(name)
    found = sorted(place.glob("*.txt")) if probe.is_dir(place) else [place]
    if not found:
        raise InputError(f"There is no task in {place}: a task is a file `NAME.txt`.")
    return [read(path) for path in found]


def read(path: Path) -> TaskFile:
    """Read a task file. Raise InputError if it is invalid."""
    try:
        head, *rest = _PART.split(path.read_text(encoding="utf-8"))
        header: Mapping[str, Any] = tomllib.loads(head)
    except (OSError, ValueError) as error:
        raise InputError(f"Can't read the task {path}: {in_words(error)}.") from error
    for name in header:
        if name not in _HEADER:
            raise InputError(f"{path}: unknown key {name!r}.{instead(name, _HEADER)}")
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    for name in ("prompt", CHECK):
        if name not in parts:
            raise InputError(f"{path} has no part {name!r}.")
    for name in parts:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"{path}: the part {name!r} lies outside.")
    return TaskFile(path.stem, path.resolve(), parts, **header)


def encoded(task: TaskFile) -> str:
    """Return the parts that a check needs, as JSON: its standard input, which no other process can read."""
    return json.dumps({name: text for name, text in task.parts.items() if name != "prompt"})


def decoded(text: str) -> TaskFile:
    """Return a task with the parts in a text that `encoded` made."""
    return TaskFile("task", Path("task.txt"), json.loads(text))


def write_files(parts: Mapping[str, str], folder: Path) -> None:
    """Write parts as files below a folder; a text that begins with `#!` becomes executable."""
    for name, text in parts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)


def make_files(task: TaskFile, folder: Path) -> None:
    """Make the files that an agent starts from. Raise InputError if `make.py` fails."""
    folder.mkdir(parents=True, exist_ok=True)
    write_files(task.under("files"), folder)
    if "make.py" in task.parts:
        command = [sys.executable, "-I", "-c", task.parts["make.py"]]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if made.returncode:
            raise InputError(f"make.py of {task.path} fails: {made.stderr[-500:]}")


def make_repository(task: TaskFile, folder: Path) -> None:
    """Make the repository of a task unless it exists: one commit, always with the same id.

    Raise InputError or GitError.
    """
    if probe.exists(folder / ".git" / "made"):
        return
    make_files(task, folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Start", env={**os.environ, **_AUTHOR})
    (folder / ".git" / "made").touch()
