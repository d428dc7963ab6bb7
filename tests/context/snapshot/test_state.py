"""A snapshot says how the work stands now, each fact once: what something newer covers, or the view shows, is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.agent.compaction.run import without_model
from agentcli.context.compaction.record import SummaryTask, prepare
from agentcli.context.ledger.ledger import CommandFact, Ledger, TestFact
from agentcli.context.policies.plans import Plan, compactable, seqs
from agentcli.context.settings import ContextSettings
from agentcli.context.snapshot.form import Snapshot, render
from agentcli.context.snapshot.state import Shown, state_only, without_todo
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import view
from agentcli.context.window import window_of
from agentcli.core.history import fold
from agentcli.core.record import TodoItem, VerbatimText
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import MAIN
from tests.context.story import Story


def task_of(story: Story, kept: int) -> SummaryTask:
    """Return the task to summarise all but the newest `kept` messages."""
    history = fold(story.records)
    window = window_of(view(history), MAIN, TokenCounter(), ContextSettings(), TRAITS)
    messages = compactable(window.view)
    gone, stays = messages[: len(messages) - kept], messages[len(messages) - kept :]
    plan = Plan("auto", "manual", split=stays[0].seq if stays else None, summarised=seqs(gone))
    return prepare(plan, history, window, "/w")


def shown(task: SummaryTask, snapshot: Snapshot) -> Snapshot:
    return state_only(snapshot, task.shown)


def green_later() -> Story:
    story = Story()
    story.user("Mend the lists. Never touch vendor/.")
    story.runs("pytest -q", "FAILED t.py::test_lists - boom\n1 failed, 2 passed in 0.1s", 1)
    story.edits("/w/lists.py")
    story.runs("pytest -q", "3 passed in 0.1s")
    return story


def test_what_a_newer_run_turned_green_is_red_no_longer() -> None:
    known = Snapshot(knowledge=("Still failing: test_lists, with boom.", "test_lists reads the cache twice."))
    assert shown(task_of(green_later(), 2), known).knowledge == ("test_lists reads the cache twice.",)
    assert shown(task_of(green_later(), 0), known).knowledge == ("test_lists reads the cache twice.",)


def test_the_last_run_is_told_only_where_no_kept_step_shows_it() -> None:
    assert shown(task_of(green_later(), 2), Snapshot()).actions == ()
    assert shown(task_of(green_later(), 0), Snapshot()).actions == (
        "Last test run: `pytest -q` passed: 3 passed in 0.1s",
    )


def test_only_the_newest_result_of_each_build_is_an_action() -> None:
    story = green_later()
    story.runs("make build 2>&1 | tail -3", "error: no rule", 2)
    story.runs("cat > a.txt <<'EOF'\nlast line\nEOF", "")
    story.runs("make build", "built")
    task = task_of(story, 0)
    from_log = replace(
        task.former_snapshot or Snapshot(), actions=("`ls` → exit 0: a.txt [#3]", "Asked for the key [#4]")
    )
    assert shown(task, from_log).actions == (
        "Asked for the key [#4]",
        "`make build` → exit 0: built [#13]",
        "Last test run: `pytest -q` passed: 3 passed in 0.1s",
    )


def test_a_file_that_was_only_read_is_told_with_a_remark_alone() -> None:
    files = ("CWD: `/w`", "MODIFIED: `a.py` (+1 -0) [#4]", "READ: `b.py` (9 lines) [#5]", "READ: `c.py` - parses [#6]")
    more = ("More in `x/`: 3 READ; recall names them", "More in `y/`: 3 READ, 1 MODIFIED; recall names them")
    left = (*files[:2], files[3], "More in `y/`: 1 MODIFIED; recall names them")
    assert state_only(Snapshot(files=(*files, *more)), Shown(Ledger())).files == left


def test_each_rule_and_each_prompt_is_said_once() -> None:
    rule = VerbatimText(1, 1, "Never touch vendor/.")
    told = Snapshot(
        goal="Mend the lists.",
        rules=(rule,),
        knowledge=('The user said (turn 1): "Never touch vendor/."', "never touch vendor/", "The lists are linked."),
        plan=("[TODO] Mend the lists", "[TODO] Release"),
    )
    left = state_only(told, Shown(Ledger(), ("Mend the lists. Never touch vendor/.",)))
    assert (left.goal, left.rules, left.knowledge) == ("", (rule,), ("The lists are linked.",))
    assert left.plan == ("[TODO] Release",)
    assert render(left, shells=False).count("vendor") == 1
    for words, rules in (
        (VerbatimText(1, 1, "Mend the lists.  Never touch\nvendor/. Go."), ()),
        (VerbatimText(1, 1, "Mend the lists. … [record #1 holds all of it]"), (rule,)),
        (VerbatimText(9, 3, "Why did I say: Never touch vendor/.?"), (rule,)),
    ):
        assert state_only(told, Shown(Ledger(), (words.text,), typed=(words,))).rules == rules, words
    listed = Ledger(todo=(TodoItem("Mend the lists"),))
    assert state_only(told, Shown(listed, ("Mend the lists.",))).plan == told.plan, "the todo list stays whole"


def test_steps_of_a_former_todo_list_do_not_come_back_as_open() -> None:
    plan = ("[TODO] Write it", "[DONE] Look", "[TODO] Ask for the key [#4]")
    assert without_todo(plan, (TodoItem("Write it"),)) == ("[TODO] Ask for the key [#4]",)


def test_an_answer_that_is_carried_is_not_told_again_as_report_or_decision() -> None:
    story = green_later()
    answer = "I keep the lock in `lists.py`, because two processes may write 4,096 entries."
    story.says(answer)
    story.user("Go on.")
    task = task_of(story, 1)
    text = without_model(task, brief_of(task)).text
    assert task.answer is not None
    assert task.answer.text == answer
    assert "two processes" not in text


def brief_of(task: SummaryTask):  # type: ignore[no-untyped-def]
    from agentcli.agent.compaction.snapshot import Brief

    return Brief(task.window, MAIN)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("make lint", True),
        ("npm run typecheck", True),
        ("uv run ruff check .", True),
        ("git status", False),
        ("ls make", False),
    ],
)
def test_builds_and_inspections_are_checks_and_looking_is_not(command: str, told: bool) -> None:
    now = Ledger(commands=(CommandFact(command, last=2),), tests=TestFact("pytest", False, "1 passed", last=1))
    assert any(command in line for line in state_only(Snapshot(), Shown(now)).actions) is told


def test_a_decision_stays_though_a_result_beside_it_is_out_of_date_and_is_told_once() -> None:
    said = "I keep `Ring` because `deque` lost the order. The tests of `Ring` pass. It holds 64 items."
    left = "I keep `Ring` because `deque` lost the order. It holds 64 items."
    told = Snapshot(
        knowledge=("`Ring` is kept, because `deque` lost the order. [#4]", "`Ring` is in ring.py. [#4]"),
        decisions=(VerbatimText(4, 1, said),),
    )
    short = state_only(told, Shown(Ledger(tests=TestFact("pytest", True, "3 failed in 0.1s"))))
    assert [each.text for each in short.decisions] == [left]
    assert short.knowledge == told.knowledge[1:]
