"""Calls in other programs' terms: run as ours if every parameter has a meaning here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentcli.core.message import ToolCall, unreadable_call
from agentcli.core.record import TodoItem
from agentcli.tools.foreign import ForeignCalls, patch_of
from agentcli.tools.registry import tools
from tests.tables import each_row

TOOLS = {tool.name: tool for tool in tools()}
HERE = Path("/home/me/project")


def own(name: str, given: dict[str, Any], todo: tuple[TodoItem, ...] = ()) -> ToolCall:
    """The call as the session understands it."""
    return ForeignCalls(TOOLS, [*TOOLS], HERE, todo).own(ToolCall("c1", name, given))


@each_row(
    ("name", "given", "tool", "meant"),
    [
        ("run_shell_command", {"command": "ls", "description": "d"}, "bash", {"command": "ls", "description": "d"}),
        ("run_shell_command", {"command": "ls", "dir_path": "sub dir"}, "bash", {"command": "cd 'sub dir' && ls"}),
        ("exec_command", {"cmd": "ls", "workdir": str(HERE), "yield_time_ms": 1000, "tty": False}, "bash", {"command": "ls"}),
        ("shell", {"command": ["bash", "-lc", "ls -a"], "timeout_ms": 5}, "bash", {"command": "ls -a", "timeout": 5}),
        ("shell", {"command": ["ls", "a b"]}, "bash", {"command": "ls 'a b'"}),
        ("functions.exec_command", {"cmd": "ls"}, "bash", {"command": "ls"}),
        ("read_file", {"absolute_path": "/a", "offset": 3}, "read", {"file_path": "/a", "offset": 3}),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y", "instruction": "why"}, "edit",
         {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("view", {"path": "a", "view_range": [5, 9]}, "read", {"file_path": "a", "offset": 5, "limit": 5}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a", "view_range": [5, -1]}, "read",
         {"file_path": "a", "offset": 5}),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"}, "edit",
         {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a", "file_text": "x"}, "write",
         {"file_path": "a", "content": "x"}),
        ("TodoWrite", {"todos": []}, "todo", {"todos": []}),
        ("update_plan", {"plan": [{"step": "a", "status": "pending"}], "explanation": "e"}, "todo",
         {"todos": [{"step": "a", "status": "pending"}]}),
        ("write_stdin", {"session_id": 1, "chars": "", "yield_time_ms": 5}, "bash_output", {"id": "job-1"}),
        ("TaskOutput", {"task_id": "job-1", "block": True, "timeout": 30_000}, "bash_output", {"id": "job-1"}),
        ("TaskStop", {"task_id": "job-1"}, "bash_stop", {"id": "job-1"}),
        ("view_file", {"path": "a.py"}, "read", {"file_path": "a.py"}),
        ("execute_bash", {"cmd": "ls"}, "bash", {"command": "ls"}),
        ("list_dir", {"target_directory": ".", "explanation": "e"}, "list", {"path": "."}),
        ("read_file", {"target_file": "a", "start_line_one_indexed": 5, "end_line_one_indexed_inclusive": 9}, "read",
         {"file_path": "a", "offset": 5, "limit": 5}),
        ("glob_file_search", {"glob_pattern": "*.py", "target_directory": "src"}, "glob", {"pattern": "*.py", "path": "src"}),
        ("search_files", {"query": "x", "directory": "src"}, "grep", {"pattern": "x", "path": "src"}),
    ],
)  # fmt: skip
def test_a_call_whose_parameters_all_have_a_meaning_runs_as_ours(
    name: str, given: dict[str, Any], tool: str, meant: dict[str, Any]
) -> None:
    call = own(name, given)
    assert (call.name, dict(call.input), call.remarks) == (tool, meant, (f"(as {tool})",))


@each_row(
    ("name", "given"),
    [
        ("str_replace_based_edit_tool", {"command": "insert", "path": "a", "insert_line": 1, "new_str": "x"}),
        ("write_stdin", {"session_id": 1, "chars": "y\n"}),
        ("read_file", {"path": "a", "recursive": True}),
        ("view", {"path": "a", "view_range": "all"}),
        ("shell", {"command": 5}),
        ("frobnicate", {"x": 1}),
        ("edit_file", {"path": "a", "code_edit": "x"}),
        ("list_dir", {"target_directory": ".", "ignore_globs": ["*.o"]}),
        ("run_command", {"command": "ls", "blocking": False}),
        ("TaskUpdate", {"taskId": "7", "status": "completed"}),
    ],
)
def test_a_call_with_anything_that_has_no_meaning_stays_as_it_is(name: str, given: dict[str, Any]) -> None:
    assert own(name, given) == ToolCall("c1", name, given)


def test_our_own_calls_get_no_remark() -> None:
    assert own("Bash", {"command": "ls"}) == ToolCall("c1", "bash", {"command": "ls"})


@each_row(
    ("name", "given", "meant"),
    [
        ("edit", {"path": "a", "old_str": "x", "new_str": "y"}, {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("bash", {"cmd": "ls", "login": True}, {"command": "ls", "login": True}),
        ("Read", {"filePath": "a", "file_path": "b"}, {"filePath": "a", "file_path": "b"}),
        ("read", {"file": "a", "start_line": 3}, {"file_path": "a", "start_line": 3}),
        ("todo", {"todos": [{"step": "a"}]}, {"todos": [{"step": "a"}]}),
    ],
)  # fmt: skip
def test_parameters_of_our_tools_are_recorded_by_our_names(
    name: str, given: dict[str, Any], meant: dict[str, Any]
) -> None:
    call = own(name, given)
    assert (dict(call.input), call.remarks) == (meant, ())


def test_tasks_are_added_to_the_list_and_changed_by_their_number() -> None:
    calls = ForeignCalls(TOOLS, [*TOOLS], HERE, (TodoItem("one", "completed"),))
    calls.own(ToolCall("c1", "TaskCreate", {"subject": "two", "description": "more"}))
    changed = calls.own(ToolCall("c2", "TaskUpdate", {"taskId": "2", "status": "in_progress"}))
    assert [(item["content"], item["status"]) for item in changed.input["todos"]] == [
        ("one", "completed"),
        ("two", "in_progress"),
    ]


PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"


@each_row(
    ("command", "path"),
    [
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", "a.py"),
        (f"apply_patch <<EOF\n{PATCH}\nEOF\n", "a.py"),
        (f"cd sub/dir && apply_patch <<'PATCH'\n{PATCH}\nPATCH", "sub/dir/a.py"),
        (f"cd '/tmp/a b' && apply_patch <<'PATCH'\n{PATCH}\nPATCH", "/tmp/a b/a.py"),
        (f"apply_patch '{PATCH}'", "a.py"),
    ],
)
def test_a_command_that_only_applies_a_patch_is_that_patch(command: str, path: str) -> None:
    for name, given in (("bash", {"command": command}), ("shell", {"command": ["bash", "-lc", command]})):
        call = own(name, given)
        assert (call.name, call.remarks) == ("apply_patch", ("(as apply_patch)",))
        assert f"*** Add File: {path}\n" in call.input["input"]


@each_row(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}\nEOF\npytest",
        f"git stash; apply_patch <<'EOF'\n{PATCH}\nEOF",
        "apply_patch <<'EOF'\nnothing\nEOF",
        f"cd $(pwd) && apply_patch <<'EOF'\n{PATCH}\nEOF",
        "ls",
    ],
)
def test_a_command_that_does_anything_else_stays_a_command(command: str) -> None:
    assert patch_of(command) is None


def test_a_call_whose_arguments_cannot_be_read_is_not_taken_for_another() -> None:
    call = unreadable_call("c1", "Shell", '{"command": ', "why")
    assert ForeignCalls(TOOLS, [*TOOLS], HERE).own(call).unreadable == "why"
