"""One run of a script: its process, the calls that it makes, and its limits."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentcli.agent.calls.call import PrintedEvents
from agentcli.agent.calls.execute import CallStages, execute
from agentcli.agent.core import SessionCore
from agentcli.core.clock import Clock
from agentcli.core.codec.encode import dump_line
from agentcli.core.errors import ToolError
from agentcli.core.event import Event, Recorded, ToolProgress, ToolStarted
from agentcli.core.mcp_servers import PREFIX, ServerTool
from agentcli.core.message import FOR_MODEL, ToolCall, ToolResult
from agentcli.core.record import InnerCall
from agentcli.core.subagent_result import CALLS
from agentcli.core.tasks import start_task
from agentcli.core.text.terminal import shown
from agentcli.core.text.words import plural
from agentcli.core.tool import NO_OUTPUT, ToolContext, ToolLimits, ToolOutput
from agentcli.features.scripts.bounds import Bounds
from agentcli.features.scripts.box import boxed, refused_calls
from agentcli.features.scripts.texts import flat, parted
from agentcli.permissions.sandbox import Sandbox
from agentcli.system.process import Command, Ended, run
from agentcli.tools.lib.output_buffer import OutputBuffer

TOOLS = ("read", "grep", "glob", "bash", "recall")
"""Built-in tools that a script may call in addition to tools of servers."""
_TICK = 0.05
"""Seconds between two looks at its limits."""


class _Stopped(Exception):
    """The script broke a limit or a rule of the connection; its text is the reason."""


async def run_script(
    core: SessionCore, sandbox: Sandbox, bounds: Bounds, ctx: ToolContext, call_id: str, code: str
) -> ToolOutput:
    """Run a script to its end. Its output is what it printed.

    Cancelling this ends the script and the calls that it is making. Raises ToolError if it cannot start.
    """
    stages = ctx.service(CallStages)
    if stages is None or not sandbox.closes:
        raise ToolError("Scripts need the sandbox bubblewrap, which does not work here. Make the calls one by one.")
    if len(code) > bounds.code:
        raise ToolError(f"The script has {len(code):,} characters. At most {bounds.code:,} are possible.")
    calls = ScriptCalls(core, call_id, stages, bounds)
    capture = OutputBuffer(ctx.limits, lambda text: ctx.keep_output(call_id, text), call_id)
    box, (ours, theirs) = boxed(sandbox), socket.socketpair()
    with ours, theirs:
        command = Command((), Path("/"), {}, channel=theirs).within(box)
        process = start_task(run(command, capture, None, None))
        serving = start_task(_served(ours, calls, code))
        try:
            why = await _until_over(process, serving, calls, capture)
        except asyncio.CancelledError:
            why, calls.interrupted = "It was interrupted.", True
        finally:
            calls.interrupt.set()
            process.cancel()
            if calls.at_work:
                await asyncio.wait({serving})
            serving.cancel()
            await asyncio.gather(process, serving, return_exceptions=True)
            capture.close()
    return _output(calls, capture, process.result(), why)


async def _until_over(
    process: asyncio.Task[Ended], serving: asyncio.Task[None], calls: ScriptCalls, capture: OutputBuffer
) -> str:
    """Wait for the end of a script; return why it was stopped, or an empty text."""
    while not process.done():
        await asyncio.wait({process, serving} if not serving.done() else {process}, timeout=_TICK)
        if broken := _trouble(serving):
            return broken
        if calls.clock.used > calls.bounds.seconds:
            return f"It ran longer than {calls.bounds.seconds:g} s, its calls not counted."
        if capture.size > calls.bounds.printed:
            return f"It printed more than {calls.bounds.printed:,} bytes."
    return _trouble(serving)


def _trouble(serving: asyncio.Task[None]) -> str:
    """Return the rule that the script broke on its connection, if any. Raises an error of ours."""
    error = serving.exception() if serving.done() else None
    if error is not None and not isinstance(error, _Stopped | OSError):
        raise error
    return str(error) if isinstance(error, _Stopped) else ""


async def _served(connection: socket.socket, calls: ScriptCalls, code: str) -> None:
    """Send the script, then answer its calls until it closes the connection. Raises _Stopped."""
    reader, writer = await asyncio.open_connection(sock=connection.dup(), limit=calls.bounds.request)
    start = {
        "code": code,
        "threads": calls.bounds.at_once,
        "memory": calls.bounds.memory,
        "filter": refused_calls().hex(),
        "tools": calls.functions(),
        "servers": calls.servers(),
    }
    try:
        writer.write(dump_line(start))
        await writer.drain()
        while line := await _line(reader, calls.bounds.request):
            with calls.clock.stopped():
                results = await calls.make(_requested(line))
            if calls.interrupt.is_set():
                return
            writer.write(dump_line({"results": results}))
            await writer.drain()
    finally:
        writer.close()


async def _line(reader: asyncio.StreamReader, most: int) -> bytes:
    try:
        return await reader.readline()
    except ValueError as error:
        raise _Stopped(f"It asked for calls with more than {most:,} bytes at once.") from error


def _requested(line: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls in a line, each with its input. Raises _Stopped for a line that is none of the client's."""
    try:
        calls = json.loads(line)["calls"]
        found = [(call["name"], call["input"]) for call in calls]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = []
    if not found or not all(isinstance(name, str) and isinstance(given, dict) for name, given in found):
        raise _Stopped("It wrote something else than a call to its connection.")
    return found


