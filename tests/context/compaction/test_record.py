"""The record of a compaction, made of a plan and a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentcli.context.compaction.record import Summary, SummaryTask, clipped_parts, prepare, shrinkage, to_record
from agentcli.context.policies.plans import Plan
from agentcli.context.settings import AutoSettings, ContextSettings, SnapshotSettings
from agentcli.context.snapshot.form import Snapshot
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import view
from agentcli.context.window import Window, window_of
from agentcli.core.history import History, fold
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.record import Carry, Compaction, Prune, Trigger, VerbatimText
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

MODEL = ModelSpec("demo", "demo", window=200_000, max_output=32_000)


def task_of(story: Story, plan: Plan, settings: ContextSettings | None = None, **model: Any) -> SummaryTask:
    history = fold(story.records)
    return prepare(plan, history, window(history, settings, **model), "/w")


def window(history: History, settings: ContextSettings | None = None, **model: Any) -> Window:
    seen, counter = view(history), TokenCounter(Chars4())
    return window_of(seen, replace(MODEL, **model), counter, settings or ContextSettings(), TRAITS)


def plan(*summarised: int, **more: Any) -> Plan:
    return Plan("auto", "manual", summarised=summarised, **more)


def prompts(*texts: str) -> Story:
    story = Story()
    for text in texts:
        story.user(text)
        story.says("ok")
    return story


@each_row(
    ("texts", "goal"),
    [
        (["Fix the tests."], "Fix the tests."),
        (["ok", "Fix the tests."], "Fix the tests."),
        (["fix it", "Please fix it."], "Please fix it."),
        (["fix it"], "fix it"),
        (["fix it", "go on"], "fix it"),
        (["/init the whole thing", "Please fix it."], "Please fix it."),
        (["/init"], "/init"),
        (["/src/a.py is broken here"], "/src/a.py is broken here"),
        (["テストを直す"], "テストを直す"),
        (["テスト直す", "Please fix it."], "Please fix it."),
        (["Please\n  fix   it."], "Please fix it."),
        (["one two " + "x" * 292], "one two " + "x" * 292),
        (["one two " + "x y" * 100], ("one two " + "x y" * 100)[:299] + "…"),
    ],
)
def test_the_goal_is_the_first_prompt_in_words(texts: list[str], goal: str) -> None:
    story = prompts(*texts)
    assert task_of(story, plan(*range(1, len(story.records) + 1))).goal == goal


def test_words_that_were_carried_come_before_those_that_go_now() -> None:
    story = prompts("Fix the old tests.", "Fix the new ones.")
    words = (VerbatimText(1, 1, "Fix the old tests."),)
    story.add(Compaction("manual", "compressed", "auto", (1, 2), 3, "<state_snapshot/>", user_words=words))
    story.user("And now these.")
    task = task_of(story, plan(3, 4))
    assert task.goal == "Fix the old tests."
    assert [words.seq for words in task.user_texts] == [1, 3]


def compaction(**more: Any) -> Compaction:
    return Compaction("auto", "compressed", "auto", (2, 4), 5, "<state_snapshot>old</state_snapshot>", **more)


def compacted(**more: Any) -> Story:
    """Four records that were compacted (the fifth), and two that came later."""
    story = prompts("Fix the tests.", "And the others.")
    story.add(compaction(**more))
    story.user("Now this one.")
    story.says("ok")
    return story


@each_row(
    ("summarised", "former", "covers"),
    [
        ((), None, (0, 0)),
        ((3, 1, 2), None, (1, 3)),
        ((6, 7), {}, (2, 7)),
        ((6, 7), {"stands_for": (1, 4)}, (1, 7)),
        ((), {"stands_for": (1, 4)}, (1, 0)),
    ],
)
def test_a_snapshot_covers_what_the_one_before_it_stood_for(
    summarised: tuple[int, ...], former: dict[str, Any] | None, covers: tuple[int, int]
) -> None:
    story = prompts("Fix the tests.", "And the others.") if former is None else compacted(**former)
    assert task_of(story, plan(*summarised)).covers == covers


def test_a_former_summary_in_free_form_counts_as_knowledge() -> None:
    assert task_of(prompts("Fix the tests."), plan(1)).former_snapshot is None
    free = replace(compaction(), snapshot="- One fact.\n- Another.")
    for body, knowledge in ((compaction(), ()), (free, ("One fact.", "Another."))):
        story = prompts("Fix the tests.", "And the others.")
        story.add(body)
        former = task_of(story, plan()).former_snapshot
        assert isinstance(former, Snapshot)
        assert former.knowledge == knowledge


def recorded(
    story: Story, made: Plan, trigger: Trigger = "auto", summary: Summary | None = None, **model: Any
) -> Compaction:
    return to_record(task_of(story, made, **model), summary or Summary("<state_snapshot>new</state_snapshot>"), trigger)


def test_a_record_says_what_is_kept_and_what_goes() -> None:
    story = prompts("Fix the tests.", "And the others.", "And these.")
    body = recorded(story, plan(1, 2, split=3, cleared=("a", "b"), clipped=("b",), cleared_inputs=("c",)))
    assert (body.covers, body.kept_from, body.kept, body.stands_for) == ((1, 2), 3, (), (1, 2))
    assert (body.cleared, body.cleared_inputs, body.policy, body.trigger) == (("a",), ("c",), "auto", "auto")
    assert (body.snapshot, body.status, body.note) == ("<state_snapshot>new</state_snapshot>", "compressed", "")
    whole = recorded(story, plan(1, 2, 3, 4, 5, 6))
    assert (whole.kept_from, whole.covers) == (7, (1, 6))
    primers = recorded(story, plan(3, 4, split=5, primers=(1, 2)))
    assert (primers.kept_from, primers.kept) == (5, (1, 2))


def test_if_nothing_is_summarised_what_stood_before_stays() -> None:
    bare = recorded(prompts("Fix the tests."), plan(), summary=Summary())
    assert (bare.kept_from, bare.kept, bare.snapshot, bare.covers, bare.stands_for) == (1, (), "", (0, 0), (0, 0))
    story = compacted(stands_for=(1, 4), kept=(1, 2))
    body = recorded(story, plan(), summary=Summary())
    assert (body.kept_from, body.kept, body.stands_for) == (5, (1, 2), (1, 4))
    assert body.snapshot == "<state_snapshot>old</state_snapshot>"
    new = recorded(story, plan(6, 7, split=8), summary=Summary("new"))
    assert (new.kept_from, new.kept, new.snapshot, new.stands_for) == (8, (), "new", (1, 7))
    free = replace(compaction(), policy="opencode")
    story = prompts("Fix the tests.", "And the others.")
    story.add(free)
    assert recorded(story, plan(), summary=Summary()).policy == "opencode"
    story.user("More of it.")
    assert recorded(story, plan(6)).policy == "auto"


def test_replaced_outputs_stay_while_they_are_in_view() -> None:
    story = Story()
    story.user("Read them.", Text("note", True, "reminder"))
    for name in "abc":
        story.reads(name)
    replaced = {"call_1": "a in short", "gone": "x", "#1": "note in short"}
    story.add(Compaction("auto", "compressed", "regions", kept_from=1, replaced=replaced))
    story.says("ok")
    body = recorded(story, plan(), summary=Summary(replaced={"call_2": "b in short"}))
    assert body.replaced == {"call_1": "a in short", "#1": "note in short", "call_2": "b in short"}


@pytest.mark.parametrize("preserved", [False, True])
def test_thoughts_go_as_far_as_former_edits_dropped_them_or_all_if_they_are_bound(preserved: bool) -> None:
    story = prompts("Fix the tests.", "And the others.")
    for dropped in (0, 3, 2):
        story.add(Prune((), 5, "x", dropped))
    body = recorded(story, plan(1, 2, split=3), preserved_thinking=preserved)
    assert body.drop_thinking_before == (8 if preserved else 3)


@each_row(
    ("last", "trigger", "continues"),
    [
        ("result", "auto", True),
        ("call", "auto", True),
        ("answer", "auto", False),
        ("prompt", "auto", False),
        ("result", "manual", False),
        ("result", "overflow", True),
        ("nothing", "auto", False),
    ],
)
def test_work_goes_on_after_a_compaction_in_the_middle_of_it(last: str, trigger: Trigger, continues: bool) -> None:
    story = Story()
    if last != "nothing":
        story.user("Fix the tests.")
    if last == "answer":
        story.says("ok")
    if last == "result":
        story.reads("a")
    if last == "call":
        story.says("", story.call("read", file_path="a"))
    assert recorded(story, plan(1) if story.records else plan(), trigger).continues is continues


def test_what_a_session_carries_is_carried_on() -> None:
    story = prompts("Fix the tests.")
    story.records[1] = replace(story.records[1], body=replace(story.records[1].body, model="other"))  # type: ignore[type-var]
    carry = recorded(story, plan(1, 2)).carry
    assert isinstance(carry, Carry)
    assert carry == fold(story.records).carry


def test_an_output_that_is_clipped_keeps_three_characters_for_each_of_its_tokens() -> None:
    story = Story()
    story.user("Read them.")
    story.reads("a", "x" * 30)
    story.reads("b", "y" * 31)
    story.reads("c", "z" * 31)
    settings = ContextSettings(auto=AutoSettings(clipped=10))
    cut = clipped_parts(task_of(story, plan(clipped=("call_1", "call_2")), settings))
    assert set(cut) == {"call_1", "call_2"}
    assert cut["call_1"] == "x" * 30 + '\n[recall(id="call_1") shows all of it]'
    assert "y" * 31 not in cut["call_2"]
    assert cut["call_2"].endswith('\n[recall(id="call_2") shows all of it]')


def test_a_cleared_part_is_shown_to_the_summariser_by_its_ends() -> None:
    story = Story()
    story.user("Write them.")
    story.does("write", "w" * 50, file_path="a.py", content="x" * 50, mode=3)
    story.does("read", "r" * 20, file_path="b.py")
    story.add(Prune(("call_1", "call_2"), 5, "x", inputs=("call_1",)))
    settings = ContextSettings(snapshot=SnapshotSettings(cleared_characters=20))
    task = task_of(story, plan(1, 2, 3, 4, 5), settings)
    shown = [block.part for message in task.gone for block in message.blocks]
    outputs = [part.output for part in shown if isinstance(part, ToolResult)]
    assert outputs[1] == "r" * 20
    assert "characters left out" in outputs[0]
    assert "w" * 50 not in outputs[0]
    call = next(call for message in task.gone for call in message.calls)
    assert (call.input["file_path"], call.input["mode"]) == ("a.py", 3)
    assert "characters left out" in call.input["content"]


def test_only_the_records_of_a_plan_go() -> None:
    story = Story()
    story.user("Read them.")
    story.reads("a")
    story.reads("b")
    task = task_of(story, plan(2, 3))
    assert [block.seq for message in task.gone for block in message.blocks] == [2, 3]
    regions = task_of(story, Plan("regions", "manual", regions=(("call_2",),)))
    assert [block.seq for message in regions.gone for block in message.blocks] == [5]
    assert task.ledger.through == 3
    assert task.ledger.cwd == "/w"


@each_row(("later", "share"), [(0, 1.0), (5, 0.5), (10, 0.0), (20, -1.0), (-1, None)])
def test_a_prompt_shrinks_by_the_share_that_is_gone(later: int, share: float | None) -> None:
    history = fold([*Story().records, Story().user("x" * 40)])
    assert shrinkage(window(history), later) == share
    assert shrinkage(window(fold([])), later) is None
    assert isinstance(history.entries[0].body, Message)


def test_the_decisions_of_a_snapshot_take_no_more_than_a_part_of_the_window() -> None:
    story = prompts("Fix the tests.")
    characters = [
        task_of(story, plan(1), window=size, max_output=1_000).form.decision_characters
        for size in (13_000, 145_000, 145_013, 200_000)
    ]
    assert characters == [1_000, 12_000, 12_000, 12_000]


def test_without_carried_words_the_goal_is_in_what_goes() -> None:
    story = Story()
    story.user("Fix the tests.", Text("Do not fix the tests.", True, "reminder"))
    story.says("I shall fix all of it.")
    task = task_of(story, Plan("gemini", "manual", summarised=(1, 2)))
    assert (task.user_words, task.goal) == ((), "Fix the tests.")
    assert [words.text for words in task.user_texts] == ["Fix the tests."]
