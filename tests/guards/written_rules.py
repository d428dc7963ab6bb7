"""Rules that people wrote: a command that a rule literally covers runs, but for options that start another program."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from tests.guards import Figures, material
from tests.permissions.deciding import explain
from tests.permissions.recorded import filled, project


def figures() -> Iterator[Figures]:
    known = material("written_rules")
    with tempfile.TemporaryDirectory() as folder:
        workspace = project(Path(folder))
        for half in ("tuned", "unseen"):
            good, bad = known[f"good_{half}"], known[f"bad_{half}"]
            asked = [sum(_asks(pair, workspace) for pair in pairs) for pairs in (bad, good)]
            yield Figures(
                f"`bash(PROGRAM:*)` of people, {half} half",
                asked[0],
                len(bad),
                asked[1],
                len(good),
                f"{known['source']}; bad: one-liners with options that start a shell, under a rule for all of their program, which a person who "
                "wrote it for an interpreter or a wrapper meant; good: recorded commands of one program that a rule covers by its letters",
            )


def _asks(pair: Sequence[str], workspace: Workspace) -> bool:
    rule, command = pair
    call = ToolCall("c", "bash", {"command": filled(command, workspace)})
    return explain(call, parse_rules([f"bash({rule})"]), "ask", workspace).decision != "allow"
