"""Outcomes of hooks: their verdicts, what they may decide about a call, and what they add to its result.

They may forbid and ask; they may allow only calls about which just the mode would ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

from agentcli.context.inject import wrap
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolResult
from agentcli.core.record import Mode

if TYPE_CHECKING:
    from agentcli.core.errors import AgentError
    from agentcli.core.event import Event
    from agentcli.core.journal import Journal
    from agentcli.core.message import ToolCall
    from agentcli.hooks.files import Hook
    from agentcli.permissions.decide import Decision

Answer = Literal["", "allow", "ask", "deny"]
Source = Literal["startup", "resume", "clear", "compact", "fork"]
"""The ways in which a session begins, for hooks."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The meaning of one hook's end, or of several together. Texts are empty if no hook gave one."""

    answer: Answer = ""
    """`deny` blocks the announced action; `allow` and `ask` are about a tool's call."""
    reason: str = ""
    """The reason of the answer, for the model."""
    context: str = ""
    """Text for the model that blocks nothing."""
    message: str = ""
    """Text for the person."""
    input: Mapping[str, Any] | None = None
    """A complete input that replaces the call's."""
    output: Any = None
    """The output that the model sees instead of the tool's."""
    ends: bool = False
    """The turn is to end; `stop_reason` says why."""
    stop_reason: str = ""
    failed: str = ""
    """The reason why the hook's end says nothing: it failed without blocking."""

    @property
    def blocks(self) -> bool:
        """True if the announced action must not happen."""
        return self.answer == "deny"


@dataclass(frozen=True, slots=True)
class Ran:
    """One hook that ran: its verdict, and its failure as a warning for the person, empty if it did not fail."""

    hook: Hook
    verdict: Verdict
    warning: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The combined verdict of the hooks of one event (`names`), and their messages to the person."""

    verdict: Verdict = field(default_factory=Verdict)
    events: tuple[Event, ...] = ()
    names: str = ""
    changed_by: str = ""
    """The name of the hook whose input replaces the call's."""


NOTHING = Outcome()


@dataclass(frozen=True, slots=True)
class Subagent:
    """The identity of a subagent: its id and kind, and the session and transcript of its parent."""

    id: str
    kind: str
    session: str = ""
    transcript: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables of its commands that hooks of the parent have set."""


class NoHooks:
    """The hooks of a session without any: every event passes, and nothing is written."""

    hooks: Sequence[Hook] = ()
    last: Mapping[Hook, Ran] = {}
    """The newest run of each hook."""
    variables: Mapping[str, str] = {}
    """Variables that hooks have set for the commands of the session (CLAUDE_ENV_FILE)."""

    def has(self, *names: str) -> bool:
        """Return True if a hook is defined for any of these events."""
        return False

    @property
    def is_subagent(self) -> bool:
        """True if the session is a subagent's."""
        return False

    def identity(self, kind: str, child: Journal) -> Subagent | None:
        """Return the identity of a subagent of this session; None if no hook would learn it."""
        return None

    async def session_start(self, source: Source, interrupt: asyncio.Event) -> Outcome:
        """SessionStart, or SubagentStart for a subagent."""
        return NOTHING

    def go_on_from(self, former: NoHooks) -> None:
        """Take over what hooks have set in the same session, as it was open before."""

    async def session_end(self, reason: str) -> Outcome:
        """SessionEnd; all its hooks together get a few seconds."""
        return NOTHING

    async def prompt(self, text: str, interrupt: asyncio.Event) -> Outcome:
        """UserPromptSubmit: a block keeps the prompt from being sent."""
        return NOTHING

    async def pre_tool(self, call: ToolCall) -> Outcome:
        """PreToolUse: deny, ask, allow, or another input, in our names."""
        return NOTHING

    async def permission(self, call: ToolCall, session: str, always: str) -> Outcome:
        """PermissionRequest: an answer in place of the person's; `session` and `always` are the rules that would be saved."""
        return NOTHING

    async def post_tool(self, call: ToolCall, result: ToolResult, interrupted: bool = False) -> Outcome:
        """PostToolUse, or PostToolUseFailure for a call that failed."""
        return NOTHING

    async def stop(self, text: str, again: bool, jobs: Sequence[str], interrupt: asyncio.Event) -> Outcome:
        """Stop, or SubagentStop for a subagent: a block continues the turn with the reason."""
        return NOTHING

    async def stop_failed(self, error: AgentError, text: str, interrupt: asyncio.Event) -> Outcome:
        """StopFailure: what hooks print is not looked at."""
        return NOTHING

    async def pre_compact(self, trigger: str, focus: str, interrupt: asyncio.Event | None, **more: Any) -> Outcome:
        """PreCompact: a block cancels the compaction if nothing forces it."""
        return NOTHING

    async def post_compact(self, trigger: str, summary: str, interrupt: asyncio.Event) -> Outcome:
        """PostCompact."""
        return NOTHING

    def notify(self, message: str, kind: str) -> None:
        """Notification; its hooks run in the background."""

    def close(self) -> None:
        """End the hooks that run in the background."""


def swayed(decision: Decision, outcome: Outcome, mode: Mode) -> Decision:
    """Return the decision with the answer of hooks about the call counted in."""
    answer, by = outcome.verdict.answer, outcome.names
    why = outcome.verdict.reason or f"the hook {by} {_VERBS[answer]}"
    rule = f"hook:{by}"
    match answer:
        case "deny":
            return replace(decision, decision="deny", rule=rule, why=f"A hook ({by}) blocked this call: {why}")
        case "ask" if decision.decision == "allow":
            return replace(decision, decision="ask", rule=rule, why=why, unsaved=f"the hook {by} still asks")
        case "allow" if may_allow(decision, mode):
            return replace(decision, decision="allow", rule=rule, why=why)
        case _:
            return decision


def may_allow(decision: Decision, mode: Mode) -> bool:
    """Return True if a hook may answer in place of the person: no rule, protected path or plan mode causes the question."""
    return decision.decision == "ask" and decision.rule.startswith("mode ") and mode != "plan"


def with_hook_output(result: ToolResult, outcome: Outcome) -> ToolResult:
    """Return the result as the model sees it: replaced if a hook says so, with the hooks' additions at its end. The original stays in the metadata."""
    verdict = outcome.verdict
    added = "\n\n".join(filter(None, [verdict.reason if verdict.blocks else "", verdict.context]))
    output = _replaced(verdict.output)
    if output is not None:
        result = replace(result, output=output, metadata={**result.metadata, "hook_replaced": result.output})
    if not added:
        return result
    return replace(result, output=f"{result.output}\n{wrap('post-tool-use-hook', added)}".lstrip("\n"))


def _replaced(output: object) -> str | None:
    match output:
        case str():
            return output
        case {"stdout": str(text)}:
            return text
        case _:
            return None


_VERBS = {"": "says nothing", "allow": "allows it", "ask": "asks", "deny": "forbids it"}
