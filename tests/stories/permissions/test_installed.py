"""File tools read what every command in the sandbox sees: installed programs and packages, and nothing else outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.rules import Rules
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain

TOOLS = {"read": "file_path", "grep": "path", "glob": "path", "list": "path"}


@pytest.mark.parametrize("mode", ["ask", "plan", "auto"])
@pytest.mark.parametrize("tool", TOOLS)
def test_installed_files_are_read_in_every_mode_and_private_ones_are_not(tool: str, mode: Mode, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    packages, secret, own = (workspace.home / name for name in ("tool/lib", "tool/lib/.env", "notes"))
    packages.mkdir(parents=True)
    own.mkdir()
    for file in (packages / "a.py", secret, own / "a.py"):
        file.write_text("x")
    closed = packages / "closed.py"
    closed.write_text("x")
    closed.chmod(0o600)
    workspace = replace(workspace, installed=lambda: (packages,))

    def decided(path: Path | str) -> str:
        given = {TOOLS[tool]: str(path), **({"pattern": "*"} if tool in ("grep", "glob") else {})}
        return explain(ToolCall("c", tool, given), Rules(), mode, workspace).decision

    assert [decided(path) for path in (packages, "/usr/bin", Path("/usr/lib"))] == ["allow"] * 3
    assert [decided(path) for path in (own, workspace.home, "/etc", "/usr/../etc")] == ["ask"] * 4
    if tool == "read":
        assert [decided(path) for path in (packages / "a.py", "/usr/bin/env")] == ["allow"] * 2
        assert [decided(path) for path in (secret, closed, own / "a.py")] == ["ask"] * 3


def test_an_edit_of_an_installed_file_asks(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    given = {"file_path": "/usr/bin/env", "old_string": "a", "new_string": "b"}
    assert explain(ToolCall("c", "edit", given), Rules(), "auto", workspace).decision == "ask"
