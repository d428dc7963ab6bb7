"""Other programs' names of tools."""

from __future__ import annotations

import pytest

from agentcli.core.aliases import known_as, no_tool, own_name, parameter_aliases
from agentcli.tools.registry import TRAITS, tools

KNOWN = ["bash", "bash_output", "edit", "multi_edit", "read", "todo", "web_fetch", "grep"]


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("bash", "bash"),
        ("Bash", "bash"),
        ("BASH_OUTPUT", "bash_output"),
        ("BashOutput", "bash_output"),
        ("WebFetch", "web_fetch"),
        ("default_api:read", "read"),
        ("functions.bash", "bash"),
        ("default_api.Multi-Edit", "multi_edit"),
        ("read_file", "read_file"),
        ("", ""),
    ],
)
def test_a_name_in_other_letters_or_with_a_prefix_means_the_same_tool(name: str, own: str) -> None:
    assert own_name(name, KNOWN) == own


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("run_shell_command", "bash"),
        ("default_api:run_shell_command", "bash"),
        ("replace", "edit"),
        ("read_file", "read"),
        ("TodoWrite", "todo"),
        ("str_replace", "edit"),
        ("search_file_content", "grep"),
        ("container.exec", "bash"),
        ("grap", "grep"),
    ],
)
def test_another_program_s_name_is_answered_with_ours_first(name: str, own: str) -> None:
    assert no_tool(name, KNOWN).startswith(f"There is no tool {name!r}. Did you mean {own}? There are: bash, ")


def test_a_name_that_nobody_knows_is_answered_with_the_tools_that_there_are() -> None:
    assert no_tool("quux", KNOWN) == f"There is no tool 'quux'. There are: {', '.join(sorted(KNOWN))}."
    assert "Did you mean" not in no_tool("write_file", KNOWN)


@pytest.mark.parametrize(
    ("name", "own"),
    [("Bash", "bash"), ("Read", "read"), ("Edit", "edit"), ("Write", "write"), ("Grep", "grep"), ("Glob", "glob"), ("WebFetch", "web_fetch"),
     ("TodoWrite", "todo"), ("Task", "task"), ("Agent", "task"), ("KillShell", "bash_stop"), ("NotebookEdit", "")],
)  # fmt: skip
def test_claude_code_s_names_are_known(name: str, own: str) -> None:
    assert known_as(name) == own


def test_every_tool_of_the_table_is_one_of_ours() -> None:
    for tool in tools(TRAITS):
        properties = tool.schema.parameters["properties"]
        assert not set(parameter_aliases(tool.name)) & (set(properties) - {"description", "content"}), tool.name
