"""The tools that touch no file: todo, recall, ask_user."""

from __future__ import annotations

import time

from agentcli.core.message import ToolResult
from agentcli.core.record import TodoItem
from agentcli.core.tool import Choice, Question, ToolLimits, ToolOutput
from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def test_the_plan_is_replaced_whole_and_shown(call: Call, ctx: Bench) -> None:
    steps = [
        {"content": "Read", "status": "completed"},
        {"content": "Fix", "status": "in_progress", "activeForm": "Fixing"},
        {"content": "Test"},
    ]
    outcome = call("todo", todos=steps)
    assert outcome.output == "[x] Read\n[>] Fix\n[ ] Test"
    assert ctx.items == (
        TodoItem("Read", "completed"),
        TodoItem("Fix", "in_progress", "Fixing"),
        TodoItem("Test"),
    )
    assert call("todo").output == outcome.output
    assert call("todo", todos=[]).output == "The list is empty."
    assert ctx.items == ()


def test_a_plan_with_an_unknown_status_is_refused(call: Call, ctx: Bench) -> None:
    outcome = call("todo", todos=[{"content": "x", "status": "someday"}])
    assert outcome.output == "todos[0].status must be one of pending, in_progress, completed, cancelled."


def former(ctx: Bench, call_id: str, output: str) -> None:
    ctx.results.append((ToolResult(call_id, "bash", "success", "cut", title=f"$ run {call_id}"), output))


def test_a_former_result_comes_back_whole_by_its_id(call: Call, ctx: Bench) -> None:
    former(ctx, "call_7", "\n".join(f"line {n}" for n in range(1, 4001)))
    outcome = call("recall", id="call_7")
    assert outcome.output.startswith("[bash: $ run call_7, success]\nline 1\n")
    assert outcome.output.endswith("\nline 2000\n[2,000 more lines; go on with offset=2001]")
    part = call("recall", id="call_7", offset=3999)
    assert part.output.split("\n")[1:] == ["line 3999", "line 4000"]
    hits = call("recall", id="call_7", pattern="00$", offset=3800, limit=2)
    assert hits.output.split("\n")[1:] == [
        "3800\tline 3800",
        "3900\tline 3900",
        "[1 more line; go on with offset=4000]",
    ]


def test_the_numbers_that_a_read_has_are_not_put_before_a_second_time(call: Call, ctx: Bench) -> None:
    metadata = {"path": "a.py", "lines": [7, 8]}
    ctx.results.append((ToolResult("r", "read", "success", "", metadata=metadata), "7\tdef\n8\treturn"))
    assert call("recall", id="r").output.split("\n")[1:] == ["7\tdef", "8\treturn"]
    assert call("recall", id="r", pattern="ret").output.split("\n")[1:] == ["8\treturn"]


def test_a_recalled_result_is_limited_in_bytes(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(read_bytes=1_000)
    former(ctx, "c", "\n".join("x" * 100 for _ in range(100)))
    outcome = call("recall", id="c")
    assert outcome.truncated
    assert len(outcome.output) < 1_200


def test_a_pattern_that_would_never_end_is_given_up(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(pattern_seconds=0.2)
    former(ctx, "c", "a" * 60 + "!")
    begun = time.monotonic()
    for given in ({"id": "c"}, {}):
        outcome = call("recall", pattern="(a+)+$", **given)
        assert "takes longer than 0.2 s" in outcome.output
    assert time.monotonic() - begun < 30
    assert "aaa" in call("recall", id="c", pattern="a+").output


def test_all_former_results_are_searched_by_pattern(call: Call, ctx: Bench) -> None:
    former(ctx, "a", "ok\n" + "Error: one\n" * 7)
    former(ctx, "b", "nothing")
    former(ctx, "c", "Error: two")
    assert call("recall", pattern="Error: \\w+").output.split("\n") == [
        "a bash: $ run a",
        *(f"  {n}: Error: one" for n in range(2, 7)),
        "  … 2 more lines",
        "c bash: $ run c",
        "  1: Error: two",
    ]
    assert call("recall", pattern="nowhere").output == "No former result matches."
    assert call("recall").status == "error"
    assert call("recall", id="zz").status == "error"
    assert call("recall", pattern="(").status == "error"


def test_questions_go_to_the_user_and_answers_come_back(call: Call, ctx: Bench) -> None:
    ctx.answers = ["SQLite", ""]
    options = [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}]
    asked = [
        {"question": "Which database?", "header": "DB", "options": options},
        {"question": "Why?", "multiSelect": True},
    ]
    outcome = call("ask_user", questions=asked)
    assert outcome.output == "Which database?\n→ SQLite\nWhy?\n→ (no answer)"
    assert ctx.asked == [
        Question("Which database?", "DB", (Choice("SQLite", "one file"), Choice("Postgres"))),
        Question("Why?", multiple=True),
    ]


def test_without_anybody_to_ask_the_model_is_told_to_decide(call: Call, ctx: Bench) -> None:
    outcome = call("ask_user", questions=[{"question": "Which?"}])
    assert outcome.status == "denied"
    assert outcome.title == "Ask: Which?"


def test_an_approved_plan_leaves_plan_mode(call: Call, ctx: Bench) -> None:
    left: list[str] = []

    async def leave(plan: str) -> bool:
        left.append(plan)
        return len(left) == 1

    ctx.leave_plan = leave
    outcome = call("exit_plan", plan="# Move the parser\n\n1. …")
    assert outcome.title == "Plan ready: Move the parser"
    assert outcome.status == "success"
    assert left == ["# Move the parser\n\n1. …"]
    assert call("exit_plan", plan="again").output == "You are not in plan mode; go on."
    assert call("exit_plan", plan=" ").status == "error"


def test_a_task_is_given_to_whoever_runs_subagents(call: Call, ctx: Bench) -> None:
    async def delegate(call_id: str, description: str, prompt: str, agent: str) -> ToolOutput:
        return ToolOutput(f"{call_id} {description} {prompt} {agent}")

    given = {"description": "find it", "prompt": "Where?", "agent": "explore"}
    assert call("task", **given).status == "error"
    ctx.spawn = delegate
    assert call("task", **given).output == "c1 find it Where? explore"


def test_a_question_that_is_declined_is_told_apart_from_one_that_nobody_could_hear(call: Call, ctx: Bench) -> None:
    questions = [{"question": "Which database?", "options": [{"label": "SQLite"}]}]
    told = []
    for answers in (None, []):
        ctx.answers = answers
        outcome = call("ask_user", questions=questions)
        assert outcome.status == "denied"
        told.append(outcome.output.partition(". ")[0])
    assert told == ["Nobody is there to answer", "The user declined to answer"]
