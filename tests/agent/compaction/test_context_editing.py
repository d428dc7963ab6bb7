"""The policy `native` in a running session: the provider clears old outputs, and the view says what it shows to the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.compaction.context_editing import WARNING
from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.context.cleared import CLEARED
from agentcli.context.compaction_settings import NativeSettings
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.view import view
from agentcli.core.errors import InputError
from agentcli.core.event import Event, Noticed, Pruned, TextDelta, UsageReported
from agentcli.core.history import fold
from agentcli.core.message import Text, Thinking, ToolResult
from agentcli.core.record import Prune
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.compaction.stage import Stage, stage_in
from tests.agent.open_session import ended, messages, results
from tests.loopback import Asked, Loopback, Raw
from tests.loopback.anthropic_edits import PLACEHOLDER, edited

NATIVE = ContextSettings(
    policy="native", keep_recent=200, native=NativeSettings(trigger=9_000, keep=2, clear_at_least=1_000)
)
READS = 8


def working(asked: Asked) -> Reply:
    """Read one file after the other, then say so; a second prompt begins anew."""
    done = sum("tool_result" in json.dumps(message) for message in asked.turns)
    prompts = sum("another" in json.dumps(message) for message in asked.turns)
    if done < READS * (1 + prompts):
        return say("", call("read", file_path=f"f{done % READS}.txt"), thinking="Which one is next?")
    return say("All read.")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    files = {f"f{n}.txt": "".join(f"line {n} {row} of a long file\n" for row in range(210)) for n in range(READS)}
    with stage_in(tmp_path, NATIVE, files) as made:
        yield made


def shown_by_server(asked: Asked) -> list[str]:
    """The outputs as the model reads them."""
    blocks = [block for message in edited(asked.json).body["messages"] for block in message["content"]]
    return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]


def cleared_in_view(session: AgentSession) -> list[bool]:
    return [block.cleared for block in view(session.history).blocks if isinstance(block.part, ToolResult)]


def agree(server: Loopback, session: AgentSession) -> bool:
    """True if the newest request showed the model what the view shows, but for outputs that came since."""
    model = [PLACEHOLDER in text for text in shown_by_server(server.requests[-1])]
    return cleared_in_view(session)[: len(model)] == model


@pytest.mark.parametrize("name", ["opus", pytest.param("claude-sonnet-4-5", marks=pytest.mark.slow)])
def test_view_and_provider_agree_after_every_request(stage: Stage, name: str) -> None:
    with Loopback(working) as server:
        session = stage.session(server, name)
        agreed: list[bool] = []

        def compare(event: Event) -> None:
            if isinstance(event, UsageReported):
                agreed.append(agree(server, session))

        events = stage.say(session, "Read them all.", each=compare)
        assert ended(events).ending == "done"
        assert all(agreed)
        assert not any(asked.refused for asked in server.asked)
        assert sum(cleared_in_view(session)) >= READS // 2
        whole = [json.dumps(message) for message in server.requests[-1].turns]
        assert sum("line 0 1 of" in text for text in whole) == 1, "the request holds the whole output all the same"
        assert any(isinstance(event, Pruned) and event.call_ids for event in events)


def test_what_the_provider_cleared_stays_so_until_there_is_much_more_of_it(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server)
        stage.say(session, "Read them all.")
        moved = [record.body for record in session.history.prunes if isinstance(record.body, Prune)]
        assert 1 <= len(moved) <= READS // 2
        assert all(body.by == "provider" for body in moved)
        health = session.conversation.builder.cache.health
        assert health.misses == 0
        reads = [asked.usage["cache_read_input_tokens"] for asked in server.requests[2:]]
        assert sum(reads) > 0.5 * sum(sum(asked.usage.values()) for asked in server.requests[2:])


def test_usage_and_window_count_the_prompt_as_the_model_gets_it(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server)
        stage.say(session, "Read them all.")
        used = session.report.window().used
        paid = server.requests[-1].usage
        prompt = paid["input_tokens"] + paid["cache_read_input_tokens"] + paid["cache_creation_input_tokens"]
        assert used == pytest.approx(prompt, rel=0.05)
        assert session.history.usage.prompt == sum(
            sum(value for key, value in asked.usage.items() if key != "output_tokens") for asked in server.requests
        )
        assert used < 9_500 < len(json.dumps(server.requests[-1].turns)) // 3


def test_a_budget_expects_to_pay_for_the_cache_that_is_written_anew(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server)
        stage.say(session, "Read them all.")
        cache = session.conversation.builder.cache
        assert cache.expected(9_000, 300.0).cache_read > 2_000
        assert cache.expected(9_000, 300.0, edited=True).cache_read == 0


def test_thoughts_that_are_bound_to_what_stood_before_them_survive_the_providers_clearing(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server, "opus")
        stage.say(session, "Read them all.")
        blocks = [block for message in server.requests[-1].turns for block in message["content"]]
        assert sum(block["type"] == "thinking" for block in blocks) == READS
        assert sum(isinstance(block.part, Thinking) for block in view(session.history).blocks) == READS


@pytest.mark.slow
def test_old_thoughts_go_when_only_those_of_the_newest_turns_are_to_stay(stage: Stage) -> None:
    rules = ContextSettings(policy="native", native=NativeSettings(thinking_turns=1))
    with Loopback(working) as server:
        session = stage.session(server, "opus", rules)
        stage.say(session, "Read them all.", "And another time.", "That is another one.")
        assert [asked.refused for asked in server.asked if asked.refused] == []
        [*_, report] = [record.body for record in session.history.prunes if isinstance(record.body, Prune)]
        seen = [block for block in view(session.history).blocks if isinstance(block.part, Thinking)]
        assert report.drop_thinking_before
        assert [block.held for block in seen] == [block.seq < report.drop_thinking_before for block in seen]
        assert thoughts(server.requests[-1].json) == len(seen), "they are sent all the same"
        shown = thoughts(edited(server.requests[-1].json).body)
        assert shown == sum(not block.held for block in seen) == READS


def thoughts(body: Any) -> int:
    return sum(block["type"] == "thinking" for message in body["messages"] for block in message["content"])


@pytest.mark.slow
def test_the_model_is_told_once_where_cleared_outputs_are(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server)
        stage.say(session, "Read them all.", "And another time.")
        told = [part for message in messages(session) for part in message.parts if isinstance(part, Text)]
        assert sum(part.text == WARNING for part in told) == 1


def test_a_session_goes_on_where_it_was(stage: Stage) -> None:
    with Loopback(working) as server:
        first = stage.session(server)
        stage.say(first, "Read them all.")
        journal = first.journal
        assert isinstance(journal, MemorySession)
        assert fold(journal.records()).held == first.history.held != frozenset()
        again = stage.session(server, journal=journal)
        before = len(server.requests)
        stage.say(again, "And another time.")
        assert agree(server, again)
        assert server.requests[before].usage["cache_read_input_tokens"] > 3_000
        assert not any(asked.refused for asked in server.asked)


def test_another_model_makes_it_fall_back_and_says_so_once(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(
            server, connect=lambda name: stage.connect(server, "flash" if "google" in name else "opus")
        )
        stage.say(session, "Read them all.")
        held = session.history.held
        session.switch(model="google/gemini-3.5-flash")
        server.plan = lambda _: say("Fine.")
        events = stage.say(session, "Thanks.", "And now?")
        notices = [event.message for event in events if isinstance(event, Noticed) and "native" in event.message]
        assert len(notices) == 1
        assert "works only with Claude on Anthropic's own API" in notices[0]
        assert held
        assert not session.history.held
        assert CLEARED in json.dumps(server.requests[-1].turns), "agentcli's own markers stand for them now"
        assert sum(cleared_in_view(session)) == len(held)


def test_after_the_switch_bound_thoughts_do_not_come_back_to_a_model_that_sees_our_markers(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server, "opus")
        stage.say(session, "Read them all.")
        other = ContextSettings(policy="auto")
        server.plan = lambda _: say("Fine.")
        again = stage.session(server, "opus", other, journal=session.journal)
        again.conversation.builder.settings = other
        stage.say(again, "Thanks.")
        assert not any(asked.refused for asked in server.asked)
        assert "context_management" not in server.requests[-1].json
        assert CLEARED in json.dumps(server.requests[-1].turns)


def test_a_prune_by_the_provider_cannot_be_undone_and_the_reason_is_given(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server)
        stage.say(session, "Read them all.")
        with pytest.raises(InputError, match="the provider cleared these outputs"):
            session.compactor.undo_prune()


@pytest.mark.slow
def test_a_compaction_by_hand_clears_for_good_what_the_provider_had_cleared(stage: Stage) -> None:
    with Loopback(working) as server:
        session = stage.session(server)
        stage.say(session, "Read them all.")
        stage.compress(session)
        assert session.history.compaction is not None
        assert not session.history.held
        server.plan = lambda _: say("Fine.")
        stage.say(session, "Go on.")
        assert not server.requests[-1].refused
        assert agree(server, session) or PLACEHOLDER not in str(shown_by_server(server.requests[-1]))


def silent(reply: Callable[[Asked], Reply], server: Loopback) -> Callable[[Asked], Raw]:
    """The replies of a server that takes the field and neither clears nor reports."""

    def answer(asked: Asked) -> Raw:
        from tests.loopback.anthropic_wire import events

        lines = [json.loads(line.split(b"data: ", 1)[1]) for line in events(asked, reply(asked), server)]
        return Raw([{key: value for key, value in event.items() if key != "context_management"} for event in lines])

    return answer


def test_a_server_that_clears_nothing_is_found_out_and_auto_stands_in(stage: Stage) -> None:
    server = Loopback()
    server.plan = silent(working, server)
    with server:
        session = stage.session(server, context=ContextSettings(
            policy="native", keep_recent=200, native=NativeSettings(trigger=9_000, keep=2, clear_at_least=1_000),
            prune=PruneSettings(least=500, minimum=1_000),
        ))  # fmt: skip
        events = stage.say(session, "Read them all.")
        notices = [event.message for event in events if isinstance(event, Noticed)]
        assert sum("did not clear the outputs as requested" in notice for notice in notices) == 1
        assert not session.history.held
        assert "context_management" not in server.requests[-1].json
        assert len(results(session)) == READS


def test_an_interrupted_reply_counts_as_what_was_foreseen(stage: Stage) -> None:
    stop = asyncio.Event()

    def interrupted(asked: Asked) -> Reply:
        edits = edited(asked.json).applied
        if edits:
            return Reply(say("x " * 4_000).parts, rate=200)
        return working(asked)

    with Loopback(interrupted) as server:
        session = stage.session(server, "claude-sonnet-4-5")

        async def play() -> None:
            async for event in session.turn(Prompt("Read them all."), stop):
                if isinstance(event, TextDelta):
                    stop.set()

        stage.runner.run(play())
        assert session.history.held
        assert agree(server, session)
