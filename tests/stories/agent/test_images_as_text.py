"""A proxy that counts the base64 of images as text: old images go first, and the session goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import Prompt
from agentcli.core.event import CompactionEnded, Event, Pruned
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import ended, open_session
from tests.loopback import Asked, Loopback
from tests.providers.hearing import connected
from tests.screenshot import screenshot
from tests.tables import each_row

SHOTS = 5


@pytest.mark.parametrize("name", ["haiku", "ollama/qwen3"])
@each_row(("window", "known"), [(60_000, False), (60_000, True), (54_000, True)])
def test_screenshots_that_are_counted_as_text_never_end_the_session(
    tmp_path: Path, name: str, window: int, known: bool
) -> None:
    for number in range(SHOTS):
        (tmp_path / f"{number}.png").write_bytes(screenshot(number))
    shown = [0]

    def answer(asked: Asked) -> Reply:
        if asked.results or asked.last_text.strip() == "done?":
            return say("Seen.")
        shown[0] += 1
        return say("", call("read", file_path=f"{shown[0] - 1}.png"))

    with Loopback(answer, window=window) as server:
        server.counts = False
        model: Any = connected(server, name)
        spec = model.spec

        class Sized:
            """The model, whose window is known from the start or not."""

            def __getattr__(self, field: str) -> Any:
                return getattr(model, field)

        if known:
            Sized.spec = property(lambda _: replace(spec, window=window, max_output=4_000))  # type: ignore[attr-defined]
        session = open_session(tmp_path, [], model=spec, wrapped=lambda _: Sized() if known else model)  # type: ignore[arg-type, return-value]

        async def run() -> list[list[Event]]:
            turns = []
            for prompt in [*(f"look at {number}" for number in range(SHOTS)), "done?"]:
                turns.append([event async for event in session.turn(Prompt(prompt), asyncio.Event())])
            await model.close()
            return turns

        turns = asyncio.run(run())
    assert [(ended(events).ending, ended(events).error) for events in turns] == [("done", None)] * (SHOTS + 1)
    events = [event for events in turns for event in events]
    assert not [event for event in events if isinstance(event, CompactionEnded) and event.status != "noop"]
    pruned = [event.call_ids for event in events if isinstance(event, Pruned)]
    assert pruned or window != 54_000, "old images go before anything is refused"
