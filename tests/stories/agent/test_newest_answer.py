"""The model's newest answer stands in every view that a compaction leaves: the user may be replying to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcli.context.assemble import assemble
from agentcli.context.compaction.carryover import former_compaction
from agentcli.context.compaction_settings import LossSettings
from agentcli.context.policies import plan
from agentcli.context.settings import POLICIES, ContextSettings, PolicyName, SlidingSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View
from agentcli.context.window import Window, window_of
from agentcli.core.codec.encode import decode, encode
from agentcli.core.message import Message, Text, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Carry, Compaction, Record, Trigger
from agentcli.providers.catalog import spec
from agentcli.providers.scripted.model import say
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import (
    ANY,
    EAGER,
    MAIN,
    REPLIES,
    Answers,
    compress,
    ended,
    journal_of,
    newest,
    session,
    shown,
    text_of,
)
from tests.context.story import Story
from tests.context.transcripts import Session
from tests.loopback import Loopback
from tests.providers.hearing import connected, hear
from tests.tables import each_row

SONNET = spec("claude-sonnet-4-5")
QUESTION = "(A) Keep the old names. (B) Rename them all. (C) Rename only the new ones. Which one?"
SMALL = replace(MAIN, window=16_000, max_output=4_000)


def window(story: Story, policy: PolicyName = "auto", model: ModelSpec = SONNET, **more: object) -> Window:
    # Compacting while a question is open is allowed here: these tests are about what stays if it comes to that.
    rules = replace(ContextSettings(loss=LossSettings(questions=False)), policy=policy, **more)  # type: ignore[arg-type]
    return window_of(shown(session(story)), model, TokenCounter(), rules, TRAITS)


def thirty_writes() -> Story:
    """One long turn on a warm cache that ends with a question, and the user's reply to it."""
    story = Story()
    story.user("Write the thirty modules.")
    for n in range(30):
        story.does("write", "Wrote it.", file_path=f"m{n}.py", content=f"value_{n} = {n}\n" * 300)
    story.says(QUESTION, usage=Usage(37_000, 200))
    story.user("take B")
    return story


def test_an_early_compaction_keeps_the_question_that_the_user_is_answering() -> None:
    story = thirty_writes()
    made = plan(window(story))
    asked = story.records[-2].seq
    assert made.does_something
    assert made.trigger == "soft"
    assert asked in made.kept


def test_the_newest_tokens_stay_as_well() -> None:
    story = thirty_writes()
    seen = window(story, preserve=0.05)
    made = plan(seen)
    stays = sum(seen.size(block) for block in seen.view.blocks if block.seq in made.kept)
    assert seen.settings.keep_recent <= stays < 2 * seen.settings.keep_recent
    less = window(story, preserve=0.05, keep_recent=2_000)
    assert sum(less.size(block) for block in less.view.blocks if block.seq in plan(less).kept) < stays


def test_sliding_keeps_the_newest_answer_however_far_back_it_lies() -> None:
    story = Story()
    story.user("Go.")
    story.says(QUESTION)
    story.user("take B")
    for n in range(30):
        story.reads(f"f{n}.py", "x = 1\n" * 200)
    few = SlidingSettings(primers=0, recents=4, budget=20_000)
    made = plan(window(story, "sliding", replace(MAIN, window=200_000), sliding=few), forced=True)
    assert made.summarised == (1,)


@pytest.mark.parametrize("policy", ["gemini", "opencode"])
def test_a_policy_that_summarises_everything_carries_the_answer_beside_the_summary(policy: PolicyName) -> None:
    story = thirty_writes()
    journal = session(story)
    assert (
        ended(compress(journal, Answers("`m3.py` sets `value_3` to 3."), policy=policy, main=SMALL)).status
        == "compressed"
    )
    assert newest(journal).answer
    blocks = [block for block in shown(journal).blocks if isinstance(block.part, Text) and QUESTION in block.part.text]
    block = blocks[-1]
    assert isinstance(block.part, Text)
    assert block.part.text == f'<assistant_message turn="1">\n{QUESTION}\n</assistant_message>'
    assert (block.tier, block.pinned, block.source) == (2, True, "compactor")


def test_a_carried_answer_is_cut_in_the_middle_where_it_is_long() -> None:
    story = thirty_writes()
    long = "First: " + "a long account of it all. " * 2_000 + "Which one?"
    story.records[-2] = replace(story.records[-2], body=Message("assistant", (Text(long),), 1, "demo", "demo"))
    journal = session(story)
    compress(journal, Answers("All done."), policy="gemini", main=SMALL)
    carried = newest(journal).answer
    assert carried
    assert carried.text.startswith("First: a long account")
    assert carried.text.endswith("Which one?")
    assert TokenCounter().text(carried.text) <= ContextSettings().keep_answer_tokens * 1.1


