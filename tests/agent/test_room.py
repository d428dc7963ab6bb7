"""Room is made in time, by the numbers that can be known, and never in an endless loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentcli.context.settings import ContextSettings
from agentcli.core.errors import ContextError
from agentcli.core.event import CompactionEnded, Pruned
from agentcli.core.message import Message
from agentcli.core.model import Request
from agentcli.providers.scripted import Reply, Scripted, call, say
from tests.agent.desks import DEMO, ended, open_desk, say_to

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
    desk = open_desk(tmp_path, reading, model=SMALL)
    events = say_to(desk, "Read all twelve files. Never skip one.")
    assert ended(events).text == "All read."
    assert any(isinstance(event, Pruned | CompactionEnded) for event in events)
    prompts = [
        e.body.usage.prompt for e in desk.history.entries if isinstance(e.body, Message) and e.body.usage is not None
    ]
    assert max(prompts) <= 10_000


def test_what_cannot_be_made_smaller_stops_with_numbers_and_a_way_out(tmp_path: Path) -> None:
    tiny = replace(DEMO, window=3_000, max_output=500)
    desk = open_desk(tmp_path, [say("Yes.")], model=tiny, context=ContextSettings(large_input_tokens=10**6))
    desk_events = say_to(desk, *(lines("prompt", 40) for _ in range(6)))
    failed = [event.error for event in desk_events if getattr(event, "error", None)]
    assert failed
    sent = [e.body.usage.prompt for e in desk.history.entries if isinstance(e.body, Message) and e.body.usage]
    assert max(sent) <= 2_500, "a request was sent that was known not to fit"
    assert all(isinstance(error, ContextError) for error in failed)
    assert "/new" in str(failed[-1])


def test_close_to_a_mark_the_provider_is_asked_for_its_count(tmp_path: Path) -> None:
    asked: list[int] = []

    class Counting(Scripted):
        async def count(self, request: Request) -> int | None:
            asked.append(1)
            return 100

    model = Counting(SMALL, [say("one", call("list")), say("two")])
    desk = open_desk(tmp_path, [], model=SMALL, context=ContextSettings(exact_count_margin=10.0), repeat_limit=0)
    desk.talk.model = model
    say_to(desk, "go")
    assert len(asked) == 2, "once before each of the two requests"
    far = open_desk(tmp_path, [], model=SMALL, context=ContextSettings(exact_count_margin=0.0))
    far.talk.model = model
    say_to(far, "go")
    assert len(asked) == 2
