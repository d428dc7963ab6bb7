"""Extensions in one session: calls of their handlers, their states, and what they ask of the session."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentcli.agent.calls.execute import CallStages
from agentcli.agent.core import SessionCore
from agentcli.agent.ports import Prompt
from agentcli.core.clock import Clock
from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError, UsageError
from agentcli.core.event import Event, Warned
from agentcli.core.message import Message, Text, ToolCall, ToolResult, reminder
from agentcli.core.record import EXTENSION, FeatureState, Pin, Trigger
from agentcli.core.record import Compaction as CompactionRecord
from agentcli.core.sanitise import coloured, safe_line
from agentcli.core.text.truncate import clip
from agentcli.core.tool import Choice, Question
from agentcli.extension import Answer, Compaction, Completed, Context, Decision, Fetched, Status
from agentcli.extension import ToolCall as CallEvent
from agentcli.features.extensions.context import TEXT, SessionContext, Shown, said
from agentcli.features.extensions.loading import Extension, Handling, Loaded

SECONDS = 24 * 3600.0
"""Seconds that a command, or a function around a turn, may take: the person can interrupt it."""
SHOWN = 300
"""Characters of a text in the status line."""
STATE = 1_000_000
"""Characters of an extension's state as JSON."""
MOST = 3
"""Prompts in a row with which extensions may prolong the work of one prompt of the person."""
RETURNS = {
    "session_start": ("text",),
    "prompt": ("text", "add", "block"),
    "before_request": ("text",),
    "tool_call": ("deny", "ask", "replace"),
    "tool_result": ("text", "add"),
    "reply": ("text",),
    "turn_end": ("text",),
    "before_compact": ("text", "block", "summary"),
    "after_compact": ("text",),
    "status": ("text",),
}
"""What the handlers of an event may return."""
_calling: ContextVar[frozenset[str]] = ContextVar("calling", default=frozenset())
"""Extensions whose handlers wait for a call that they have made themselves."""


def state_name(name: str) -> str:
    """Return the feature name of an extension's state."""
    return f"{EXTENSION}{name}"


