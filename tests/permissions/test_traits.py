"""Decisions follow from what a tool says about itself, whatever its name."""

from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.tool import Traits
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.tools.registry import TRAITS

FOREIGN = {
    "patch": Traits("write", "target", edits_files=True),
    "find": Traits("read", "where", searches=True, name_filter="names"),
    "shell": Traits("run", "line"),
    "browse": Traits("network", "address"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, (tmp_path,), tmp_path / "home")


def decided(tool: str, workspace: Workspace, mode: Mode = "ask", rules: Rules | None = None, **given: str) -> Decision:
    return decide(ToolCall("c", tool, given), {**TRAITS, **FOREIGN}, rules or Rules(), mode, workspace)


def test_a_tool_that_edits_files_is_bound_by_what_is_said_of_the_others(workspace: Workspace) -> None:
    assert decided("patch", workspace, "auto-edit", target="a.txt").decision == "allow"
    assert decided("patch", workspace, "plan", target="a.txt").decision == "deny"
    assert decided("patch", workspace, "yolo", target=".git/hooks/pre-commit").rule == "protected path"
    assert (
        decided("patch", workspace, "yolo", parse_rules(deny=["edit(secret/**)"]), target="secret/a").decision == "deny"
    )
    assert (
        decided("edit", workspace, "yolo", parse_rules(deny=["patch(secret/**)"]), file_path="secret/a").decision
        == "deny"
    )
    assert decided("patch", workspace, target="a.txt").always == "patch(./a.txt)"


def test_a_tool_that_searches_reads_inside_and_asks_for_what_is_protected(workspace: Workspace) -> None:
    assert decided("find", workspace, where=".").decision == "allow"
    assert decided("find", workspace, where="/etc").decision == "ask"
    assert decided("find", workspace, where=".", names=".env*").rule == "protected path"
    assert decided("find", workspace, rules=parse_rules(deny=["read(secret/**)"]), where="secret/a").decision == "deny"


def test_a_tool_that_runs_commands_has_rules_and_readers_of_its_own(workspace: Workspace) -> None:
    assert decided("shell", workspace, line="ls").rule == "read-only"
    assert decided("shell", workspace, line="make").always == "shell(make)"
    assert decided("shell", workspace, rules=parse_rules(allow=["shell(make)"]), line="make").decision == "allow"
    assert decided("shell", workspace, rules=parse_rules(allow=["bash(make)"]), line="make").decision == "ask"


def test_a_tool_that_fetches_asks_unless_a_rule_knows_the_address(workspace: Workspace) -> None:
    rules = parse_rules(allow=["browse(domain:example.org)"])
    assert decided("browse", workspace, rules=rules, address="https://example.org/a").decision == "allow"
    assert decided("browse", workspace, rules=rules, address="https://example.com/a").decision == "ask"


def test_a_tool_that_nobody_knows_is_taken_to_run_programs(workspace: Workspace) -> None:
    assert decided("unheard_of", workspace).decision == "ask"
    assert decided("unheard_of", workspace, "plan").decision == "deny"
