"""Values that name nothing, judged one by one against real programs and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.effects.harmless_values import names_nothing
from tests.tables import each_row


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/started").write_text("")
    (tmp_path / "bin/started").chmod(0o755)
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "plugin.py").write_text("")
    return Workspace(work, (work,), tmp_path / "home", path=str(tmp_path / "bin"), env={})


@each_row(
    "value",
    ["epic", "P1", "3000", "feat/new-thing", "a,b", "Fix the (old) thing", "", "192.168.1.4:80", "x\n\n- y `z`"],
)
def test_words_numbers_and_texts_name_nothing(workspace: Workspace, value: str) -> None:
    assert names_nothing(value, (workspace.cwd,), workspace)


@pytest.mark.parametrize(
    "value",
    ["started", "plugin", "plugin.py", "src", "a,started", "x:plugin", "eval", "--x", "./x", "/x", "~/x", "@x", "a=b", "$x", "x;started y",
     "started the thing", "Do it; started x", "Do $(started x)", "Do it\nstarted x", "https://x", "a@b:c", "src/x/../..", "a" * 30_000],
)  # fmt: skip
def test_programs_files_addresses_and_code_are_named(workspace: Workspace, value: str) -> None:
    (workspace.cwd / "src/x").mkdir(exist_ok=True)
    assert not names_nothing(value, (workspace.cwd,), workspace)