class SessionHost:
    """A session, as its extensions use it."""

    def __init__(self, run: Loaded, core: SessionCore) -> None:
        self.run, self.core = run, core
        self.events: list[Event] = []
        """Events that no front end has seen."""
        self.prompts: list[Prompt] = []
        """Prompts that wait for the end of the turn."""
        self.status: dict[str, str] = {}
        self.pins: list[int] = []
        """Numbers of messages to pin once the call has ended."""
        self.prolonged = 0
        """Prompts of extensions since the person's last one."""
        self._states: dict[str, tuple[object, dict[str, Any], str]] = {}
        self._idle: dict[Any, float] = {}
        self._told: dict[Any, tuple[object, float]] = {}
        """Facts with which a handler of `status` was called, and the time. The facts are None if it gave no text."""

    @property
    def is_subagent(self) -> bool:
        """True if the session is a subagent's."""
        return self.core.setup.parent.depth > 0

    def of(self, owner: str) -> SessionContext:
        """Return the context for a tool of an extension."""
        extension = self.run.named(owner)
        if extension is None:
            raise UsageError(f"The extension {owner} is not loaded.")
        return SessionContext(self, extension, Clock())

    def keep(self, owner: str) -> None:
        """Record the state of an extension after a call of its tool."""
        if (extension := self.run.named(owner)) is not None:
            self.keep_state(extension)
            self._keep_pins(extension)

    async def each(self, event: str, value: Callable[[], object]) -> list[Decision]:
        """Call the handlers of an event one after another, and return their decisions; a text has the kind `add`."""
        found = [await self.fire(extension, handler, value()) for extension, handler in self.handlers(event)]
        return [one for one in found if one is not None]

    def handlers(self, event: str) -> Iterator[tuple[Extension, Handling]]:
        """Yield the handlers of an event in the order of their extensions."""
        busy = _calling.get()
        for extension in self.run.active():
            if extension.name not in busy:
                yield from ((extension, handler) for handler in extension.handlers if handler[1].event == event)

    async def fire(self, extension: Extension, handler: Handling, value: object) -> Decision | None:
        """Call a handler, and return its decision; None for nothing, and for a fault."""
        function, use = handler
        event = use.event
        returned = await self.call(extension, function, use.seconds, event, value)
        if returned is None:
            return None
        kind = "text" if isinstance(returned, str) else returned.kind if isinstance(returned, Decision) else ""
        if kind not in RETURNS.get(event, ()):
            allowed = ", ".join(RETURNS.get(event, ())) or "nothing"
            extension.fault(f"{event} may return {allowed}, not {clip(repr(returned), 60)}.", event)
            return None
        decision = Decision("add", returned) if isinstance(returned, str) else returned
        return self._bounded(extension, event, decision, whole=isinstance(returned, str))

    def _bounded(self, extension: Extension, event: str, decision: Decision, whole: bool) -> Decision:
        if len(decision.text) > TEXT:
            extension.fault(f"a text of {len(decision.text):,} characters was cut to {TEXT:,}.", event)
            decision = replace(decision, text=clip(decision.text, TEXT))
        return replace(decision, kind="replace") if whole and event in ("prompt", "tool_result") else decision

    async def call(
        self,
        extension: Extension,
        function: Any,
        seconds: float,
        doing: str,
        *values: object,
        context: SessionContext | None = None,
        named: dict[str, Any] | None = None,
        raises: bool = False,
    ) -> Any:
        """Call a function of an extension; None after a fault. Its state is recorded afterwards.

        An AgentError is a fault, too, unless it `raises`.
        """
        clock = Clock()
        try:
            context = context or SessionContext(self, extension, clock)
            work = self.run.worker.begin(extension.name, function, *_given(function, values, context), **(named or {}))
            return await self.run.worker.result(work, seconds, clock)
        except AgentError as error:
            if raises:
                raise
            extension.fault(error, doing)
            return None
        except Exception as error:  # noqa: BLE001 - code of others may raise anything; the person sees it once
            extension.fault(error, doing)
            return None
        finally:
            extension.calls += 1
            extension.seconds += clock.used
            self.keep_state(extension)
            self._keep_pins(extension)

    def call_event(self, name: str, given: Mapping[str, Any]) -> CallEvent:
        """Return the event of a call."""
        traits = self.core.traits.get(name)
        if traits is None or not traits.touches_files:
            return CallEvent(name, dict(given))
        subject = str(traits.subject.of(given) or ".")
        names = _patched(subject) if traits.patches else (subject,)
        paths = (Path(os.path.realpath(Path(self.core.ctx.cwd, os.path.expanduser(each)))) for each in names)
        return CallEvent(name, dict(given), tuple(paths), traits.edits_files)

    def compaction_event(self, trigger: Trigger, focus: str, going: Collection[int]) -> Compaction:
        """Return the event of a compaction that will replace the messages with these numbers."""
        history = self.core.journal.history
        newest = history.compaction.body if history.compaction is not None else None
        former = newest.snapshot if isinstance(newest, CompactionRecord) else ""
        return Compaction(trigger, focus, former, tuple(one for one in said(history) if one.number in going))

    def take_events(self) -> tuple[Event, ...]:
        """Return the events since the last call, with the faults that the person has not seen."""
        events, self.events = self.events, []
        return (*events, *(Warned(text) for one in self.run.all for text in one.take_untold()))

    def state_of(self, extension: Extension) -> MutableMapping[str, Any]:
        """Return the state of an extension in this session: the same object until another one is on record."""
        kept = self.core.journal.history.features.get(state_name(extension.name))
        known = self._states.get(extension.name)
        if known is None or known[0] is not kept:
            data = dict(kept.data.get("state", {})) if kept is not None else {}
            text = json.dumps(data)
            self._states[extension.name] = known = (kept, json.loads(text), text)
        return known[1]

    def keep_state(self, extension: Extension) -> None:
        """Record the state of an extension if it has changed."""
        known = self._states.get(extension.name)
        if known is None:
            return
        try:
            text = json.dumps(known[1])
        except (TypeError, ValueError, RecursionError) as error:
            extension.fault(f"its state is not JSON: {error}", "state")
            self._states.pop(extension.name)
            return
        if text == known[2]:
            return
        if len(text) > STATE:
            extension.fault(f"its state has {len(text):,} characters; {STATE:,} are allowed.", "state")
            self._states.pop(extension.name)
            return
        name = state_name(extension.name)
        self.events.append(self.core.record(FeatureState(name, {"state": json.loads(text)})))
        self._states[extension.name] = (self.core.journal.history.features.get(name), known[1], text)

    def _keep_pins(self, extension: Extension) -> None:
        """Record the pins that an extension has asked for."""
        pins, self.pins = self.pins, []
        for number in pins:
            record = self.core.journal.record(number)
            if record is None or not isinstance(record.body, Message | ToolResult):
                extension.fault(f"there is no message {number} to pin.", "pin")
            elif number not in self.core.journal.history.pins:
                self.events.append(self.core.record(Pin(number)))

    def settings_of(self, extension: Extension) -> Any:
        """Return the settings of an extension."""
        return self.run.settings_of(extension)

    def show(self, shown: Shown) -> None:
        """Show a text to the person."""
        self.events.append(shown.event)

    def add_prompt(self, text: str, more: str = "") -> None:
        """Send a prompt once no turn runs."""
        text = clip(text, TEXT)
        along = (reminder(clip(more, TEXT)),) if more else ()
        self.prompts.append(Prompt(text, (Text(text), *along), typed=False))

    def set_status(self, name: str, text: str) -> None:
        """Set an extension's text in the status line."""
        self.status[name] = coloured(" ".join(text.split("\n")), SHOWN)

    async def ask(self, question: str, options: Sequence[str], default: str | None) -> str:
        """Ask the person. Raise UsageError if nobody can answer and there is no default."""
        choices = tuple(Choice(safe_line(str(option))) for option in options)
        answers = await self.core.setup.person.ask([Question(safe_line(str(question)), choices=choices)])
        if answers:
            return answers[0]
        if default is None:
            raise UsageError("Nobody answered the question, and it has no default.")
        return default

    async def run_command(self, extension: Extension, command: str, timeout: float) -> Completed:
        """Run a shell command as a call of the model would run, without a record."""
        _calling.set(_calling.get() | {extension.name})
        stages = self.core.ctx.service(CallStages)
        if stages is None or not stages.has("bash"):
            return Completed("This session has no bash.", None)
        given = {"command": command, "timeout": int(timeout * 1000)}
        permitted = await stages.permitted(ToolCall(f"extension-{uuid4().hex[:12]}", "bash", given))
        if permitted.why_refused:
            return Completed(permitted.why_refused, None)
        output = (await stages.run_unrecorded(permitted)).output
        assert output is not None
        code = output.metadata.get("exit_code", 0 if output.status == "success" else None)
        return Completed("" if output.output == "(no output)" else output.output, code)

    async def execute(self, command: str, stdin: str, timeout: float) -> Completed:
        """Run a shell command of the person, without rules and sandbox."""
        from agentcli.features.extensions.executing import execute

        return await execute(command, stdin, timeout, Path(self.core.ctx.cwd))

    async def fetch(self, url: str, headers: Mapping[str, str], body: str, private: bool) -> Fetched:
        """Send a request to a web server. Raise AgentError."""
        from agentcli.features.extensions.fetching import fetch

        return await fetch(url, headers, body, private, self.core.setup.settings.limits)

    async def ask_aside(self, question: str) -> Answer:
        """Ask a side question. Raise AgentError."""
        from agentcli.agent.aside import SideQuestion

        aside = SideQuestion(self.core, question)

        async def keep(event: Event) -> None:
            self.events.append(event)

        await aside.ask(asyncio.Event(), keep, tell_cost=False)
        return Answer(aside.answer, aside.notes, aside.spent)

    async def ask_model(self, prompt: str, model: str, system: str) -> str:
        """Return the answer of a model to one request, whose cost is recorded. Raise AgentError."""
        from agentcli.features.extensions.requests import answer

        return await answer(self.core, self.events, prompt, model, system)

    async def refresh_status(self, now: Status) -> bool:
        """Call the handlers of `status` that are due; return True if a text has changed."""
        before = dict(self.status)
        for extension, handler in self.handlers("status"):
            key, plain, moment = _key(extension, handler), replace(now, seconds=0.0), time.monotonic()
            facts, ran = self._told.get(key, (None, float("-inf")))
            if moment - ran < handler[1].every and facts in (None, plain):
                continue
            decision = await self.fire(extension, handler, now)
            if decision is not None:
                self.set_status(extension.name, decision.text)
            self._told[key] = (plain if decision is not None and decision.text else None, moment)
        return self.status != before

    def idle_due(self, last: float) -> list[tuple[Extension, Handling, float]]:
        """Return the handlers of `idle` that are due, with the seconds since the last turn."""
        now, due = time.monotonic(), []
        for extension in self.run.active():
            for handler in extension.handlers:
                key, use = _key(extension, handler), handler[1]
                if use.event == "idle" and now - max(last, self._idle.get(key, last)) >= use.every:
                    self._idle[key] = now
                    due.append((extension, handler, now - last))
        return due


def _patched(patch: str) -> Sequence[str]:
    """Return the files that a patch names; none if it cannot be read, so that the call fails."""
    from agentcli.core.text.patch import PatchError, touched

    try:
        return touched(patch)
    except PatchError:
        return ()


def _key(extension: Extension, handler: Handling) -> tuple[str, str]:
    """Return what names a handler, also after a reload."""
    return extension.name, handler[0].__qualname__


def _given(function: Any, values: Sequence[object], context: SessionContext) -> list[object]:
    """Return the arguments of a handler: the event and the context, or fewer of them."""
    given: list[object] = []
    rest = list(values)
    for each in inspect.signature(function).parameters.values():
        if each.kind not in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            continue
        if each.name == "ctx" or each.annotation in (Context, "Context"):
            given.append(context)
        elif rest:
            given.append(rest.pop(0))
    return given
