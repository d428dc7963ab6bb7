"""Which commands run, and in which words the others are asked about, over some thousand commands of the corpora."""

import sys
from pathlib import Path

import pytest

from agentcli.core.record import Mode
from tests.permissions.answers import answered, read, workspace_of
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="folders of the system are other ones elsewhere")


@pytest.mark.parametrize(
    ("part", "mode"), sampled([(part, mode) for part in range(3) for mode in ("ask", "auto", "yolo")], 4)
)
def test_commands_are_answered_as_before(part: int, mode: Mode, tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path.resolve())
    expected = dict([(command, answer) for each, answer, command in read() if each == mode][part::3])
    assert len(expected) > 100
    assert {command: answered(command, mode, workspace) for command in expected} == expected
