"""Other programs' names of tools."""

from __future__ import annotations

from agentcli.core.aliases import known_as, like_tool, meanings, no_tool, own_name, own_rule, parameter_aliases
from agentcli.tools.registry import TRAITS, tools
from tests.tables import each_row

KNOWN = ["bash", "bash_output", "edit", "multi_edit", "read", "todo", "web_fetch", "grep"]


@each_row(
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


@each_row(
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


@each_row(
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


@each_row(
    ("name", "tools", "parameter"),
    [
        ("replace", ["edit"], ("allow_multiple", "replace_all")),
        ("default_api:read_file", ["read", "read"], ("absolute_path", "file_path")),
        ("container.exec", ["bash"], None),
        ("ReadFile", ["read", "read"], ("path", "file_path")),
        ("write-stdin", ["bash_output"], ("session_id", "id")),
        ("list", ["list", "list"], ("directory", "path")),
        ("nobody_calls_it_so", [], None),
        ("view_file", ["read"], None),
        ("openFile", ["read"], None),
        ("functions.execute_bash", ["bash"], None),
        ("search_files", ["grep"], None),
        ("find_files_by_name", ["glob"], None),
        ("create_file", ["write"], None),
        ("create_directory", [], None),
        ("run_tests", [], None),
        ("delete_file", [], None),
        ("file", [], None),
    ],
)
def test_a_foreign_name_means_our_tools_with_their_parameters(
    name: str, tools: list[str], parameter: tuple[str, str] | None
) -> None:
    found = list(meanings(name))
    assert [tool for tool, _ in found] == tools
    assert parameter is None or parameter in {pair for _, parameters in found for pair in parameters.items()}


@each_row(
    ("tool", "foreign", "own"),
    [
        ("edit", "old_str", "old_string"),
        ("edit", "oldText", "old_string"),
        ("edit", "patch", None),
        ("multi_edit", "old_str", "old_string"),
        ("multi_edit", "patch", None),
        ("apply_patch", "patch", "input"),
        ("apply_patch", "old_str", None),
        ("read", "absolute_path", "file_path"),
        ("read", "old_str", None),
        ("bash", "login", ""),
        ("grep", "query", "pattern"),
        ("todo", "description", "content"),
        ("nothing", "path", None),
    ],
)
def test_a_parameter_has_the_names_that_other_programs_give_it(tool: str, foreign: str, own: str | None) -> None:
    assert parameter_aliases(tool).get(foreign) == own


@each_row(
    ("tool", "like"), [("multi_edit", "edit"), ("apply_patch", "edit"), ("edit", "edit"), ("bash", "bash"), ("", "")]
)
def test_a_rule_about_a_tool_covers_those_that_do_the_same(tool: str, like: str) -> None:
    assert like_tool(tool) == like


@each_row(
    ("rule", "own"),
    [
        ("Bash(git add:*)", "bash(git add:*)"),
        (" Read ", "read"),
        ("read(a(b))", "read(a(b))"),
        ("mcp__server__tool", "mcp__server__tool"),
        ("mcp__server(x)", "mcp__server(x)"),
        ("NotebookEdit", ""),
        ("NotebookEdit(x)", ""),
    ],
)
def test_a_rule_of_another_program_has_our_name_of_its_tool(rule: str, own: str) -> None:
    assert own_rule(rule) == own


def test_a_name_near_one_of_ours_is_suggested_only_from_seven_tenths_on() -> None:
    assert "Did you mean bash?" in no_tool("bsh", ["bash"])
    assert "Did you mean" not in no_tool("pash_x", ["bash"])
