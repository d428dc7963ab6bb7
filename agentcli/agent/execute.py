"""Runs the calls of a reply: asked for in order, run together where that is safe, each answered exactly once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence

from agentcli.agent.approval import Permit
from agentcli.agent.streams import until_interrupted
from agentcli.agent.tool_runner import ToolRunner
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, Recorded, ToolStarted
from agentcli.core.message import Status, ToolCall, ToolResult
from agentcli.core.tool import Tool, ToolOutput

INTERRUPTED = "Interrupted by the user: this call may or may not have taken effect."
NOT_RUN = "Not run: the user interrupted before it began."

_log = logging.getLogger(__name__)


async def execute(calls: Sequence[ToolCall], runner: ToolRunner, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Run the calls and record one result for each. An interrupt ends it early; it still ends normally."""
    calls = [runner.prepared(call) for call in calls]
    answered: set[str] = set()
    allowed: list[tuple[ToolCall, Tool]] = []
    titles: dict[str, str] = {}
    for call in calls:
        if interrupt.is_set():
            break
        decided = await until_interrupted(interrupt, _decided(call, runner, titles))
        for line in runner.printed.take():
            yield line
        if isinstance(decided, str):
            answered.add(call.call_id)
            yield runner.record(refusal(call, decided, "error"))
            continue
        if decided is None or runner.ended_by_hook:
            break
        tool, permit = decided
        if permit.refused and interrupt.is_set():
            break  # leaving a question with Ctrl-C, or with the terminal, says no to nothing
        if permit.event is not None:
            yield permit.event
        if permit.refused:
            answered.add(call.call_id)
            refused = refusal(call, permit.refused, permit.status, titles[call.call_id])
            yield runner.record(runner.with_context(refused))
        else:
            allowed.append((permit.call, tool))
    for group in _groups(allowed):
        if interrupt.is_set() or runner.ended_by_hook:
            break
        async for event in _together(group, runner, interrupt):
            if isinstance(event, Recorded) and isinstance(event.record.body, ToolResult):
                answered.add(event.record.body.call_id)
            yield event
    for call in calls:
        if call.call_id not in answered:
            why = f"Not run: {runner.ended_by_hook}" if runner.ended_by_hook else NOT_RUN
            yield runner.record(refusal(call, why, "interrupted", titles.get(call.call_id, "")))


def refusal(call: ToolCall, why: str, status: Status, title: str = "") -> ToolResult:
    """The answer to a call that did not run."""
    now = time.time()
    return ToolResult(call.call_id, call.name, status, why, title=title, started=now, ended=now)


def _groups(calls: Sequence[tuple[ToolCall, Tool]]) -> list[list[tuple[ToolCall, Tool]]]:
    """Neighbouring calls that may run in parallel as groups; any other call is a group of its own, in its place."""
    groups: list[list[tuple[ToolCall, Tool]]] = []
    for call, tool in calls:
        if groups and tool.traits.parallel and groups[-1][-1][1].traits.parallel:
            groups[-1].append((call, tool))
        else:
            groups.append([(call, tool)])
    return groups


async def _decided(call: ToolCall, runner: ToolRunner, titles: dict[str, str]) -> tuple[Tool, Permit] | str:
    """The tool of a call, whose title is noted, and the decision about it; or the reason why there is no such tool."""
    tool = await runner.find(call)
    if isinstance(tool, str):
        return tool
    titles[call.call_id] = _title(tool, call)
    return tool, await runner.permit(call, tool)


async def _together(
    group: Sequence[tuple[ToolCall, Tool]], runner: ToolRunner, interrupt: asyncio.Event
) -> AsyncIterator[Event]:
    printed = runner.printed
    waiting = [asyncio.create_task(_run(call, tool, runner)) for call, tool in group]
    for task in waiting:
        task.add_done_callback(lambda _: printed.came.set())
    for call, tool in group:
        yield ToolStarted(call, _title(tool, call))
    try:
        while waiting and not interrupt.is_set():
            await until_interrupted(interrupt, printed.came.wait())
            for line in printed.take():
                yield line
            # In the order of the calls: what only reads loses nothing by waiting for its neighbour.
            while waiting and waiting[0].done():
                for line in printed.take():
                    yield line
                yield runner.record(waiting.pop(0).result())
        for task in waiting:
            task.cancel()
        for result in await asyncio.gather(*waiting, return_exceptions=True):
            # A task cancelled before its first step has no result: the caller answers its call.
            if isinstance(result, ToolResult):
                yield runner.record(result)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _run(call: ToolCall, tool: Tool, runner: ToolRunner) -> ToolResult:
    """One call, its failures turned into an answer. A cancelled tool may still hand back what it had."""
    started, began = time.time(), time.monotonic()
    try:
        outcome = await runner.run(tool, call.call_id, call.input)
    except asyncio.CancelledError:
        outcome = ToolOutput(INTERRUPTED, status="interrupted")
    except (AgentError, OSError) as error:
        outcome = ToolOutput(str(error), status="error")
    except Exception as error:  # noqa: BLE001 - a bug in one tool must not cost the conversation; the log has the traceback
        _log.exception("tool %s failed", call.name)
        outcome = ToolOutput(f"The tool failed: {type(error).__name__}: {error}", status="error")
    result = ToolResult(
        call_id=call.call_id,
        name=call.name,
        status=outcome.status,
        output=outcome.output,
        truncated=outcome.truncated,
        output_file=outcome.output_file,
        title=outcome.title or _title(tool, call),
        started=started,
        ended=started + time.monotonic() - began,  # the wall clock may be set meanwhile
        metadata=outcome.metadata,
        images=outcome.images,
    )
    return await runner.finished(call, result)


def _title(tool: Tool, call: ToolCall) -> str:
    # A model may send any JSON; a title is not worth failing over.
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
        return tool.title(call.input) or tool.name
    return tool.name