class _InnerEvents(PrintedEvents):
    """Events of a script's calls. A hook that ends the turn ends them, too."""

    def __init__(self, turn: PrintedEvents) -> None:
        self._turn = turn
        super().__init__()

    @property
    def ended(self) -> str:
        return self._turn.ended

    @ended.setter
    def ended(self, why: str) -> None:
        self._turn.ended = why or self._turn.ended


class ScriptCalls:
    """Calls of one script: each goes the way of the model's own calls, and is recorded within the script's."""

    def __init__(self, core: SessionCore, call_id: str, stages: CallStages, bounds: Bounds) -> None:
        self._core, self.call_id, self._stages, self.bounds = core, call_id, stages, bounds
        self._inside = stages.inside(call_id, _limits(core.setup.settings.limits, bounds))
        self._printed = _InnerEvents(core.printed)
        self._results: dict[str, ToolResult] = {}
        self._sent = 0
        self.count = 0
        self.titles: list[str] = []
        self.notes: dict[str, None] = {}
        """Notes on results for the model, in order."""
        self.clock, self.interrupt = Clock(), asyncio.Event()
        self.at_work = self.interrupted = False

    def functions(self) -> Mapping[str, list[str]]:
        """Return the parameters of each built-in tool that the script may call."""
        tools = self._stages.prepare.tools
        return {name: [*tools[name].takes["properties"]] for name in TOOLS if name in tools}

    def servers(self) -> Mapping[str, Mapping[str, tuple[str, list[str]]]]:
        """Return the tools of servers by their names as attributes: the full name, and the parameters."""
        servers = self._core.setup.servers
        found: dict[str, dict[str, tuple[str, list[str]]]] = {}
        for tool in servers.tools() if servers is not None else ():
            own = found.setdefault(_attribute(tool.server), {})
            own[_attribute(tool.tool)] = (tool.name, _parameters(tool))
        return found

    async def make(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Mapping[str, Any]]:
        """Make the calls as if they came in one reply, and return their results. Raise _Stopped at a limit."""
        if self.count + len(calls) > self.bounds.calls:
            raise _Stopped(f"It wanted to make more than {self.bounds.calls} calls.")
        if self._core.spending.limits.left() == 0.0:
            raise _Stopped("The time limit of this run is reached.")
        made = [self._numbered(name, given) for name, given in calls]
        self.at_work = True
        try:
            known = [call for call in made if self._may_call(call.name)]
            await execute(known, self._inside, self._printed, self.interrupt, self._emit)
        finally:
            self.at_work = False
        if self._core.printed.ended:
            raise _Stopped(self._core.printed.ended)
        told = [self._told(call) for call in made]
        self._sent += sum(len(each["output"]) for each in told)
        if self._sent > self.bounds.results:
            raise _Stopped(f"The results of its calls have more than {self.bounds.results:,} characters.")
        return told

    def _numbered(self, name: str, given: Mapping[str, Any]) -> ToolCall:
        self.count += 1
        return ToolCall(f"{self.call_id}-{self.count}", name, given)

    def _may_call(self, name: str) -> bool:
        return name.startswith(PREFIX) or (name in TOOLS and self._stages.has(name))

    async def _emit(self, event: Event) -> None:
        """Show an event of a call. Its start is progress of the script's call."""
        match event:
            case ToolStarted(_, title):
                self.titles.append(title)
                event = ToolProgress(self.call_id, f"{title}\n", len(self.titles))
            case Recorded(record) if isinstance(record.body, InnerCall):
                self._results[record.body.call.call_id] = record.body.result
            case _:
                pass
        self._core.printed.add(event)

    def _told(self, call: ToolCall) -> Mapping[str, Any]:
        """Return a call's result as the script gets it: the whole text, and the exit code of a command."""
        result = self._results.pop(call.call_id, None)
        if result is None:
            known = ", ".join([*self.functions(), "mcp.SERVER.TOOL"])
            return {"ok": False, "output": f"{call.name} is not a function of scripts. There are: {known}."}
        code = result.metadata.get("exit_code")
        ok = not result.failed or (result.status == "error" and isinstance(code, int))
        if not ok:
            return {"ok": False, "output": result.for_people[: self.bounds.result]}
        whole = result.output_file if "head_limit" not in call.input else ""
        text, traits = shown(self._core.journal.output(whole)) if whole else "", self._stages.prepare.traits_of(call)
        if text and traits.searches:
            text = flat(text)
        if not text:
            text, notes = parted(result, traits)
            self.notes |= dict.fromkeys(note for note in notes if not note.startswith("[exit code "))
        if traits.runs_commands:
            text = text.rstrip("\n")  # like `$(…)` in a shell
        if len(text) > self.bounds.result:
            self.notes[f"[{result.title}: its result was cut at {self.bounds.result:,} characters]"] = None
        return {"ok": True, "output": text[: self.bounds.result], "exit_code": code}


