"""The corpora of commands, and a workspace in which they are judged."""

from __future__ import annotations

import json
from pathlib import Path

from agentcli.permissions.paths import Workspace

DATA = Path(__file__).parent / "data"


def commands(name: str) -> list[str]:
    """The commands of a corpus file. `json:` lines hold what a plain line cannot; `#` lines are comments."""
    return commands_of(DATA / name)


def commands_of(file: Path) -> list[str]:
    """The same of any file."""
    lines = file.read_text(encoding="utf-8").split("\n")
    return [
        json.loads(line[5:]) if line.startswith("json:") else line
        for line in lines
        if line and not line.startswith("# ")
    ]


def make_workspace(top: Path) -> Workspace:
    """A small project with a repository, a link that leads outside, and a home folder beside it."""
    work, home = top / "work", top / "home"
    for folder in (
        work / "src/pkg",
        work / ".git/objects",
        work / ".git/refs",
        work / "my folder",
        work / "node_modules",
        home / ".ssh",
    ):
        folder.mkdir(parents=True)
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git/config").write_text('[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.org/x\n')
    for name in ("README.md", "package.json", "log.txt", "src/pkg/a.py", "src/pkg/b.py", "AGENTS.md"):
        (work / name).write_text("text\n")
    (work / "outward").symlink_to("/etc")
    (work / "inward").symlink_to(".git")
    own = (home / ".config/agentcli", home / ".local/share/agentcli")
    return Workspace(work, (work,), home, own, path="/usr/local/bin:/usr/bin:/bin")
