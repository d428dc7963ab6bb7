"""Properties of every compaction of any session, whatever the summariser says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcli.context.compaction.carryover import former_compaction
from agentcli.context.invariants import check
from agentcli.context.policies import plan
from agentcli.context.settings import POLICIES, PolicyName
from agentcli.context.snapshot.form import parse
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View
from agentcli.context.window import window_of
from agentcli.core.errors import ModelError
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Compaction
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import (
    ANY,
    EAGER,
    MAIN,
    REPLIES,
    Answers,
    compress,
    ended,
    goes_on,
    journal_of,
    long_story,
    newest,
    session,
    shown,
    snapshot,
    take_back,
    text_of,
)
from tests.context.transcripts import Session
from tests.tables import each_row

SMALL = replace(MAIN, window=16_000, max_output=4_000)
CALM = settings(max_examples=25, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("policy", POLICIES)
@CALM
@given(story=ANY, reply=REPLIES, trigger=st.sampled_from(["manual", "overflow", "auto"]))
def test_taking_a_compaction_back_gives_the_view_back(
    policy: str, story: Session, reply: str | ModelError, trigger: str
) -> None:
    journal = journal_of(story)
    before = shown(journal)
    events = compress(journal, Answers(reply), main=SMALL, settings=EAGER, policy=policy, trigger=trigger)  # type: ignore[arg-type]
    if ended(events).status == "compressed":
        assert shown(journal) != before
        take_back(journal)
    assert shown(journal) == before


@pytest.mark.full
@pytest.mark.parametrize("policy", POLICIES)
@CALM
@given(story=ANY, again=st.booleans(), reply=REPLIES)
def test_calls_stay_with_their_results_and_pins_stay_whole(
    policy: str, story: Session, again: bool, reply: str | ModelError
) -> None:
    journal = journal_of(story)
    before = former_compaction(shown(journal))
    # Of an output that was cleared or summarised, that is what is pinned.
    gone = {*journal.history.cleared, *(before.replaced if before else ())}
    pinned = {
        record.seq: record.body
        for record in journal.history.entries
        if record.seq in journal.history.pins
        and isinstance(record.body, ToolResult)
        and record.body.call_id not in gone
    }
    compress(journal, Answers(reply), main=SMALL, settings=EAGER, policy=policy)
    if again:
        compress(journal, Answers(reply), main=SMALL, settings=EAGER, policy=policy)
    view = shown(journal)
    asked = {block.part.call_id for block in view.blocks if hasattr(block.part, "input")}  # type: ignore[union-attr]
    answered = {block.tool_use_id for block in view.blocks if isinstance(block.part, ToolResult)}
    assert answered <= asked
    carried = former_compaction(view)
    texts = text_of(journal)
    for seq, result in pinned.items():
        there = any(block.seq == seq for block in view.blocks)
        assert there or (carried and seq in {words.seq for words in carried.pins}) or not result.output
        assert result.output in texts or there


@CALM
@given(story=ANY, reply=REPLIES)
def test_no_word_of_the_user_is_lost_by_auto(story: Session, reply: str | ModelError) -> None:
    journal = journal_of(story)
    typed = [
        record.body.text
        for record in journal.history.entries
        if isinstance(record.body, Message) and record.body.role == "user" and record.body.text.strip()
    ]
    roomy = replace(MAIN, window=400_000)
    compress(journal, Answers(reply), main=roomy, settings=EAGER)
    texts = text_of(journal)
    assert all(text.replace("</", "&lt;/") in texts.replace("</", "&lt;/") for text in typed)


@pytest.mark.parametrize("policy", POLICIES)
@CALM
@given(story=ANY)
def test_a_plan_divides_the_records_and_is_the_same_every_time(policy: PolicyName, story: Session) -> None:
    view = shown(journal_of(story))
    window = window_of(view, SMALL, TokenCounter(), replace(EAGER, policy=policy), TRAITS)
    made = plan(window, forced=True)
    assert made == plan(replace(window, counter=TokenCounter()), forced=True)
    assert not set(made.summarised) & set(made.kept)
    ours = {view.compaction.seq} if view.compaction else set()
    assert {*made.summarised, *made.kept} == {block.seq for block in view.blocks} - ours
    assert list(made.summarised) == sorted(made.summarised)
    assert made.reasons
    if made.split is not None:
        assert all(seq < made.split for seq in made.summarised)
        assert made.split in made.kept


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(
    facts=st.lists(
        st.sampled_from(
            [
                f"The part called {word} is slow."
                for word in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
            ]
        ),
        unique=True,
    ),
    again=st.lists(
        st.sampled_from(["The part called alpha is slow.", "The lexer is new.", "Everything is fine here."]),
        unique=True,
    ),
)
def test_a_second_compaction_loses_no_knowledge(facts: list[str], again: list[str]) -> None:
    found = "\n".join((*facts, *again))
    story = long_story(steps=24, found=found)
    journal = session(story)
    compress(journal, Answers(snapshot("Fix it.", "\n".join(f"- {fact}" for fact in facts))))
    first = parse(newest(journal).snapshot).knowledge
    assert first == tuple(facts)
    goes_on(journal, story, steps=24, found=found)
    compress(journal, Answers(snapshot("Fix it.", "\n".join(f"- {fact}" for fact in again))))
    second = parse(newest(journal).snapshot).knowledge
    assert set(first) <= set(second)


@CALM
@given(story=ANY)
def test_what_the_session_s_own_model_is_asked_can_be_sent(story: Session) -> None:
    journal = journal_of(story)
    wide = replace(MAIN, window=100_000)
    model = Answers(snapshot("Fix the test.", "- Tabs are used."), spec=wide)
    compress(journal, model, main=wide, system=("You are agentcli.",), settings=EAGER)
    for request in model.requests:
        broken = {violation.invariant for violation in check(request, View(()))}
        assert not broken & {"pairing", "roles"}
        assert model.asked().endswith("Then, generate the <state_snapshot> as <snapshot_items>.")


@CALM
@given(story=ANY, reply=REPLIES)
def test_a_policy_can_follow_any_other(story: Session, reply: str | ModelError) -> None:
    journal = journal_of(story)
    for policy in ("sliding", "regions", "auto", "opencode", "gemini", "regions", "auto"):
        compress(journal, Answers(reply), main=SMALL, settings=EAGER, policy=policy)


@each_row("policy", POLICIES)
def test_a_policy_compacts_a_long_session_and_says_why(policy: str) -> None:
    story = long_story(steps=80, turns=8)
    journal = session(story)
    reply = (
        '<summary n="1">- functions are defined</summary>'
        if policy == "regions"
        else snapshot("Fix it.", "- It is slow.")
    )
    events = compress(journal, Answers(reply), settings=EAGER, policy=policy)
    assert ended(events).status == "compressed"
    assert isinstance(newest(journal), Compaction)
    # Only a provider that compacts can carry out `provider`; `auto` takes its place for others.
    assert newest(journal).policy == ("auto" if policy == "provider" else policy)
