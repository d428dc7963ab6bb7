"""Permissions by mode: destructive commands are asked about, recorded commands of everyday sessions run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules
from tests.guards import Figures, material
from tests.permissions.deciding import explain
from tests.permissions.recorded import filled, project

_MODES: tuple[Mode, ...] = ("ask", "auto-edit", "auto", "yolo")


def figures() -> Iterator[Figures]:
    known = material("permissions")
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        workspace = project(Path(folder))
        for mode in _MODES:
            bad = sum(not _runs(command, mode, workspace) for command in known["bad"])
            for half in ("tuned", "unseen"):
                good = known[f"good_{half}"]
                hindered = sum(not _runs(command, mode, workspace) for command in good)
                yield Figures(
                    f"mode {mode}, {half} half",
                    bad,
                    len(known["bad"]),
                    hindered,
                    len(good),
                    f"{known['source']}; bad are those that the tests block, without git; good are the recorded ones",
                )


def _runs(command: str, mode: Mode, workspace: Workspace) -> bool:
    call = ToolCall("c", "bash", {"command": filled(command, workspace)})
    return explain(call, Rules(), mode, workspace).decision == "allow"
