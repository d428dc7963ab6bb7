"""A tool call between reply and result: one value, which each stage returns with its findings added."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.agent.hooks import NOTHING, Outcome
from agentcli.context.inject import wrap
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.event import Event, PermissionDecided
from agentcli.core.message import FINDINGS, FOR_MODEL, Status, ToolCall, ToolResult
from agentcli.core.tool import NO_SANDBOX, CommandSandbox, Tool, ToolOutput, Traits
from agentcli.permissions.unattended import NOBODY

if TYPE_CHECKING:
    from agentcli.permissions.decide import Decision


@dataclass(frozen=True, slots=True)
class Call:
    """State of one tool call of the newest reply."""

    asked: ToolCall
    """The model's call with repaired tool name and input."""
    call: ToolCall
    """The call as it will run: hooks and the person may have changed its input."""
    sent_as: str
    """The name that the model called it by."""
    ignored: Sequence[str] = ()
    """Parameters that the tool does not have."""
    later: Sequence[ToolCall] = ()
    """The calls of the same reply that come after it."""
    tool: Tool | None = None
    notes: tuple[str, ...] = ()
    """Texts of hooks for the model, added to the result."""
    hooked: Outcome = NOTHING
    """The outcome of hooks that ran before the decision."""
    decision: Decision | None = None
    """Decision of rules, hooks and the person; None until decided, and for a call with an invalid tool or input."""
    folder: Path | None = None
    """The folder in which a command starts; None for the session's own."""
    why_refused: str = ""
    """The reason why it is refused, for the model."""
    box: CommandSandbox = NO_SANDBOX
    buffers: Mapping[Path, bytes] = field(default_factory=dict)
    """The unsaved content of the files that it reads."""
    output: ToolOutput | None = None
    result: ToolResult | None = None
    """Its result; once set, no further stage judges the call."""

    @property
    def its_tool(self) -> Tool:
        """The tool of a call that has passed the first stage."""
        assert self.tool is not None
        return self.tool

    @property
    def harmless(self) -> bool:
        """True for a command that runs because it only reads."""
        return self.decision is not None and self.decision.rule == "read-only"

    @property
    def paths(self) -> tuple[Path, ...]:
        """The resolved paths that were approved. The tool may use only these, even if links change before it runs."""
        return self.decision.paths if self.decision is not None else ()

    @property
    def event(self) -> PermissionDecided | None:
        """The event with the decision; None if nothing had to be decided."""
        if self.decision is None:
            return None
        made = self.decision
        allow = (made.grants() or made.prefixes) if made.decision == "deny" and made.why.endswith(NOBODY) else ()
        return PermissionDecided(self.call.call_id, self.call.name, made.decision, made.rule, made.why, allow=allow)

    @property
    def title_now(self) -> str:
        """Title of the call as it will run; empty for an unknown tool."""
        return _title(self.tool, self.call) if self.tool is not None else ""

    def with_input(self, given: Mapping[str, Any]) -> Call:
        """Return the call with another input to run with."""
        return replace(self, call=replace(self.call, input=dict(given)))

    def decided(self, decision: Decision, why: str = "") -> Call:
        """Return the call with its decision.

        A denial sets `result`; `why` gives the model more detail than the decision.
        """
        call = replace(self, decision=decision)
        if decision.decision != "deny":
            return call
        hint = why.removeprefix(decision.why) if decision.why and why != decision.why else ""
        return call.refused(why or decision.why, "denied", hint)

    def with_findings(self, text: str) -> Call:
        """Return the call of an edit with the text about the edit's new findings, for the model and the person."""
        if not text or self.output is None:
            return self
        told = "\n".join(filter(None, [self.output.metadata.get(FINDINGS, ""), text]))
        output = f"{self.output.output.rstrip()}\n\n{text}"
        return replace(
            self, output=replace(self.output, output=output, metadata={**self.output.metadata, FINDINGS: told})
        )

    def refused(self, why: str, status: Status, hint: str = "") -> Call:
        """Return the call as refused: it does not run. `hint` is the part of `why` that only the model needs."""
        title = _title(self.tool, self.asked) if self.tool is not None else ""
        result = refusal(self.asked, why, status, title)
        if hint:
            result = replace(result, metadata={**result.metadata, FOR_MODEL: hint})
        result = with_notes(result, self.notes)
        return replace(self, why_refused=why, result=result)


Run = Callable[[Call], Coroutine[Any, Any, Call]]


class Stage:
    """A stage that calls pass. Calls are judged in the order of their reply; allowed calls may run in parallel."""

    async def judge(self, call: Call) -> Call:
        """Return the call with this stage's findings; setting `result` refuses it. May ask a person."""
        return call

    def around(self, run: Run) -> Run:
        """Return a run that wraps the run of the following stages."""
        return run

    def inside(self) -> Stage:
        """Return the stage for calls that a running call makes."""
        return self


def wrapped(stages: Sequence[Stage], run: Run) -> Run:
    """Return the run with the stages around it, the first one outermost."""
    return reduce(lambda inner, stage: stage.around(inner), reversed(stages), run)


def beginning(call: ToolCall, tool: Tool, folder: Path | None = None) -> Call:
    """Return a call of a known tool at the start of its way."""
    return Call(call, call, call.name, tool=tool, folder=folder)


def edited_later(call: Call, traits: Mapping[str, Traits]) -> bool:
    """Return True if a later call of the same reply edits the file of this one."""
    mine = call.its_tool.traits.subject.of(call.asked.input)
    return any(
        known.edits_files and known.subject.of(other.input) == mine
        for other in call.later
        if (known := traits.get(other.name)) is not None
    )


def refusal(call: ToolCall, why: str, status: Status, title: str = "") -> ToolResult:
    """Return the answer to a call that did not run."""
    now = time.time()
    return ToolResult(call.call_id, call.name, status, why, title=title, started=now, ended=now)


def with_notes(result: ToolResult, notes: Sequence[str]) -> ToolResult:
    """Return the result with the hooks' texts for the model from before the call."""
    if not notes:
        return result
    added = "\n".join(wrap("pre-tool-use-hook", note) for note in notes)
    return replace(result, output=f"{result.output}\n{added}".lstrip("\n"))


def _title(tool: Tool, call: ToolCall) -> str:
    """Return the title of a call, or its tool's name if its input gives none."""
    # A model may send any JSON; a title is not worth a failure.
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
        return tool.title(call.input) or tool.name
    return tool.name


class PrintedEvents:
    """Queue of events from calls on their way, and the end of the turn.

    `came` is set when there is an event, or something else to look at.
    """

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.ended = ""
        """The reason why a hook ends the turn, if any."""
        self._events: list[Event] = []

    def add(self, event: Event) -> None:
        """Have an event shown."""
        self._events.append(event)
        self.came.set()

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        self.came.clear()
        events, self._events = self._events, []
        return events
