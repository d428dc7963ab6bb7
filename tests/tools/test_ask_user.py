"""The tools that touch no file: todo, ask_user."""

from __future__ import annotations

import pytest

from agentcli.core.record import TodoItem
from agentcli.core.tool import Choice, Question
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


@pytest.mark.parametrize("questions", ["Which database?", ["Which database?"], [{"question": "Which database?"}]])
def test_a_question_may_be_a_plain_text(call: Call, ctx: Bench, questions: object) -> None:
    ctx.answers = ["SQLite"]
    assert call("ask_user", questions=questions).output == "Which database?\n→ SQLite"


def test_a_question_that_is_declined_is_told_apart_from_one_that_nobody_could_hear(call: Call, ctx: Bench) -> None:
    questions = [{"question": "Which database?", "options": [{"label": "SQLite"}]}]
    told = []
    for answers in (None, []):
        ctx.answers = answers
        outcome = call("ask_user", questions=questions)
        assert outcome.status == "denied"
        told.append(outcome.output.partition(". ")[0])
    assert told == ["Nobody can answer: decide, and say what you assumed.", "The user declined to answer"]
