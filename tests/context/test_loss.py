"""What leaves the view is priced: by age, by kind, and by whether it is out of date."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.compaction_settings import LossSettings
from agentcli.context.loss import expected_recalls, faded, is_worth, open_question, phase_end, priced, recall_cost
from agentcli.context.policies import plan, plan_prune
from agentcli.context.policies.plans import Plan
from agentcli.context.pruning.plan import Pressure
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import after, view
from agentcli.context.window import Window, limits_of, window_of
from agentcli.core.codec.decode import decode
from agentcli.core.codec.encode import encode
from agentcli.core.history import fold
from agentcli.core.message import Usage
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Record
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

MODEL = ModelSpec("demo", "main", window=200_000, max_output=8_000, prices=Prices(5, 25, 0.5, 6.25))
LOSS = LossSettings(half_life=100, output_chance=0.01)


def window(story: Story, loss: LossSettings = LOSS, **settings: float) -> Window:
    rules = replace(ContextSettings(**settings), loss=loss)  # type: ignore[arg-type]
    return window_of(view(fold(story.records)), MODEL, TokenCounter(), rules, TRAITS)


def long_work(ending: str = "pytest -q", answer: str = "") -> Story:
    """Forty files read in one turn, then a command; with an answer, the next prompt waits."""
    story = Story()
    story.user("Look at all of it.")
    for n in range(40):
        story.does("read", f"line of {n}\n" * 400, text=f"File {n} next.", file_path=f"src/f{n}.py")
    story.runs(ending, "ok")
    if answer:
        story.says(answer, usage=Usage(input=70_000))
        story.user("go on")
    return story


def test_a_chance_halves_with_each_half_life() -> None:
    assert faded(0.4, 0, LOSS) == 0.4
    assert faded(0.4, 200, LOSS) == pytest.approx(0.1)


def test_what_is_short_or_likely_to_be_wanted_is_worth_its_tokens() -> None:
    loss = priced(window(Story()))
    assert is_worth(100, 0.001, loss)
    assert not is_worth(1_000, 0.001, loss)
    assert not is_worth(100, 0.0001, loss)


def test_a_recall_and_a_token_carried_are_priced_as_the_model_is() -> None:
    by_model = priced(window(Story()))
    assert (by_model.recall_price, by_model.carry_price) == (25_000 * 0.1 + 80 * 5 + 1_000 * 1.25, 0.1)
    uncached = replace(window(Story()), limits=limits_of(replace(MODEL, prices=Prices(1, 2)), ContextSettings()))
    assert (priced(uncached).recall_price, priced(uncached).carry_price) == (25_000 + 80 * 2 + 1_000, 1.0)
    chosen = LossSettings(recall_price=9.0, carry_price=0.5)
    assert priced(window(Story(), chosen)) == chosen
    small = replace(
        window(Story()), limits=limits_of(replace(MODEL, window=24_000, max_output=6_000), ContextSettings())
    )
    assert priced(small).names_tokens == 0


def test_a_recall_costs_a_request_more() -> None:
    story = long_work()
    assert recall_cost(10_000, window(story)) == pytest.approx(10_000 * 0.1 + 80 * 5 + 1_000 * 1.25)


def test_a_cleared_output_of_a_command_still_says_how_it_ended() -> None:
    story = Story()
    story.user("go")
    failed = story.runs(
        "pytest -q", "frame\n" * 2_000 + "E   ValueError: expected 3, got 4\n1 failed, 20 passed in 1s", 1
    )
    story.reads("a.py", "x\n" * 2_000)
    story.runs("pytest -q", "21 passed in 1s")
    prune, _ = plan_prune(window(story), Pressure(forced=True))
    assert prune
    assert prune.call_ids == (failed.call_id,)
    assert "ValueError: expected 3, got 4" in prune.outcomes[failed.call_id]
    shown = after(fold(story.records), prune)
    [cleared] = [block.part for block in shown.blocks if block.cleared]
    assert "1 failed, 20 passed" in cleared.output  # type: ignore[union-attr]
    assert decode(encode(Record(9, "r9", "", "", prune))).body == prune


def test_what_is_out_of_date_is_never_wanted_again() -> None:
    story = Story()
    story.user("go")
    story.reads("a.py")
    story.reads("b.py")
    every = [record.seq for record in story.records]
    before = expected_recalls(window(story), every)
    assert 0.019 < before <= 0.02
    story.edits("a.py")
    assert expected_recalls(window(story), every) < 0.6 * before


def test_less_is_lost_at_the_end_of_a_phase() -> None:
    gone = range(2, 60)
    going, ended = window(long_work()), window(long_work("git commit -m x"))
    assert expected_recalls(ended, gone) == pytest.approx(LOSS.phase_share * expected_recalls(going, gone))


DEFAULT = LossSettings()


def due(story: Story, loss: LossSettings = DEFAULT) -> Plan:
    return plan(window(story, loss))


def test_also_at_the_soft_mark_a_question_is_answered_first_but_not_at_the_hard_one() -> None:
    story = long_work(answer="(A) or (B)?")
    seen = window(story).view
    size = TokenCounter().prompt(seen)

    def trigger(soft: float, hard: float) -> str | None:
        return plan(window(story, soft=soft, hard=hard)).trigger

    share = size / window(story).usable
    assert trigger(share / 2, 1.0) is None
    assert trigger(share / 3, share / 2) == "hard"


def test_the_end_of_a_phase_is_a_moment_between_two_steps() -> None:
    middle, end = due(long_work()), due(long_work("git commit -m x"))
    assert middle.trigger is None
    assert end.optional
    assert end.phase == "a commit was made"
    assert end.is_due(boundary=False)
    assert due(long_work("git commit -m x"), LossSettings(phases=False)).trigger is None


def test_recalls_that_cost_more_than_is_saved_are_no_bargain() -> None:
    story = long_work(answer="Done.")
    assert due(story, LossSettings(output_chance=0.5)).trigger is None
    assert due(story, LossSettings(output_chance=0.5, enabled=False)).optional


def test_prices_that_are_not_set_come_from_the_model_and_others_stay() -> None:
    made = priced(window(long_work(), LossSettings(prompt_tokens=25_000, call_tokens=80, recalled_tokens=1_000)))
    assert (made.recall_price, made.carry_price) == (pytest.approx(2_500 + 400 + 1_250), pytest.approx(0.1))
    own = priced(window(long_work(), LossSettings(recall_price=7.0, carry_price=0.5)))
    assert (own.recall_price, own.carry_price) == (7.0, 0.5)


def test_an_empty_view_expects_no_recall() -> None:
    assert expected_recalls(window(Story()), []) == 0


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
