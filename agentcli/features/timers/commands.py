"""The slash commands of timers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

from agentcli.agent.core import SessionCore
from agentcli.agent.unreadable import shared_sandbox
from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError, UsageError
from agentcli.core.event import Emit, Noticed, seconds_left
from agentcli.core.streams import closing
from agentcli.core.tasks import until_interrupted
from agentcli.core.text.options import Parsed, count, dollars, duration, parse
from agentcli.features.timers.session import due
from agentcli.features.timers.state import MOST, RUNS, Timer, lines, save, timers_of
from agentcli.program.commands import Context, Item, Output, Said, Sent, Work, command

_REPEATED = {"times": "N", "until": "'test -e done'", "cost": "USD"}
_ONCE = {"until": "'test -e done'", "cost": "USD"}
SHORTEST = 1.0
"""Seconds of the shortest interval."""


def _words(_: Context) -> Sequence[Item]:
    return [
        Item("5m", "the interval: 90s, 5m, 2h"),
        Item("cancel", "end all timers, or the one with a number"),
        Item("pause", "pause all until /loop resume"),
        Item("resume", "continue timers"),
    ]


@command("Work", at_once=True, arguments=_words)
async def loop(ctx: Context, argument: str) -> AsyncIterator[Output]:
    """Send a prompt now and at intervals: /loop [5m TEXT]

    TIME is 90s, 5m, 2h. Options before TEXT end it: `--times N` (100 by default), `--until COMMAND` (exit code 0),
    `--cost USD`. A timer waits while anything runs or asks. Without an argument, list the timers. /loop cancel [N],
    /loop pause, /loop resume. See /help goals.
    """
    async with closing(_timer(ctx, "loop", argument, _REPEATED)) as outputs:
        async for output in outputs:
            yield output


@command("Work", at_once=True, former="every")
async def every(ctx: Context, argument: str) -> AsyncIterator[Output]:
    """Send a prompt at intervals, the first time after one: /loop every [5m TEXT]

    As /loop, but it waits first.
    """
    async with closing(_timer(ctx, "every", argument, _REPEATED)) as outputs:
        async for output in outputs:
            yield output


@command("Work", at_once=True, former="after")
async def after(ctx: Context, argument: str) -> AsyncIterator[Output]:
    """Send a prompt once, after a time: /loop after [20m TEXT]

    Without an argument, list the timers; /loop cancel N ends one.
    """
    async with closing(_timer(ctx, "after", argument, _ONCE)) as outputs:
        async for output in outputs:
            yield output


async def _timer(ctx: Context, name: str, argument: str, values: Mapping[str, str]) -> AsyncIterator[Output]:
    core = ctx.session.core
    word, _, rest = argument.partition(" ")
    if not argument or argument == "list":
        yield Said(lines(core))
        return
    if word in ("cancel", "stop", "clear", "off"):
        yield Said([_cancelled(core, rest.strip())])
        return
    alone = ctx.terminal is None
    if argument in ("pause", "resume"):
        save(core, replace(timers_of(core), paused="by you" if argument == "pause" else "", failed=0, running=False))
        yield Said(lines(core))
        if alone and core.setup.alone and argument == "resume":
            async with closing(_first_prompt(core)) as outputs:
                async for output in outputs:
                    yield output
        return
    if alone and not core.setup.alone:
        raise InputError("Timers work in a terminal and with -p; here the editor starts each turn.")
    made = _new(core, name, duration(word, f"/{name}"), parse(rest, values))
    timers = timers_of(core)
    save(core, replace(timers, all=(*timers.all, made), made=made.id, paused="", running=False))
    yield Said([f"Timer {made.line(time.time())}. /loop cancel {made.id} ends it."])
    if alone:
        async with closing(_first_prompt(core)) as outputs:
            async for output in outputs:
                yield output


async def _first_prompt(core: SessionCore) -> AsyncIterator[Output]:
    """Wait for the timer that is due first, and send its prompt. Send none if its command ends it, and no other timer
    is left.
    """
    texts: list[str] = []
    yield Work("Waiting", partial(_wait, core, texts))
    for text in texts:
        yield Sent(text)


async def _wait(core: SessionCore, texts: list[str], interrupt: asyncio.Event, emit: Emit) -> None:
    """Wait for the next prompt, which is added to the texts."""
    while not texts and not interrupt.is_set() and (first := timers_of(core).first) is not None:
        if (left := first.next - time.time()) > 0:
            await emit(Noticed(f"Waiting {seconds_left(left)}."))
            await until_interrupted(interrupt, asyncio.sleep(left))
        if not interrupt.is_set() and (text := await due(core, interrupt, emit)) is not None:
            texts.append(text)


def _new(core: SessionCore, name: str, interval: float, parsed: Parsed) -> Timer:
    """Return a timer that begins now.

    Raises UsageError for an empty one, InputError for a command that deny rules forbid.
    """
    timers, options = timers_of(core), parsed.options
    if not parsed.text:
        raise UsageError(f"Which prompt? Use /{name} 5m TEXT.")
    if len(timers.all) >= MOST:
        raise UsageError(f"There are {MOST} timers already, the maximum. End one with /loop cancel N.")
    until = options.get("until", "")
    if until:
        shared_sandbox(until, core.approval.rules, core.approval.mode, core.setup)
    once = name == "after"
    return Timer(
        timers.made + 1,
        parsed.text,
        0.0 if once else max(SHORTEST, interval),
        time.time() + (0.0 if name == "loop" else interval),
        1 if once else count(options, "times", RUNS),
        until,
        dollars(options, "cost", None),
        core.journal.history.cost or 0.0,
    )


def _cancelled(core: SessionCore, number: str) -> str:
    """End the timer with this number, or all without one. Raises UsageError if there is none."""
    timers = timers_of(core)
    ended = [timer for timer in timers.all if number in ("", "all", str(timer.id))]
    if not ended:
        raise UsageError(f"No timer {number}. /loop lists the timers." if number else "No timers.")
    for timer in ended:
        timers = timers.without(timer)
    save(core, timers)
    return f"Cancelled {', '.join(f'timer {timer.id}' for timer in ended)}."


COMMANDS = (loop, every, after)
