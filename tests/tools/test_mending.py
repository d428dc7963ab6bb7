"""Harmless slips of models in their calls: what is meant is done, and what cannot be meant is refused with a way on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.tools.mending import mended
from agentcli.tools.registry import tools
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

TOOLS = {tool.name: tool for tool in (*tools(), *tools({"task"}))}
STEPS = [{"content": "one", "status": "completed"}, {"content": "two"}]


@pytest.fixture
def planted(ctx: Bench) -> Bench:
    (ctx.cwd / "src").mkdir()
    (ctx.cwd / "src/a.py").write_text("one\ntwo\nthree\n")
    (ctx.cwd / "a.py").write_text("top\n")
    return ctx


@pytest.mark.parametrize("name", ["path", "filePath", "absolute_path", "file", "filename"])
def test_a_file_is_named_by_the_parameters_of_other_programs(call: Call, planted: Bench, name: str) -> None:
    assert call("read", **{name: "a.py"}).output.endswith("top")


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("bash", {"cmd": "ls"}, {"command": "ls"}),
        ("bash", {"command": "ls", "is_background": True}, {"command": "ls", "run_in_background": True}),
        ("edit", {"path": "x", "old_str": "a", "new_str": "b"}, {"file_path": "x", "old_string": "a", "new_string": "b"}),
        ("edit", {"filePath": "x", "oldText": "a", "newText": ""}, {"file_path": "x", "old_string": "a", "new_string": ""}),
        ("edit", {"file_path": "x", "allow_multiple": True}, {"file_path": "x", "replace_all": True}),
        ("write", {"path": "x", "file_text": "a"}, {"file_path": "x", "content": "a"}),
        ("grep", {"query": "a", "file_path": "src", "include": "*.py"}, {"pattern": "a", "path": "src", "glob": "*.py"}),
        ("grep", {"pattern": "a", "dir_path": "src", "context": 2}, {"pattern": "a", "path": "src", "-C": 2}),
        ("bash_output", {"bash_id": "job-1"}, {"id": "job-1"}),
        ("task", {"prompt": "p", "subagent_type": "explore"}, {"prompt": "p", "agent": "explore"}),
        ("todo", {"plan": [{"step": "one", "status": "done"}]}, {"todos": [{"content": "one", "status": "completed"}]}),
        ("multi_edit", {"edits": [{"oldText": "a", "newText": "b"}]}, {"edits": [{"old_string": "a", "new_string": "b"}]}),
        ("multi_edit", {"edits": '{"old_string": "a"}'}, {"edits": [{"old_string": "a"}]}),
        ("todo", {"todos": json.dumps(STEPS)}, {"todos": STEPS}),
        ("grep", {"pattern": "a", "output_mode": "Files-With-Matches"}, {"pattern": "a", "output_mode": "files_with_matches"}),
        ("read", {"Path": "x", "start_line": 5, "end_line": "9"}, {"file_path": "x", "offset": 5, "limit": 5}),
        ("read", {"file_path": "x", "view_range": [5, -1]}, {"file_path": "x", "offset": 5}),
        ("read", {"file_path": "x", "endLine": 20}, {"file_path": "x", "offset": 1, "limit": 20}),
        ("read", {"file_path": "x", "from": 7, "to": 3}, {"file_path": "x", "offset": 7}),
        ("grep", {"pattern": "a", "ignore_case": True, "A": 2}, {"pattern": "a", "-i": True, "-A": 2}),
        ("bash", {"command": "a", "runInBackground": True}, {"command": "a", "run_in_background": True}),
        ("write", {"file_path": "x", "content": '["a"]'}, {"file_path": "x", "content": '["a"]'}),
    ],
)  # fmt: skip
def test_what_is_meant_is_taken(planted: Bench, tool: str, given: dict[str, Any], meant: dict[str, Any]) -> None:
    found = mended(TOOLS[tool], given, planted.cwd)
    assert found.input == meant
    assert not found.ignored
    assert mended(TOOLS[tool], meant, planted.cwd).input == meant


def test_a_right_name_goes_before_an_alias(call: Call, planted: Bench) -> None:
    assert call("read", file_path="a.py", path="src/a.py").output.split("\n")[0].endswith("top")


def test_an_unknown_parameter_of_what_only_reads_is_ignored_with_a_note(call: Call, planted: Bench) -> None:
    found = call("grep", pattern="top", type="py", multiline=True, explanation="to see").output
    assert found == "a.py\n1:top\n[ignored, since this tool has no such parameter: type, multiline, explanation]"
    steps = [{"id": 1, "content": "one", "priority": "high"}]
    assert call("todo", todos=steps).output == "[ ] one\n[ignored, since this tool has no such parameter: id, priority]"


@pytest.mark.parametrize(
    "given",
    [
        {"offset": 2, "start_line": 1},
        {"start_line": "the first"},
        {"view_range": "all"},
        {"line": 3},
        {"tokens_start": 3},
    ],
)
def test_a_range_of_lines_that_is_not_clear_is_ignored_with_a_note(
    call: Call, planted: Bench, given: dict[str, Any]
) -> None:
    name = [*given][-1]
    assert call("read", file_path="src/a.py", **given).output.endswith(
        f"[ignored, since this tool has no such parameter: {name}]"
    )


def test_what_changes_something_ignores_talk_and_refuses_the_rest(call: Call, planted: Bench) -> None:
    written = call("write", file_path="new", content="x", explanation="because")
    assert written.status == "success"
    assert "[ignored, since this tool has no such parameter: explanation]" in written.output
    refused = call("write", file_path="new2", content="x", mode="append")
    assert refused.output == "Unknown parameter mode. This tool takes file_path, content."
    assert call("bash", command="pwd", workdir="/").status == "error"
    assert not (planted.cwd / "new2").exists()


def test_an_edit_without_a_new_text_is_told_how_to_delete(call: Call, planted: Bench) -> None:
    refused = call("edit", file_path="a.py", old_string="top")
    assert refused.output.startswith("Missing new_string (Empty to delete).")


def test_a_plan_takes_other_words_for_its_states_and_leaves_out_what_was_cancelled(call: Call) -> None:
    steps = [
        {"content": "one", "status": "done"},
        {"content": "two", "status": "cancelled"},
        {"content": "three", "status": "in-progress"},
        {"content": "four", "status": "canceled"},
    ]
    assert call("todo", todos=steps).output == "[x] one\n[>] three"


def test_a_whole_number_may_be_written_as_a_decimal_one(call: Call, planted: Bench) -> None:
    assert call("read", file_path="src/a.py", offset="2.0", limit="1").output.split("\n")[0].endswith("two")
    assert call("read", file_path="src/a.py", offset="2.5").output == "offset must be a whole number."


@pytest.mark.parametrize(
    "path",
    [
        "@src/a.py", '"src/a.py"', "'src/a.py'", " src/a.py ", "`src/a.py`", "src/a.py:3", "src/a.py:3:7", "src/a.py#L2-L3", "src/a.py:2-3",
        "a/src/a.py", "b/src/a.py", "/src/a.py", "file://{cwd}/src/a.py", '"@src/a.py:1"',
    ],
)  # fmt: skip
def test_a_path_that_is_wrapped_in_something_is_taken_for_what_is_there(call: Call, planted: Bench, path: str) -> None:
    outcome = call("read", file_path=path.format(cwd=planted.cwd))
    assert outcome.status == "success", outcome.output
    assert outcome.metadata["path"] == str(planted.cwd / "src/a.py")
    assert outcome.title == "Read src/a.py" or outcome.title == f"Read {planted.cwd}/src/a.py"


def test_a_path_is_taken_as_it_is_written_where_that_is_there(call: Call, planted: Bench) -> None:
    (planted.cwd / "@src").mkdir()
    (planted.cwd / "@src/a.py").write_text("at\n")
    (planted.cwd / "src/a.py:3").write_text("colon\n")
    assert call("read", file_path="@src/a.py").output.endswith("at")
    assert call("read", file_path="src/a.py:3").output.endswith("colon")
    assert call("list", path="@src").output == "a.py"


def test_a_path_of_which_nothing_is_there_stays_as_it_is(call: Call, planted: Bench) -> None:
    assert call("write", file_path="@new.py", content="x").status == "success"
    assert Path(planted.cwd / "@new.py").read_text() == "x"
