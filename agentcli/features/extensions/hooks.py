"""Events of the agent for extensions. They follow the hooks of files, with the same rights, but never allow a call."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentcli.agent.hooks import Answer, Hooks, Outcome, Source, Subagent, Verdict
from agentcli.core.dataclass import replace
from agentcli.core.journal import Journal
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Trigger
from agentcli.extension import Compaction, Decision, Prompt, Reply, SessionEnd, SessionStart
from agentcli.extension import ToolResult as ResultEvent
from agentcli.features.extensions.session import SessionHost

if TYPE_CHECKING:
    from agentcli.core.errors import AgentError
    from agentcli.features.extensions.loading import Extension

_EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "tool_call",
    "PostToolUse": "tool_result",
    "Stop": "reply",
    "PreCompact": "before_compact",
    "PostCompact": "after_compact",
}


class ExtensionHooks(Hooks):
    """Hooks of a session with its extensions. `host` is set once the session's core is complete."""

    host: SessionHost | None = None

    def __init__(self, inner: Hooks) -> None:
        self.inner = inner
        self.continued = False
        """True if the next prompt is an extension's own."""

    @property
    def last(self) -> Mapping[Hashable, str]:  # type: ignore[override]
        """The newest result of each hook of files."""
        return self.inner.last

    @property
    def variables(self) -> Mapping[str, str]:  # type: ignore[override]
        """Variables of the hooks of files."""
        return self.inner.variables

    @property
    def judges_calls(self) -> bool:
        return True

    def has(self, *names: str) -> bool:
        if self.inner.has(*names):
            return True
        events = {_EVENTS[name] for name in names if name in _EVENTS}
        host = self.host
        return host is not None and any(next(host.handlers(event), None) is not None for event in events)

    @property
    def is_subagent(self) -> bool:
        return self.inner.is_subagent or (self.host is not None and self.host.is_subagent)

    def identity(self, kind: str, child: Journal) -> Subagent | None:
        return self.inner.identity(kind, child)

    def go_on_from(self, former: Hooks) -> None:
        self.inner.go_on_from(former.inner if isinstance(former, ExtensionHooks) else former)

    async def session_start(self, source: Source, interrupt: asyncio.Event) -> Outcome:
        outcome = await self.inner.session_start(source, interrupt)
        return await self._with_texts(outcome, "session_start", SessionStart(source))

    async def session_end(self, reason: str) -> Outcome:
        outcome = await self.inner.session_end(reason)
        return await self._with_texts(outcome, "session_end", SessionEnd(reason))

    async def prompt(self, text: str, interrupt: asyncio.Event) -> Outcome:
        outcome = await self.inner.prompt(text, interrupt)
        host = self._main_host()
        if host is None or outcome.verdict.blocks:
            return self._told(outcome)
        if self.continued:
            self.continued = False
            return self._told(outcome)
        host.prolonged = 0
        for extension, handler in host.handlers("prompt"):
            decision = await host.fire(extension, handler, Prompt(text))
            if decision is not None and decision.kind == "block":
                blocked = replace(outcome.verdict, answer="deny", reason=decision.text)
                return self._told(replace(outcome, verdict=blocked, names=extension.name, by_extension=True))
            if decision is not None and decision.kind == "replace":
                text = decision.text
                outcome = replace(outcome, verdict=replace(outcome.verdict, text=text))
            elif decision is not None:
                outcome = _with_context(outcome, decision.text)
        return self._told(outcome)

    async def pre_tool(self, call: ToolCall) -> Outcome:
        outcome = await self.inner.pre_tool(call)
        if self.host is None or outcome.verdict.blocks:
            return self._told(outcome)
        given = dict(outcome.verdict.input if outcome.verdict.input is not None else call.input)
        for extension, handler in self.host.handlers("tool_call"):
            decision = await self.host.fire(extension, handler, self.host.call_event(call.name, given))
            if decision is None:
                continue
            if decision.kind == "replace" and isinstance(decision.input, Mapping):
                given = dict(decision.input)
                outcome = replace(outcome, verdict=replace(outcome.verdict, input=given), changed_by=extension.name)
            else:
                outcome = _decided(outcome, decision, extension)
            if outcome.verdict.blocks:
                break
        return self._told(outcome)

    async def permission(self, call: ToolCall, session: str, always: str) -> Outcome:
        return await self.inner.permission(call, session, always)

    async def post_tool(self, call: ToolCall, result: ToolResult, interrupted: bool = False) -> Outcome:
        outcome = await self.inner.post_tool(call, result, interrupted)
        if self.host is None:
            return outcome
        output = result.output
        for extension, handler in self.host.handlers("tool_result"):
            event = ResultEvent(call.name, dict(call.input), result.status, output)
            decision = await self.host.fire(extension, handler, event)
            if decision is not None and decision.kind == "replace":
                output = decision.text
                outcome = replace(outcome, verdict=replace(outcome.verdict, output=output))
            elif decision is not None:
                outcome = _with_context(outcome, decision.text)
        return self._told(outcome)

    async def stop(self, text: str, again: bool, jobs: Sequence[str], interrupt: asyncio.Event) -> Outcome:
        outcome = await self.inner.stop(text, again, jobs, interrupt)
        if outcome.verdict.blocks or (host := self._main_host()) is None:
            return self._told(outcome)
        for extension, handler in host.handlers("reply"):
            decision = await host.fire(extension, handler, Reply(text))
            if decision is not None:
                verdict = replace(outcome.verdict, answer="deny", reason=decision.text)
                return self._told(replace(outcome, verdict=verdict, names=extension.name, by_extension=True))
        return self._told(outcome)

    async def stop_failed(self, error: AgentError, text: str, interrupt: asyncio.Event) -> Outcome:
        return self._told(await self.inner.stop_failed(error, text, interrupt))

    async def pre_compact(self, trigger: Trigger, focus: str, interrupt: asyncio.Event | None, **more: Any) -> Outcome:
        outcome = await self.inner.pre_compact(trigger, focus, interrupt, **more)
        if outcome.verdict.blocks or (host := self._main_host()) is None:
            return self._told(outcome)
        for extension, handler in host.handlers("before_compact"):
            event = host.compaction_event(trigger, focus, more.get("summarised", ()))
            decision = await host.fire(extension, handler, event)
            if decision is not None and decision.kind == "block":
                verdict = replace(outcome.verdict, answer="deny", reason=decision.text)
                return self._told(replace(outcome, verdict=verdict, names=extension.name, by_extension=True))
            if decision is not None and decision.kind == "summary":
                outcome = replace(outcome, verdict=replace(outcome.verdict, summary=decision.text))
            elif decision is not None:
                focus = decision.text
                outcome = replace(outcome, verdict=replace(outcome.verdict, text=focus))
        return self._told(outcome)

    async def post_compact(self, trigger: Trigger, summary: str, interrupt: asyncio.Event) -> Outcome:
        outcome = await self.inner.post_compact(trigger, summary, interrupt)
        return await self._with_texts(outcome, "after_compact", Compaction(trigger, summary=summary))

    def notify(self, message: str, kind: str) -> None:
        self.inner.notify(message, kind)

    def close(self) -> None:
        self.inner.close()

    def _main_host(self) -> SessionHost | None:
        """Return the host, unless the session is a subagent's: there only calls and results matter."""
        return None if self.host is None or self.host.is_subagent else self.host

    async def _with_texts(self, outcome: Outcome, event: str, value: object) -> Outcome:
        host = self._main_host()
        if host is not None:
            for decision in await host.each(event, lambda: value):
                outcome = _with_context(outcome, decision.text)
        return self._told(outcome)

    def _told(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the events that no front end has seen."""
        events = self.host.take_events() if self.host is not None else ()
        return replace(outcome, events=(*outcome.events, *events)) if events else outcome


def _with_context(outcome: Outcome, text: str) -> Outcome:
    if not text:
        return outcome
    context = "\n\n".join(filter(None, [outcome.verdict.context, text]))
    return replace(outcome, verdict=replace(outcome.verdict, context=context))


def _decided(outcome: Outcome, decision: Decision, extension: Extension) -> Outcome:
    """Return the outcome with an extension's answer about a call; `ask` is stronger than a hook's `allow`."""
    answer: Answer = "deny" if decision.kind == "deny" else "ask"
    verdict: Verdict = replace(outcome.verdict, answer=answer, reason=decision.text)
    return replace(outcome, verdict=verdict, names=extension.name, by_extension=True)
