"""Paths that the commands of hooks protect: an edit of a script that a hook runs is stopped, a usual command is not."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules
from agentcli.permissions.shell.effects.files_started import files_started
from agentcli.permissions.started import Started
from tests.guards import Figures, material
from tests.permissions.deciding import explain
from tests.permissions.recorded import filled

_SCRIPT = re.compile(r"[^\s'\"]*?/(?:[\w.-]+/)*[\w-]+\.(?:sh|py|js|mjs|ts|go)\b")
_PROJECT = re.compile(r"\$\{?CLAUDE_(?:PROJECT_DIR|PLUGIN_ROOT)(?::-[^}]*)?\}?/?")


def figures() -> Iterator[Figures]:
    known = material("hook_paths")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve() / "work"
        for half in ("tuned", "unseen"):
            hooks = [_PROJECT.sub("$CLAUDE_PROJECT_DIR/", hook) for hook in known[f"hooks_{half}"]]
            scripts = {_PROJECT.sub("", found) for hook in hooks for found in _SCRIPT.findall(hook)}
            inside = sorted(script for script in scripts if not script.startswith(("/", "~", "$")))
            for script in inside:
                (work / script).parent.mkdir(parents=True, exist_ok=True)
                (work / script).write_text("x\n")
            started = files_started([Started("the hook", hook, work) for hook in hooks], (work,))
            guarded = Workspace(work, (work,), Path(folder) / "home", started=lambda found=started: found)
            free = Workspace(work, (work,), Path(folder) / "home")
            hindered = sum(_asks(command, guarded) and not _asks(command, free) for command in known["good"])
            yield Figures(
                f"hooks, {half} half",
                sum((work / script).resolve() in started for script in inside),
                len(inside),
                hindered,
                len(known["good"]),
                f"{known['source']}; bad: edits of scripts that the hooks name, good: recorded commands that ask because of a hook",
            )


def _asks(command: str, workspace: Workspace) -> bool:
    call = ToolCall("c", "bash", {"command": filled(command, workspace)})
    return explain(call, Rules(), "yolo", workspace).rule == "protected path"
