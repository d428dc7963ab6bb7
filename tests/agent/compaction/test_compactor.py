"""Room is made in time, by the numbers that can be known, and never in an endless loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.session import AgentSession
from agentcli.context.settings import CacheSettings, ContextSettings, GeminiSettings, PruneSettings
from agentcli.context.window import limits_of
from agentcli.core.errors import ContextError, InputError, ModelError
from agentcli.core.event import CompactionEnded, Event, Pruned, TurnEnded, Warned
from agentcli.core.message import Message, Text
from agentcli.core.model import Breakpoint, Request, StreamEvent
from agentcli.core.tasks import emitted
from agentcli.providers.scripted.model import Reply, ScriptedModel, call, say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.compaction.compacting import Watched
from tests.agent.open_session import DEMO, ended, open_session, say_to

SMALL = replace(DEMO, window=12_000, max_output=2_000)


def lines(name: str, count: int) -> str:
    return "".join(f"{name} line {n} says something of its own\n" for n in range(count))


def reading(request: Request) -> Reply:
    """Reads twelve files one after the other, then says so; summaries are left to the model's own."""
    reading.step += 1  # type: ignore[attr-defined]
    step = reading.step  # type: ignore[attr-defined]
    return say(f"Step {step}.", call("read", file_path=f"f{step}.txt")) if step <= 12 else say("All read.")


def test_a_long_turn_in_a_small_window_ends_well(tmp_path: Path) -> None:
    reading.step = 0  # type: ignore[attr-defined]
    for n in range(1, 13):
        (tmp_path / f"f{n}.txt").write_text(lines(f"f{n}", 120))
    session = open_session(tmp_path, reading, model=SMALL)
    events = say_to(session, "Read all twelve files. Never skip one.")
    assert ended(events).text == "All read."
    assert any(isinstance(event, Pruned | CompactionEnded) for event in events)
    prompts = [
        e.body.usage.prompt for e in session.history.entries if isinstance(e.body, Message) and e.body.usage is not None
    ]
    assert max(prompts) <= 10_000


def test_what_cannot_be_made_smaller_stops_with_numbers_and_a_way_out(tmp_path: Path) -> None:
    tiny = replace(DEMO, window=2_600, max_output=500)
    session = open_session(tmp_path, [say("Yes.")], model=tiny, context=ContextSettings(large_input_tokens=10**6))
    desk_events = say_to(session, *(lines("prompt", 40) for _ in range(6)), lines("prompt", 400))
    failed = [event.error for event in desk_events if getattr(event, "error", None)]
    assert failed
    sent = [e.body.usage.prompt for e in session.history.entries if isinstance(e.body, Message) and e.body.usage]
    assert max(sent) <= 2_100, "a request was sent that was known not to fit"
    assert all(isinstance(error, ContextError) for error in failed)
    assert "/handoff" in str(failed[-1])


def test_close_to_a_mark_the_provider_is_asked_for_its_count(tmp_path: Path) -> None:
    asked: list[int] = []

    class Counting(ScriptedModel):
        async def count(self, request: Request) -> int | None:
            asked.append(1)
            return 100

    model = Counting(SMALL, [say("one", call("list")), say("two")])
    session = open_session(tmp_path, [], model=SMALL, context=ContextSettings(exact_count_margin=10.0), repeat_limit=0)
    session.conversation.builder.model = model
    say_to(session, "go")
    assert len(asked) == 2, "once before each of the two requests"
    far = open_session(tmp_path, [], model=SMALL, context=ContextSettings(exact_count_margin=0.0))
    far.conversation.builder.model = model
    say_to(far, "go")
    assert len(asked) == 2


