"""The way of a reply's calls: approved in order, run together if that is safe, each answered exactly once.

Each call passes the stages: judged one by one, then run inside them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import copy

from agentcli.agent.approval import ApprovalGate
from agentcli.agent.calls.call import Call, PrintedEvents, Run, Stage, refusal, wrapped
from agentcli.agent.calls.stages import Finish, Prepare
from agentcli.agent.core import SessionCore
from agentcli.agent.hooks import Hooks
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.tool_context import SessionToolContext
from agentcli.core.dataclass import replace
from agentcli.core.event import Emit, Event, Recorded, ToolStarted, emit_all
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.tasks import start_task, until_interrupted, when_done
from agentcli.core.tool import CallScope, RunTool, ToolLimits

NOT_RUN = "Not run: the user interrupted before it began."


async def execute(
    calls: Sequence[ToolCall], stages: CallStages, printed: PrintedEvents, interrupt: asyncio.Event, emit: Emit
) -> None:
    """Run the calls and record one result for each. An interrupt ends it early; it still ends normally.

    Events of running calls come through `printed`.
    """
    on_way = stages.prepared(calls)
    allowed = await _judged(on_way, stages, printed, interrupt, emit)
    for group in _groups(on_way, allowed):
        if interrupt.is_set() or printed.ended:
            break
        await _together(on_way, group, stages, printed, interrupt, emit)
    why = f"Not run: {printed.ended}" if printed.ended else NOT_RUN
    for call in on_way:
        if call.result is None:
            await emit(stages.record(replace(call, notes=()).refused(why, "interrupted")))


async def _judged(
    on_way: list[Call], stages: CallStages, printed: PrintedEvents, interrupt: asyncio.Event, emit: Emit
) -> list[int]:
    """Judge one call after the other, and return the indexes of those to run; the others have their result."""
    allowed: list[int] = []
    for at in range(len(on_way)):
        if interrupt.is_set():
            break
        judged = await until_interrupted(interrupt, stages.judge(on_way, at))
        await emit_all(printed.take(), emit)
        if judged is None:
            break
        # Leaving a question with Ctrl-C, or closing the terminal, answers no question.
        left = interrupt.is_set() and judged.result is not None
        if judged.tool is not None and (left or printed.ended):
            on_way[at] = replace(judged, result=None)
            break
        if (decided := judged.event) is not None:
            await emit(decided)
        if judged.result is not None:
            await emit(stages.record(judged))
        else:
            allowed.append(at)
    return allowed


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
    on_way: list[Call],
    group: Sequence[int],
    stages: CallStages,
    printed: PrintedEvents,
    interrupt: asyncio.Event,
    emit: Emit,
) -> None:
    """Run some of the calls in parallel. Each has its result in `on_way` once that is recorded."""
    waiting = [(at, start_task(stages.run(on_way[at]))) for at in group]
    for _, task in waiting:
        when_done(task, printed.came.set)

    def record(at: int, call: Call) -> Event:
        on_way[at] = call
        return stages.record(call)

    try:
        for at in group:
            await emit(ToolStarted(on_way[at].call, on_way[at].title_now))
        while waiting and not interrupt.is_set():
            await until_interrupted(interrupt, printed.came.wait())
            await emit_all(printed.take(), emit)
            # In the order of the calls: reading calls lose nothing by waiting for their neighbours.
            while waiting and waiting[0][1].done():
                await emit_all(printed.take(), emit)
                at, task = waiting.pop(0)
                await emit(record(at, task.result()))
    finally:
        for _, task in waiting:
            task.cancel()
        results = await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)
        # A task cancelled before its first step has no result: the caller answers its call.
        ended = zip([at for at, _ in waiting], results, strict=True)
        recorded = [record(at, result) for at, result in ended if isinstance(result, Call)]
    await emit_all(recorded, emit)


class CallStages:
    """Runs calls through the stages of one session, from `prepare` to `finish`."""

    def __init__(self, core: SessionCore, prepare: Prepare, finish: Finish, stages: Sequence[Stage]) -> None:
        self.prepare, self.finish, self._stages = prepare, finish, stages
        self._within = ""
        self._tool = tool = ToolRun(core.setup.tools.run, core.ctx, core.approval, core.hooks, core.builder)
        self.run_unrecorded: Run = wrapped(stages[stages.index(finish) + 1 :], tool)
        """Runs a call that the model did not make: its output becomes no result, and failures are raised."""
        self.run: Run = wrapped(stages, tool)
        """Runs an allowed call. The call that it returns always has a result."""

    def inside(self, call_id: str, limits: ToolLimits) -> CallStages:
        """Return the same way for calls that a running call makes.

        They are recorded as its own calls, and return the texts of files within these limits.
        """
        inner = copy(self)
        inner._within = call_id
        inner._stages = [stage.inside() for stage in self._stages]
        inner.run = wrapped(inner._stages, self._tool.inside(limits))
        return inner

    def prepared(self, calls: Sequence[ToolCall]) -> list[Call]:
        """Return a reply's calls, ready for the first stage."""
        return self.prepare.prepared(calls)

    async def judge(self, on_way: list[Call], at: int) -> Call:
        """Judge the call at index `at`.

        Each stage updates it in `on_way`, because an interrupt may end a stage's wait.
        """
        for stage in self._stages:
            on_way[at] = call = await stage.judge(on_way[at])
            if call.result is not None:
                break
        return on_way[at]

    def has(self, tool: str) -> bool:
        """Return True if the session has its own tool with this name."""
        return tool in self.prepare.tools

    async def permitted(self, call: ToolCall) -> Call:
        """Decide about a call of one of the session's own tools that the model did not make.

        `why_refused` of the returned call shows whether it may run.
        """
        return await self.judge([Call(call, call, call.name)], 0)

    def unrun(self, call: ToolCall, why: str) -> ToolResult:
        """Return the result of a call that was never judged."""
        result = refusal(call, why, "interrupted")
        self.finish.note(self.prepared([call])[0].asked, result)
        return result

    def record(self, call: Call) -> Recorded:
        """Record the result of a call."""
        return self.finish.record(call, self._within)


class ToolRun:
    """Runs the tools of calls."""

    def __init__(
        self, run: RunTool, ctx: SessionToolContext, gate: ApprovalGate, hooks: Hooks, builder: RequestBuilder
    ) -> None:
        self._run, self._ctx, self._gate, self._hooks, self._builder = run, ctx, gate, hooks, builder
        self._numbers = True

    def inside(self, limits: ToolLimits) -> ToolRun:
        """Return the same for calls that a program makes: it shows no progress, and files come without line numbers."""
        inner = copy(self)
        inner._ctx, inner._numbers = self._ctx.inside(limits), False
        return inner

    async def __call__(self, call: Call) -> Call:
        """Run a call's tool on the allowed path and set the call's `output`. Raises AgentError if the tool fails."""
        output = await self._run(call.its_tool, self._context(call), call.call.call_id, call.call.input)
        return replace(call, output=output)

    def _context(self, call: Call) -> SessionToolContext:
        permitted = call.call

        def objection(url: str) -> str:
            return self._gate.objection(replace(permitted, input={**permitted.input, "url": url}), permitted)

        hidden = call.decision.hidden.paths if call.decision is not None else ()
        scope = CallScope(call.paths, hidden, call.box, call.folder, self._hooks.variables, call.buffers, objection)
        by_model = call.its_tool.traits.reads_files and self._ctx.limits.line_numbers == "auto"
        if not self._numbers:
            return self._ctx.for_call(scope, "never")
        return self._ctx.for_call(scope, self._builder.model.spec.line_numbers if by_model else None)
