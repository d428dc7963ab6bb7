"""Which commands run, and in which words the others are asked about, over some thousand commands of the corpora."""

import sys
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.rules import Rules, parse_rules
from tests.permissions.answers import answered, read, workspace_of
from tests.permissions.deciding import explain
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


@pytest.mark.parametrize("part", sampled(range(8), 8))
def test_no_rule_for_the_sandbox_lets_a_command_run_that_mode_auto_asks_about(part: int, tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path.resolve())
    everything = parse_rules(allow=["sandbox"], origin="session")
    ran = 0
    for command in list(dict.fromkeys(command for _, _, command in read()))[part::8]:
        call = ToolCall("c", "bash", {"command": command})
        found = explain(call, everything, "ask", workspace)
        if found.decision == "allow" and found.rule != "read-only":
            auto = explain(call, Rules(), "auto", workspace)
            assert (auto.decision, auto.contained) == ("allow", found.contained), command
            ran += 1
    assert ran > 50