def test_an_answer_is_carried_on_until_there_is_a_newer_one() -> None:
    story = thirty_writes()
    journal = session(story)
    compress(journal, Answers("All done."), policy="opencode", main=SMALL)
    for n in range(20):
        call = story.call("read", file_path=f"g{n}.py")
        journal.append(Message("assistant", (call,), 2, "demo", "demo"))
        journal.append(ToolResult(call.call_id, "read", "success", "y = 2\n" * 400))
    assert ended(compress(journal, Answers("More done."), policy="opencode", main=SMALL)).status == "compressed"
    assert QUESTION in text_of(journal)
    journal.append(Message("assistant", (Text("It is B."),), 3, "demo", "demo"))
    journal.append(Message("user", (Text("More. " * 2_000),), 4))
    journal.append(Message("assistant", (Text("Yes. " * 2_000 + "It is B."),), 4, "demo", "demo"))
    assert ended(compress(journal, Answers("Even more."), policy="opencode", main=SMALL)).status == "compressed"
    assert QUESTION not in text_of(journal)
    assert "It is B." in text_of(journal)


def test_a_record_without_an_answer_is_written_as_before() -> None:
    body = Compaction("auto", "compressed", "auto")
    assert b'"answer"' not in encode(Record(1, "r", "", "", body))
    carried = compressed_record(thirty_writes())
    assert decode(encode(carried)) == carried


def compressed_record(story: Story) -> Record:
    journal = session(story)
    compress(journal, Answers("All done."), policy="gemini", main=SMALL)
    assert journal.history.compaction
    return journal.history.compaction


# Compactions that follow one another


def test_no_compaction_that_nobody_asked_for_follows_another_in_the_same_turn_below_the_hard_mark() -> None:
    story = again("auto", carry=1)
    rules = {"soft": 0.1, "compact_horizon": 0.0}
    seen = window(
        story, "sliding", replace(MAIN, window=60_000, max_output=8_000), sliding=SlidingSettings(trigger=0.2)
    )
    made = plan(seen)
    assert made.trigger is None
    assert "This turn was compacted before" in made.reasons[0]
    assert plan(seen, forced=True).does_something
    assert plan(replace(seen, settings=replace(seen.settings, hard=0.2))).does_something
    assert plan(window(again("auto", carry=0), **rules)).trigger == "soft"  # type: ignore[arg-type]


def test_no_compaction_for_its_price_alone_comes_right_after_one_by_hand() -> None:
    calm, fresh = window(again("auto", carry=0)), window(again("manual", carry=0))
    assert plan(calm).optional
    assert "new since the last compaction" in plan(fresh).reasons[0]
    full = window(again("manual", carry=0), soft=0.1)
    assert plan(full).trigger == "soft"
    assert not plan(full).optional
    more = again("manual", carry=0)
    for n in range(20):
        more.reads(f"g{n}.py", "y = 2\n" * 800)
    more.user("And now?")
    assert plan(window(more)).optional


def again(trigger: Trigger, carry: int) -> Story:
    """A session with much in it that a compaction left standing."""
    story = thirty_writes()
    prompt = story.records.pop()
    story.add(Compaction(trigger, "compressed", "auto", (0, 0), 1, "<state_snapshot/>", carry=Carry(turn=carry)))
    story.add(replace(prompt.body, turn=1) if carry else prompt.body)  # type: ignore[type-var]
    return story


# Any session, any policy, both providers


def answer_in(view: View) -> str:
    said = [message.answer for message in view.messages if message.answer]
    former = former_compaction(view)
    return said[-1] if said else former.answer.text if former and former.answer else ""


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(
    story=ANY, reply=REPLIES, triggers=st.lists(st.sampled_from(["manual", "overflow", "auto"]), min_size=1, max_size=2)
)
def test_the_newest_answer_stands_after_every_compaction(
    policy: PolicyName, story: Session, reply: str, triggers: Sequence[Trigger]
) -> None:
    journal = journal_of(story)
    for trigger in triggers:
        answer = answer_in(shown(journal))
        compress(journal, Answers(reply), main=SMALL, settings=EAGER, policy=policy, trigger=trigger)
        assert answer.strip() in text_of(journal)


@pytest.mark.parametrize("name", ["sonnet", "gemini-2.5-pro"])
def test_a_view_with_a_carried_answer_is_accepted(name: str) -> None:
    accepted(name, 4)


@pytest.mark.slow
@pytest.mark.timeout(900)
@each_row("name", ["opus", "claude-haiku-4-5", "flash", "gemini-2.5-pro"])
def test_many_views_with_a_carried_answer_are_accepted(name: str) -> None:
    accepted(name, 400)


def accepted(name: str, examples: int) -> None:
    model = spec(name)
    with Loopback(lambda _: say("fine")) as server, asyncio.Runner() as runner:
        connection = connected(server, name)

        @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
        @given(ANY, st.sampled_from(["auto", "gemini", "opencode", "sliding", "native"]))
        def check(story: Session, policy: PolicyName) -> None:
            journal = journal_of(story)
            compress(journal, Answers("Done so far."), main=SMALL, settings=EAGER, policy=policy)
            heard = runner.run(hear(connection, assemble(shown(journal), ("system",), (), model)))
            assert heard.error is None, server.asked[-1].body.decode()

        check()
        runner.run(connection.close())  # type: ignore[attr-defined]
