"""Answers to commands: the file `data/answers.txt` has commands below the reason with which they are allowed or asked about, by mode.

`python -m tests.permissions.answers` writes each command below its present reason; read the difference before it is committed.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agentcli.core.record import Mode
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import UndoCover, Workspace
from tests.permissions.corpus import DATA, make_workspace
from tests.permissions.deciding import explain_command

FILE = DATA / "answers.txt"
MODES: tuple[Mode, ...] = ("ask", "auto", "yolo")
_INDENT = "    "


def read() -> Iterator[tuple[Mode, str, str]]:
    """Yield each mode, answer and command of the file."""
    mode: Mode = "ask"
    answer = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith(_INDENT):
            command = line.removeprefix(_INDENT)
            yield mode, answer, json.loads(command[5:]) if command.startswith("json:") else command
        elif line.startswith("mode "):
            mode = next(each for each in MODES if line == f"mode {each}")
        elif line:
            answer = line


def workspace_of(top: Path) -> Workspace:
    """The project of the corpora with a sandbox and /undo, some folders below `top`; no program is installed."""
    made = make_workspace(top / "a/b/c")
    cover = UndoCover(bytes=100, files=1_000, skipped=frozenset({"node_modules", ".git"}))
    return replace(made, path="/nonexistent", sandboxed=True, records=True, undo=cover, shell_env=dict)


def answered(command: str, mode: Mode, workspace: Workspace) -> str:
    """Return the decision on a command, the reason, and what "always" would save, on one line."""
    found = explain_command(command, workspace, mode)
    work, top = str(workspace.cwd), str(workspace.cwd.parents[3])
    return f"{found.decision}: {found.why}{_offer(found)}".replace(work, "WORK").replace(top, "TOP").replace("\n", "⏎")


def _offer(found: Decision) -> str:
    if found.decision != "ask":
        return f" (looks at {found.machine})" * bool(found.machine) + " (git writes)" * found.records
    if found.unsaved and not any(rule.startswith("sandbox(") for rule in found.prefixes):
        return " (never saved)" if found.unsaved == found.why else f" (never saved: {found.unsaved})"
    return f" (always: {', '.join(found.prefixes)})" if found.prefixes else ""


def write() -> None:
    """Put each command of the file below its present answer."""
    lines = []
    with tempfile.TemporaryDirectory() as top:
        workspace = workspace_of(Path(top).resolve())
        commands = [(mode, command) for mode, _, command in read()]
        for mode in MODES:
            groups: dict[str, list[str]] = defaultdict(list)
            for command in dict.fromkeys(command for each, command in commands if each == mode):
                plain = command.isprintable() and command == command.strip() and not command.startswith("json:")
                groups[answered(command, mode, workspace)].append(command if plain else f"json:{json.dumps(command)}")
            lines.append(f"mode {mode}")
            for answer in sorted(groups):
                lines += ["", answer, *(f"{_INDENT}{command}" for command in groups[answer])]
            lines.append("")
    FILE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
