"""Files that are protected without any rule: credentials ask before they are read, ordinary files and templates do not.

Stopped: reading the file asks or is refused. Hindered: reading an ordinary file of the workspace asks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import decide
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules
from agentcli.tools.registry import TRAITS
from tests.guards import Figures, material


def figures() -> Iterator[Figures]:
    """Measure the paths of both kinds with the tool that reads files."""
    found = material("protected_files")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        workspace = Workspace(home / "work", (home / "work",), home)

        def asks(path: str) -> bool:
            given = path.replace("~", str(home), 1)
            call = ToolCall("c", "read", {"file_path": given})
            return decide(call, TRAITS, Rules(), "ask", workspace).decision != "allow"

        stopped, hindered = [*filter(asks, found["bad"])], [*filter(asks, found["good"])]
    yield Figures(
        "protected files", len(stopped), len(found["bad"]), len(hindered), len(found["good"]),
        "bad: files that rules of public settings deny; good: paths of files of three public repositories, every own word replaced, and templates of .env files",
    )  # fmt: skip
