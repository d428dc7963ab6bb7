"""The end of a phase is seen in what was done; an open question in what was asked."""

from __future__ import annotations

from agentcli.context.loss.phases import open_question, phase_end
from agentcli.context.view import view
from agentcli.core.history import fold
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row


def at_work() -> Story:
    story = Story()
    story.user("Please mend the parser.")
    story.reads("src/parser.py")
    return story


def end_of(story: Story) -> str:
    return phase_end(view(fold(story.records)), TRAITS)


def test_the_middle_of_the_work_is_no_end() -> None:
    story = at_work()
    story.runs("pytest -q", "1 failed", exit_code=1)
    assert end_of(story) == ""
    assert end_of(Story()) == ""


def test_a_commit_ends_a_phase_until_the_next_step() -> None:
    story = at_work()
    story.runs('cd /w && git commit -am "Mend the parser"', "1 file changed")
    assert end_of(story) == "a commit was made"
    story.reads("src/lexer.py")
    assert end_of(story) == ""


def test_a_commit_that_failed_ends_nothing() -> None:
    story = at_work()
    story.runs("git commit -m x", "nothing to commit", exit_code=1)
    assert end_of(story) == ""


def test_a_phase_that_ended_with_the_last_turn_has_ended_when_the_next_begins() -> None:
    story = at_work()
    story.runs("git commit -m x", "1 file changed")
    story.says("Committed.")
    story.user("Thanks. The lexer is slow.")
    assert end_of(story) == "a commit was made"
    story.reads("src/lexer.py")
    assert end_of(story) == ""


def test_a_list_with_everything_done_ends_a_phase() -> None:
    story = at_work()
    story.does("todo", "ok", todos=[{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}])
    assert end_of(story) == ""
    story.does("todo", "ok", todos=[{"content": "a", "status": "completed"}, {"content": "b", "status": "completed"}])
    assert end_of(story) == "the todo list is done"


def test_tests_that_pass_after_they_failed_end_a_phase() -> None:
    story = at_work()
    story.runs("pytest -q", "3 passed")
    assert end_of(story) == ""
    story.runs("pytest -q", "1 failed", exit_code=1)
    story.edits("src/parser.py")
    story.runs("pytest -q", "3 passed")
    assert end_of(story) == "the tests pass again"


@each_row(
    "text", ["New task: the docs.", "something else now", "/clear", "Let's move on to the docs", "Neues Thema: Doku"]
)
def test_a_new_subject_ends_a_phase_and_closes_a_question(text: str) -> None:
    story = at_work()
    story.says("Shall I go on?")
    story.user(text)
    assert end_of(story) == "the subject changes"
    assert not open_question(view(fold(story.records)))


@each_row(
    ("answer", "is_open"),
    [
        ("(A) or (B). Which one?", True),
        ("**Which one?**", True),
        ("どちらですか？", True),
        ("Done. Was it hard? No.", False),
        ("Done.", False),
    ],
)
def test_a_question_is_open_while_the_prompt_that_answers_it_waits(answer: str, is_open: bool) -> None:
    story = at_work()
    story.says(answer)
    story.user("take B")
    assert open_question(view(fold(story.records))) is is_open
    story.reads("b.py")
    assert not open_question(view(fold(story.records)))
