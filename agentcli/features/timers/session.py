"""Timers in a session: which prompt is due, and when they end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from agentcli.agent.core import SessionCore
from agentcli.agent.own_checks import run_check
from agentcli.agent.ports import Prompt
from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError
from agentcli.core.event import Emit, Noticed, TurnEnded, Warned, seconds_left
from agentcli.core.message import Text
from agentcli.core.tasks import until_interrupted
from agentcli.features.timers.state import Timer, Timers, lines, save, short, timers_of
from agentcli.system.bounded import SECONDS

FAILURES = 3
"""Consecutive failed runs after which the timers pause."""


def is_due(core: SessionCore) -> bool:
    """Return whether a timer is due."""
    first = timers_of(core).first
    return goes_on(core) and first is not None and first.next <= time.time()


def goes_on(core: SessionCore) -> bool:
    """Return whether a timer will be due."""
    timers = timers_of(core)
    return timers.run(core) and timers.first is not None


async def due(core: SessionCore, interrupt: asyncio.Event, emit: Emit) -> str | None:
    """Record the next run of the timer that is due first; return its prompt. If it has ended, emit a notice and return
    None.
    """
    timer = timers_of(core).first
    if timer is None:
        return None
    over, warning = await _over(core, timer, interrupt)
    timers, now = timers_of(core), time.time()
    if interrupt.is_set() or timer not in timers.all:
        return None
    if warning:
        await emit(Warned(warning))
    if over:
        await emit(save(core, timers.without(timer)))
        await emit(Noticed(f"Timer {timer.id} has ended ({over}): {short(timer.text)}"))
        return None
    await emit(save(core, replace(timers.with_next(timer, now), running=True)))
    return timer.text


async def _over(core: SessionCore, timer: Timer, interrupt: asyncio.Event) -> tuple[str, str]:
    """Return why a timer ends before this run, empty if it does not, and a warning about its command."""
    spent = (core.journal.history.cost or 0.0) - timer.cost_from
    if timer.cost is not None and spent >= timer.cost:
        return f"${timer.cost:g} are spent", ""
    if not timer.until:
        return "", ""
    try:
        ran = await run_check(core, timer.until, timer.every or SECONDS, interrupt)
    except AgentError as error:
        return "", f"The command `{timer.until}` of timer {timer.id} could not run: {error}"
    hung = f"The command `{timer.until}` of timer {timer.id} was stopped after {seconds_left(ran.limit)}."
    return f"`{timer.until}` ended with exit code 0" if ran.passed else "", hung if ran.hung else ""


async def follow(
    core: SessionCore, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit
) -> Prompt | TurnEnded | None:
    """Judge the end of a timer's turn.

    In an unattended run also wait for the next prompt, because nobody else will run it.
    """
    timers = timers_of(core)
    if not timers.run(core):
        return None
    if timers.running:
        timers = _judged(timers, ended)
        await emit(save(core, timers))
        if timers.paused:
            await emit(Warned(f"Timers paused: {timers.paused}. /loop resume continues, /loop cancel ends them."))
    while core.setup.alone and ended.ending == "done" and timers.run(core) and timers.first is not None:
        left = timers.first.next - time.time()
        await emit(Noticed(f"Waiting for timer {timers.first.id}: {seconds_left(left)}"))
        await until_interrupted(interrupt, asyncio.sleep(max(0.0, left)))
        if interrupt.is_set():
            return TurnEnded("interrupted", ended.text, steps=ended.steps)
        if (text := await due(core, interrupt, emit)) is not None:
            return Prompt(text, (Text(text),))
        timers = timers_of(core)
    return None


def _judged(timers: Timers, ended: TurnEnded) -> Timers:
    """Return the timers after a run with this end: paused at a limit, and after several failures in a row."""
    failed = timers.failed + 1 if ended.ending in ("failed", "incomplete", "refused") else 0
    why = f"{FAILURES} runs in a row failed" if failed >= FAILURES else ""
    why = str(ended.error or "a limit is reached").rstrip(".") if ended.ending == "limit" else why
    return replace(timers, running=False, failed=0 if why else failed, paused=why)


def notes(core: SessionCore) -> Sequence[str]:
    """Return the note about timers when their session is opened."""
    count = len(timers_of(core).all)
    if not count:
        return ()
    waiting = "A timer waits" if count == 1 else f"{count} timers wait"
    return ("\n".join([f"{waiting}: /loop resume continues, /loop cancel ends them.", *lines(core)[1:]]),)
