"""Runs the calls of a reply: asked for in order, run together if that is safe, each answered exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from agentcli.agent.calls.call import Call
from agentcli.agent.calls.stages import CallStages
from agentcli.agent.streams import PrintedEvents, until_interrupted
from agentcli.core.dataclass import replace
from agentcli.core.event import Event, ToolStarted
from agentcli.core.message import ToolCall
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task, when_done

NOT_RUN = "Not run: the user interrupted before it began."


async def execute(
    calls: Sequence[ToolCall], stages: CallStages, printed: PrintedEvents, interrupt: asyncio.Event
) -> AsyncIterator[Event]:
    """Run the calls and record one result for each. An interrupt ends it early; it still ends normally.

    Events of running calls come through `printed`.
    """
    on_way = stages.prepared(calls)
    allowed: list[int] = []
    for at in range(len(on_way)):
        if interrupt.is_set():
            break
        judged = await until_interrupted(interrupt, stages.judge(on_way, at))
        for line in printed.take():
            yield line
        if judged is None:
            break
        # Leaving a question with Ctrl-C, or with the terminal, says no to nothing.
        left = interrupt.is_set() and judged.result is not None
        if judged.tool is not None and (left or printed.ended):
            on_way[at] = replace(judged, result=None)
            break
        if judged.event is not None:
            yield judged.event
        if judged.result is not None:
            yield stages.record(judged)
        else:
            allowed.append(at)
    for group in _groups(on_way, allowed):
        if interrupt.is_set() or printed.ended:
            break
        async with closing(_together(on_way, group, stages, printed, interrupt)) as events:
            async for event in events:
                yield event
    why = f"Not run: {printed.ended}" if printed.ended else NOT_RUN
    for call in on_way:
        if call.result is None:
            yield stages.record(replace(call, notes=()).refused(why, "interrupted"))


def _groups(on_way: Sequence[Call], allowed: Sequence[int]) -> list[list[int]]:
    """Group neighbouring calls that may run in parallel; any other call is a group of one. The order stays."""
    groups: list[list[int]] = []
    for at in allowed:
        if groups and _parallel(on_way[at]) and _parallel(on_way[groups[-1][-1]]):
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _parallel(call: Call) -> bool:
    return call.tool is not None and call.tool.traits.parallel


async def _together(
    on_way: list[Call], group: Sequence[int], stages: CallStages, printed: PrintedEvents, interrupt: asyncio.Event
) -> AsyncIterator[Event]:
    """Run some of the calls side by side. Each has its result in `on_way` once that is recorded."""
    waiting = [(at, start_task(stages.run(on_way[at]))) for at in group]
    for _, task in waiting:
        when_done(task, printed.came.set)

    def record(at: int, call: Call) -> Event:
        on_way[at] = call
        return stages.record(call)

    try:
        for at in group:
            yield ToolStarted(on_way[at].call, on_way[at].title_now)
        while waiting and not interrupt.is_set():
            await until_interrupted(interrupt, printed.came.wait())
            for line in printed.take():
                yield line
            # In the order of the calls: what only reads loses nothing by waiting for its neighbour.
            while waiting and waiting[0][1].done():
                for line in printed.take():
                    yield line
                at, task = waiting.pop(0)
                yield record(at, task.result())
    finally:
        for _, task in waiting:
            task.cancel()
        results = await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)
        # A task cancelled before its first step has no result: the caller answers its call.
        ended = zip([at for at, _ in waiting], results, strict=True)
        recorded = [record(at, result) for at, result in ended if isinstance(result, Call)]
    for event in recorded:
        yield event
