"""Answers to commands beside denied files: the file `readings.txt` has commands below the answer in mode yolo, by kind of project.

`python -m tests.permissions.denied.readings` writes each command below its present answer; read the difference before it is committed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from tests.permissions.deciding import explain_command

FILE = Path(__file__).with_name("readings.txt")
PROJECTS = (
    "tracked, hidden by a sandbox",
    "tracked, no sandbox",
    "not tracked, hidden by a sandbox",
    "not tracked, no sandbox",
)
RULES = parse_rules(deny=["read(secrets/**)", "read(*.pem)"])
_INDENT = "    "


def read() -> Iterator[tuple[str, str, str]]:
    """Yield each project, answer and command of the file."""
    project = answer = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith(_INDENT):
            yield project, answer, line.removeprefix(_INDENT)
        elif line in PROJECTS:
            project = line
        elif line:
            answer = line


def made(project: str, top: Path) -> Workspace:
    """A project with a folder of secrets; in one that tracks them, another secret is only in the history."""
    work = top / "work"
    for name, text in (
        ("secrets/key.txt", "TOP\n"),
        ("src/a.py", "a = 1\n"),
        ("src/b.pem", "PEM\n"),
        ("gone.pem", "OLD\n"),
    ):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    git("init -q -b main", work)
    if project.startswith("tracked"):
        git("add gone.pem secrets src/a.py", work)
        git("-c user.name=a -c user.email=a@b.c commit -qm first --date=2026-01-01T00:00Z", work)
        git("rm -q gone.pem", work)
        git("-c user.name=a -c user.email=a@b.c commit -qm second --date=2026-01-01T00:00Z", work)
    else:
        (work / "gone.pem").unlink()
    boxed = project.endswith("hidden by a sandbox")
    return Workspace(work, (work,), top / "home", sandboxed=boxed, masks=boxed)


def git(words: str, folder: Path) -> None:
    """Run git as nobody in particular."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *words.split()], cwd=folder, env=env, check=True, capture_output=True)


def answered(command: str, workspace: Workspace) -> str:
    """Return the decision on a command, the reason, and what is hidden from it, on one line."""
    found = explain_command(command, workspace, "yolo", RULES)
    text = f"{found.decision}: {found.why}{_hidden(found)}"
    return (
        text.replace(f"{workspace.cwd}/", "").replace(str(workspace.cwd), "WORK").replace(str(workspace.home), "HOME")
    )


def _hidden(found: Decision) -> str:
    hidden = found.hidden
    parts = [f"{name} {', '.join(map(str, paths))}" for name, paths in (
        ("hides", (*hidden.files, *hidden.folders)), ("keeps", hidden.kept), ("without", hidden.objects),
    ) if paths]  # fmt: skip
    return f" ({'; '.join([*parts, *(['is told'] if hidden.told else [])])})" if parts else ""


def write() -> None:
    """Put each command of the file below its present answer."""
    listed = list(read())
    commands = list(dict.fromkeys(command for *_, command in listed))
    lines = []
    for project in PROJECTS:
        with tempfile.TemporaryDirectory() as top:
            workspace = made(project, Path(top).resolve())
            groups: dict[str, list[str]] = defaultdict(list)
            for command in commands:
                groups[answered(command, workspace)].append(command)
        lines.append(project)
        for answer in sorted(groups):
            lines += ["", answer, *(f"{_INDENT}{command}" for command in groups[answer])]
        lines.append("")
    FILE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