def _limits(limits: ToolLimits, bounds: Bounds) -> ToolLimits:
    """Return the limits of a script's calls: it can work with more than a model reads."""
    lines, size = max(limits.read_lines, bounds.read), max(limits.read_bytes, bounds.read)
    return replace(limits, read_lines=lines, read_bytes=size, matches=max(limits.matches, bounds.matches))


def _attribute(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _parameters(tool: ServerTool) -> list[str]:
    properties = tool.parameters.get("properties")
    return [*properties] if isinstance(properties, Mapping) else []


def _output(calls: ScriptCalls, capture: OutputBuffer, ended: Ended, why: str) -> ToolOutput:
    text = capture.text().rstrip("\n")
    if not why and ended.exit_code not in (0, 1):
        why = f"It ended with exit code {ended.exit_code}."
    first = f"{calls.call_id}-1"
    made = plural(calls.count, "call")
    recalled = f'; recall(id="{first}") shows the result of the first' if calls.count else ""
    stopped = f"[stopped after {made}: {why}]" if why else ""
    note = f"[{made}{recalled}]" if calls.count else ""
    failed = bool(why) or ended.exit_code != 0
    return ToolOutput(
        "\n".join(filter(None, (text or NO_OUTPUT, *list(calls.notes)[: calls.bounds.notes], stopped, note))),
        status="interrupted" if calls.interrupted else "error" if failed else "success",
        truncated=capture.cut,
        output_file=capture.file,
        metadata={CALLS: calls.titles, FOR_MODEL: note, "exit_code": ended.exit_code},
    )
