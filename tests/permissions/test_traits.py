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
def place(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, (tmp_path,), tmp_path / "home")


def decided(tool: str, place: Workspace, mode: Mode = "ask", rules: Rules | None = None, **given: str) -> Decision:
    return decide(ToolCall("c", tool, given), {**TRAITS, **FOREIGN}, rules or Rules(), mode, place)


def test_a_tool_that_edits_files_is_bound_by_what_is_said_of_the_others(place: Workspace) -> None:
    assert decided("patch", place, "auto-edit", target="a.txt").decision == "allow"
    assert decided("patch", place, "plan", target="a.txt").decision == "deny"
    assert decided("patch", place, "yolo", target=".git/hooks/pre-commit").rule == "protected path"
    assert decided("patch", place, "yolo", parse_rules(deny=["edit(secret/**)"]), target="secret/a").decision == "deny"
    assert (
        decided("edit", place, "yolo", parse_rules(deny=["patch(secret/**)"]), file_path="secret/a").decision == "deny"
    )
    assert decided("patch", place, target="a.txt").always == "patch(./a.txt)"


def test_a_tool_that_searches_reads_inside_and_asks_for_what_is_protected(place: Workspace) -> None:
    assert decided("find", place, where=".").decision == "allow"
    assert decided("find", place, where="/etc").decision == "ask"
    assert decided("find", place, where=".", names=".env*").rule == "protected path"
    assert decided("find", place, rules=parse_rules(deny=["read(secret/**)"]), where="secret/a").decision == "deny"


def test_a_tool_that_runs_commands_has_rules_and_readers_of_its_own(place: Workspace) -> None:
    assert decided("shell", place, line="ls").rule == "read-only"
    assert decided("shell", place, line="make").always == "shell(make)"
    assert decided("shell", place, rules=parse_rules(allow=["shell(make)"]), line="make").decision == "allow"
    assert decided("shell", place, rules=parse_rules(allow=["bash(make)"]), line="make").decision == "ask"


def test_a_tool_that_fetches_asks_unless_a_rule_knows_the_address(place: Workspace) -> None:
    rules = parse_rules(allow=["browse(domain:example.org)"])
    assert decided("browse", place, rules=rules, address="https://example.org/a").decision == "allow"
    assert decided("browse", place, rules=rules, address="https://example.com/a").decision == "ask"


def test_a_tool_that_nobody_knows_is_taken_to_run_programs(place: Workspace) -> None:
    assert decided("unheard_of", place).decision == "ask"
    assert decided("unheard_of", place, "plan").decision == "deny"
