"""Work and notifications while nobody types."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from agentcli.frontends.terminal.idle import QUIET, WAITED_FOR, Idle
from tests.clock import seconds_of

COLD = SimpleNamespace(wait=lambda: None, expires=lambda: 300.0)
"""Nothing is kept warm."""


def test_a_cold_cache_is_reported_once_it_has_expired_and_not_while_work_runs() -> None:
    told: list[str] = []
    report = SimpleNamespace(cold=lambda least: f"from ${least}")
    core = SimpleNamespace(hooks=SimpleNamespace(notify=lambda *_: None))
    session: Any = SimpleNamespace(core=core, report=report, warmer=COLD)
    front: Any = SimpleNamespace(working=False, session=session, tell=told.append)

    async def wait() -> None:
        idle = Idle(front, quiet=10_000)
        idle.begin()
        await asyncio.sleep(400)
        assert told == [], "0 switches it off"
        idle.cold_cost = 0.25
        idle.begin()
        await asyncio.sleep(300)
        assert told == []
        await asyncio.sleep(2)
        assert told == ["from $0.25"]
        front.working = True
        idle.begin()
        await asyncio.sleep(302)
        await idle.stop()

    seconds_of(wait())
    assert len(told) == 1


def test_hooks_are_notified_once_the_user_has_been_waited_for_and_not_while_work_runs() -> None:
    told: list[tuple[str, str]] = []
    titles: list[str] = []

    async def improve_title() -> list[Any]:
        titles.append("better")
        return []

    hooks = SimpleNamespace(notify=lambda message, kind: told.append((message, kind)))
    session: Any = SimpleNamespace(core=SimpleNamespace(hooks=hooks), improve_title=improve_title, warmer=COLD)
    front: Any = SimpleNamespace(working=False, session=session, show_events=lambda _: None)

    async def wait() -> None:
        idle = Idle(front)
        idle.begin()
        await asyncio.sleep(QUIET + 1)
        assert (titles, told) == (["better"], [])
        await asyncio.sleep(WAITED_FOR)
        assert told == [("agentcli is waiting for your input", "idle_prompt")]
        idle.begin()
        front.working = True
        await asyncio.sleep(2 * WAITED_FOR)
        await idle.stop()

    seconds_of(wait())
    assert len(told) == 1
