"""Approvals and questions, answered by a function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentcli
from tests.frontends.python.embedded import calls, options, workspace
from tests.tables import each_row

COMMAND = calls("bash", command="touch made.txt")
QUESTIONS = calls(
    "ask_user",
    questions=[
        {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}, {"label": "blue"}]},
        {
            "question": "Which sizes?",
            "header": "Sizes",
            "multiSelect": True,
            "options": [{"label": "S"}, {"label": "L"}],
        },
    ],
)


def outcome(tmp_path: Path, on_ask: Callable[[Any], Any], *replies: Any) -> list[agentcli.ToolResultEvent]:
    async def main() -> list[agentcli.AnyEvent]:
        given = options(tmp_path, *replies, "done", on_ask=on_ask)
        return [event async for event in agentcli.query("hi", **given)]

    events = asyncio.run(main())
    assert isinstance(events[-1], agentcli.Result)
    assert events[-1].text == "done"
    return [event for event in events if isinstance(event, agentcli.ToolResultEvent)]


def test_a_function_approves_calls_and_sees_what_would_be_done(tmp_path: Path) -> None:
    asked: list[agentcli.Approval] = []

    def yes(approval: agentcli.Approval) -> bool:
        asked.append(approval)
        return True

    (workspace(tmp_path) / "a.txt").write_text("old\n")
    edit = calls("edit", file_path="a.txt", old_string="old", new_string="new")
    results = outcome(tmp_path, yes, calls("read", file_path="a.txt"), edit, COMMAND)
    assert [result.status for result in results] == ["success"] * 3
    assert [(one.name, one.kind) for one in asked] == [("edit", "diff"), ("bash", "command")]
    assert "+new" in asked[0].preview
    assert asked[1].preview == asked[1].input["command"] == "touch made.txt"
    assert (workspace(tmp_path) / "made.txt").exists()


@pytest.mark.parametrize("answer", [False, None, agentcli.Deny("not today")])
def test_a_no_is_a_denial_whose_reason_the_model_gets(answer: Any, tmp_path: Path) -> None:
    async def no(_: object) -> Any:
        await asyncio.sleep(0)
        return answer

    [result] = outcome(tmp_path, no, COMMAND)
    assert result.status == "denied"
    assert ("not today" in result.output) == isinstance(answer, agentcli.Deny)


def test_an_approval_for_the_session_is_not_asked_for_again(tmp_path: Path) -> None:
    asked = []

    def session(approval: object) -> str:
        asked.append(approval)
        return "session"

    results = outcome(tmp_path, session, COMMAND, COMMAND)
    assert ([result.status for result in results], len(asked)) == (["success"] * 2, 1)


def fails(_: object) -> bool:
    raise LookupError("nobody home")


def nonsense(_: object) -> int:
    return 3


@pytest.mark.parametrize(("on_ask", "text"), [(fails, "LookupError: nobody home"), (nonsense, "on_ask answered 3")])
@each_row("reply", [COMMAND, QUESTIONS])
def test_an_exception_in_the_function_is_an_error_of_the_call_and_no_crash(
    on_ask: Callable[[object], Any], text: str, reply: Any, tmp_path: Path
) -> None:
    [result] = outcome(tmp_path, on_ask, reply)
    assert result.status == ("denied" if reply is COMMAND else "error")
    assert text in result.output
    assert not (workspace(tmp_path) / "made.txt").exists()


def test_a_call_that_the_function_failed_to_judge_is_among_the_denials_of_the_result(tmp_path: Path) -> None:
    result = asyncio.run(agentcli.run("hi", **options(tmp_path, COMMAND, "done", on_ask=fails)))
    assert [(denial.name, denial.input) for denial in result.permission_denials] == [
        ("bash", {"command": "touch made.txt"})
    ]


def test_a_function_answers_questions_each_by_itself(tmp_path: Path) -> None:
    def answer(question: agentcli.Question) -> Any:
        labels = [choice.label for choice in question.choices]
        return labels if question.multiple else labels[-1]

    [result] = outcome(tmp_path, answer, QUESTIONS)
    assert result.status == "success"
    assert "blue" in result.output
    assert "S, L" in result.output


def test_a_question_that_is_not_answered_is_declined(tmp_path: Path) -> None:
    [declined] = outcome(tmp_path, lambda _: None, QUESTIONS)
    assert "declined" in declined.output or "no answer" in declined.output.lower()