@pytest.mark.parametrize("text", ["Пожалуйста, исправь ошибку в этом файле. ", "Διορθώστε το σφάλμα στο αρχείο. "])
def test_a_session_that_is_estimated_at_four_times_its_size_is_counted_before_it_is_compacted(
    tmp_path: Path, text: str
) -> None:
    class Counting(ScriptedModel):
        async def count(self, request: Request) -> int | None:
            return 6_000

    journal = MemorySession()
    for turn in range(1, 11):
        journal.append(Message("user", (Text(text * (2_000 // len(text))),), turn))
        journal.append(Message("assistant", (Text("Да."),), turn, stop="end_turn"))
    session = open_session(tmp_path, [], model=SMALL, journal=journal)
    builder = session.conversation.builder
    builder.model = Counting(SMALL, [say("one")])
    assert builder.window().tokens > 2 * builder.window().usable
    assert not [event for event in say_to(session, "go") if isinstance(event, CompactionEnded)]


def test_what_counts_as_a_milestone_of_the_cache_is_set(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(lines("f", 100))
    places = []
    for milestone in (500, 50_000):
        seen: list[Request] = []

        def script(request: Request, seen: list[Request] = seen) -> Reply:
            seen.append(request)
            return say("", call("read", file_path="f.txt")) if len(seen) == 1 else say("Go on.")

        context = ContextSettings(cache=CacheSettings(milestone=milestone))
        session = open_session(tmp_path, script, model=replace(DEMO, cache_minimum=10), context=context)
        say_to(session, "Read it.", "And?", "And?")
        places.append(Breakpoint(2, 0) in seen[-1].breakpoints)
    assert places == [True, False]


def test_close_to_the_mark_of_another_policy_it_is_asked_too(tmp_path: Path) -> None:
    asked: list[int] = []

    class Counting(ScriptedModel):
        async def count(self, request: Request) -> int | None:
            asked.append(1)
            return 100

    for limit, times in ((4_000, 1), (400_000, 0)):
        asked.clear()
        rules = GeminiSettings(limit=limit)
        session = open_session(tmp_path, [], context=ContextSettings(policy="gemini", gemini=rules))
        session.conversation.builder.model = Counting(DEMO, [say("one")])
        say_to(session, "go")
        assert len(asked) == times, "the prompt has some two thousand tokens"


# A compaction below the marks, which only its price speaks for


WIDE = replace(DEMO, window=100_000, max_output=8_000)
PAYS = ContextSettings(
    compact_horizon=1_000, compact_floor=0.05, compact_least=1_000, compact_price=0.01, keep_recent=0
)


class Down(ScriptedModel):
    """A summariser that fails until it is mended."""

    def __init__(self) -> None:
        super().__init__(WIDE, [])
        self.asked, self.mended = 0, False

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.asked += 1
        if not self.mended:
            raise ModelError("The server is on fire.", "server")
        async for step in super().stream(request):
            yield step


def grown(tmp_path: Path, down: Down, journal: MemorySession | None = None, **more: Any) -> AgentSession:
    """A session of some reads, in which a compaction would pay at the next prompt."""
    (tmp_path / "f.txt").write_text(lines("f", 300))
    script = [say("Reading.", call("read", file_path="f.txt", offset=n)) for n in range(1, 7)] + [say("Done.")]
    context = replace(PAYS, prune=PruneSettings(enabled=False), **more)
    session = open_session(
        tmp_path, script, model=WIDE, context=context, summariser=down, journal=journal, repeat_limit=0
    )
    if journal is None:
        say_to(session, "Read it.")
    return session


def tries(events: Sequence[Event]) -> list[CompactionEnded]:
    return [event for event in events if isinstance(event, CompactionEnded)]


def test_an_early_compaction_whose_summariser_fails_leaves_the_session_as_it_is(tmp_path: Path) -> None:
    session = grown(tmp_path, down := Down())
    before = session.conversation.builder.window().view.messages
    [ended] = tries(events := say_to(session, "And now?"))
    assert ended.status == "failed_summary"
    assert "The server is on fire." in ended.why
    assert "the session continues unchanged" in ended.why
    assert isinstance(events[-1], TurnEnded)
    assert session.conversation.builder.window().view.messages[: len(before)] == before
    assert session.history.compaction is None
    assert down.asked == 1


def test_it_is_tried_again_only_when_enough_has_changed(tmp_path: Path) -> None:
    session = grown(tmp_path, down := Down())
    assert [each.status for each in tries(say_to(session, "And now?"))] == ["failed_summary"]
    assert not tries(say_to(session, "And now?", "And now?")), "nothing has changed"
    down.mended = True
    assert not tries(say_to(session, "x " * 1_000)), "too little has changed"
    assert [each.status for each in tries(say_to(session, "x " * 4_000))] == ["compressed"]
    eager = grown(tmp_path, Down(), retry_growth=0.0)
    assert len(tries(say_to(eager, "And now?", "And now?"))) == 2


def test_a_resumed_session_remembers_that_it_failed(tmp_path: Path) -> None:
    session = grown(tmp_path, Down())
    assert tries(say_to(session, "And now?"))
    again = grown(tmp_path, down := Down(), session.journal)  # type: ignore[arg-type]
    assert not tries(say_to(again, "And now?"))
    assert down.asked == 0


def test_a_resumed_session_reads_the_newest_of_its_compactions_alone(tmp_path: Path) -> None:
    session = grown(tmp_path, Down())
    assert tries(say_to(session, "And now?"))
    [failed] = session.journal.records_of("compaction")
    for _ in range(3):
        newest = session.journal.append(failed.body)
    watched = Watched(session.journal)
    again = grown(tmp_path, down := Down(), watched)
    assert not tries(say_to(again, "And now?"))
    assert (watched.read, down.asked) == ([newest.seq], 0)


def test_at_a_mark_the_ledger_stands_in_for_a_summariser_that_failed_early(tmp_path: Path) -> None:
    session = grown(tmp_path, Down())
    assert [each.status for each in tries(say_to(session, "And now?"))] == ["failed_summary"]
    size, limits = session.conversation.builder.window().tokens, limits_of(WIDE, session.conversation.builder.settings)
    session.conversation.builder.settings = replace(
        session.conversation.builder.settings, soft=(size + 1) / limits.usable
    )
    [ended] = tries(say_to(session, "x " * 50))
    assert ended.status == "compressed"
    assert "built from the session log" in ended.why


def test_what_is_assumed_of_a_model_in_no_table_is_said_once(tmp_path: Path) -> None:
    strange = replace(DEMO, window=123_000, known=False)
    warned = [
        e.message
        for e in say_to(open_session(tmp_path, [say("Yes.")], model=strange), "a", "b")
        if isinstance(e, Warned)
    ]
    assert len(warned) == 1
    assert "a window of 123,000 tokens" in warned[0]
    assert not [e for e in say_to(open_session(tmp_path, [say("Yes.")]), "a") if isinstance(e, Warned)]


def test_a_summary_call_that_fails_is_one_of_those_a_turn_may_make(tmp_path: Path) -> None:
    session = grown(tmp_path, down := Down(), max_summary_calls=1)
    say_to(session, "And now?")
    assert down.asked == 1

    async def drained(events: AsyncIterator[Event]) -> list[Event]:
        return [event async for event in events]

    [ended] = tries(asyncio.run(drained(emitted(partial(session.conversation.overflow, asyncio.Event())))))
    assert "no summary call is left for this turn" in ended.why
    assert down.asked == 1
    session.compactor.undo()
    [ended] = tries(
        asyncio.run(drained(emitted(partial(session.compactor.compact, asyncio.Event(), trigger="manual"))))
    )
    assert "The server is on fire." in ended.why, "who asks by hand may ask again"
    assert down.asked == 2


def test_an_interrupt_does_not_wait_for_an_exact_count(tmp_path: Path) -> None:
    class Silent(ScriptedModel):
        async def count(self, request: Request) -> int | None:
            await asyncio.Event().wait()
            return None

    session = open_session(tmp_path, [], context=ContextSettings(exact_count_seconds=1000.0))
    session.conversation.builder.model = Silent(session.core.model, [])

    async def story() -> bool:
        interrupt = asyncio.Event()
        asyncio.get_running_loop().call_soon(interrupt.set)
        return await asyncio.wait_for(session.conversation.builder.count_exactly(interrupt), 20)

    assert not asyncio.run(story())


def test_where_nothing_was_compacted_nothing_can_be_taken_back(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Done.")])
    say_to(session, "go")
    with pytest.raises(InputError, match="Nothing to undo"):
        session.compactor.undo()
