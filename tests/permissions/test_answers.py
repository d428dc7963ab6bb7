"""Which commands run, and in which words the others are asked about, over some thousand commands of the corpora."""

import sys
from pathlib import Path

import pytest

from agentcli.core.record import Mode
from tests.permissions.answers import MODES, answered, read, workspace_of


@pytest.mark.skipif(sys.platform != "linux", reason="folders of the system are other ones elsewhere")
@pytest.mark.parametrize("mode", MODES)
def test_commands_are_answered_as_before(mode: Mode, tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path.resolve())
    expected = {command: answer for each, answer, command in read() if each == mode}
    assert len(expected) > 300
    assert {command: answered(command, mode, workspace) for command in expected} == expected
