"""Approval of tool calls: decided purely by rules and mode; a person is asked only where the decision is "ask"."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcli.agent.hooks.opinion import NO_OPINION, Opinion, may_allow, swayed
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve
from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError, ToolError
from agentcli.core.event import PermissionDecided
from agentcli.core.message import Status, ToolCall, ToolResult
from agentcli.core.record import Mode
from agentcli.core.schema import check
from agentcli.core.tool import Effect, Tool, Traits
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.permissions.unattended import FIRST_DENIAL, NOBODY

if TYPE_CHECKING:
    from agentcli.permissions.readonly.commands import Looks

Preview = Callable[[Tool, Mapping[str, Any], Path | None], Awaitable[str]]
"""The preview of a call in its approval request: for an edit, the diff it would make at the path that was decided about."""

Request = Callable[[ApprovalRequest], Awaitable[tuple[Opinion, Mapping[str, Any] | None]]]


async def no_request(_: ApprovalRequest) -> tuple[Opinion, Mapping[str, Any] | None]:
    """The answer where no hook is asked."""
    return NO_OPINION, None


_KINDS: Mapping[Effect, Literal["command", "diff"]] = {"run": "command", "write": "diff"}
QUESTIONS = 3
"""Questions about commands in a session after which the person is told how to be asked less."""
TIRED = "Asked too often? Shift-Tab: auto-edit · /mode auto runs ordinary commands in the sandbox."
_REFUSED = "The user said no to this call. Do not try another way to the same end."


@dataclass(frozen=True, slots=True)
class Permit:
    """The decision about one call. `call` is the call that may run: the user may have edited it.

    `event` is None where nothing had to be decided, since the call cannot work.
    """

    call: ToolCall
    event: PermissionDecided | None
    refused: str = ""
    """The reason for a refusal, for the model; empty when the call may run."""
    status: Status = "denied"
    """The status of a refused call: `error` for one that could not have worked anyway."""
    path: Path | None = None
    """The resolved path that was decided about: the tool may use this one and no other, wherever links lead by then."""
    machine: Looks = ""
    """For a read-only command: how far it looks at the machine, which no sandbox shows."""
    records: bool = False
    """For a command that nobody was asked about: git records something in the workspace's repository."""


@dataclass(slots=True)
class ApprovalGate:
    """Decides about calls. `rules` grows by the rules allowed for the session; `save` stores those of an "always", all or none.

    `later` gives the calls of the same reply that come after one.
    """

    traits: Mapping[str, Traits]
    rules: Rules
    mode: Mode
    workspace: Workspace
    approve: Approve
    preview: Preview
    save: Callable[[Sequence[str]], None]
    repeats: RepeatGuard
    after_plan: Mode = "ask"
    """The mode that an approved plan is carried out in: auto-edit where the person said so for the session."""
    turn_rules: Rules = field(default_factory=Rules)
    """Rules that hold until the turn ends, besides the others."""
    notice: Callable[[str], object] = lambda _: None
    """Tells the person something."""
    later: Callable[[ToolCall], Sequence[tuple[ToolCall, Tool]]] = lambda _: ()
    request: Request = no_request
    """Asks the hooks before a person is asked: their opinion, and the input that they would rather have."""
    _allowed: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The calls that were allowed together with one before them, each with what was shown of it, and why it asked."""
    _denied_unattended: bool = False
    _questions: int = 0

    async def permit(self, call: ToolCall, tool: Tool, opinion: Opinion = NO_OPINION) -> Permit:
        """Decide about one call; ask if need be. What a person edited is decided about again, as it will run.

        `opinion` is that of the hooks, which stand before every question.
        """
        try:
            _checked(tool, call.input)
            decision = swayed(self._decide(call, tool), opinion, self.mode)
            if decision.decision != "ask":
                return _permit(call, decision)
            ask = await self._ask(call, tool, decision)
            if opinion.changed_by:
                ask = replace(ask, why=f"Changed by the hook {opinion.changed_by}. {ask.why}".rstrip())
        except ToolError as error:
            # Nobody is asked about a call that cannot work, such as an edit that cannot be made; the model is told at once.
            return Permit(call, None, str(error), "error")
        if self._allowed.pop(call.call_id, None) == (ask.preview, ask.why):
            return _permit(call, replace(decision, decision="allow", rule="user:all"))
        if (decided := await self._by_hooks(call, tool, decision, ask)) is not None:
            return decided
        ask = replace(ask, others=await self._others(call) if ask.kind != "plan" else ())
        try:
            answer = await self.approve(ask)
        except ToolError as error:
            return Permit(call, None, str(error), "error")  # nobody can be asked in the way that was meant
        if answer is not None and answer.choice == "all":
            self._allowed = {other.call.call_id: (other.preview, other.why) for other in ask.others}
        if answer is None:
            return self._unattended(call, decision)
        if ask.kind == "command":
            self._hint()
        return self._answered(call, tool, decision, answer)

    async def _by_hooks(self, call: ToolCall, tool: Tool, decision: Decision, ask: ApprovalRequest) -> Permit | None:
        """The decision of hooks in place of the person's; None where they leave it to the person."""
        opinion, given = await self.request(ask)
        if opinion.answer == "deny":
            return _permit(call, swayed(decision, opinion, self.mode))
        if opinion.answer != "allow" or not may_allow(decision, self.mode):
            return None
        if given is not None and dict(given) != dict(call.input):
            call = replace(call, input=dict(given))
            try:
                _checked(tool, call.input)
                decision = self._decide(call, tool)
            except ToolError as error:
                return Permit(call, None, str(error), "error")
            if decision.decision != "ask":
                return _permit(call, decision)
        decided = swayed(decision, opinion, self.mode)
        return _permit(call, decided) if decided.decision == "allow" else None

    def _unattended(self, call: ToolCall, decision: Decision) -> Permit:
        """The denial of a call that nobody is there to allow; the first one tells the model what to expect."""
        denied = replace(decision, decision="deny", why=f"{decision.why}. {NOBODY}" if decision.why else NOBODY)
        more = "" if self._denied_unattended else f". {FIRST_DENIAL}"
        self._denied_unattended = True
        return Permit(call, _event(call, denied), denied.why + more)

    def _keep(self, decision: Decision, answer: ApprovalResponse) -> None:
        """Add the rules of an answer to the session's, and save those that are for good."""
        rules = _chosen_rules(decision, answer)
        self.rules += parse_rules(allow=rules, origin="session")
        if rules and answer.choice in ("always", "prefix"):
            self._save(rules)

    def _save(self, rules: Sequence[str]) -> None:
        """Save rules for good, and say where they hold: for the session alone where the config cannot be written."""
        try:
            self.save(rules)
        except AgentError as error:
            self.notice(f"Allowed for this session only: {', '.join(rules)}. {error}")
        else:
            self.notice(f"Saved in your config, for every project: {', '.join(rules)}")

    def _hint(self) -> None:
        """Say once, after the third question about a command, how to be asked less."""
        self._questions += 1
        if self._questions == QUESTIONS:
            self.notice(TIRED)

    def _decide(self, call: ToolCall, tool: Tool) -> Decision:
        decision = decide(call, self.traits, self.rules + self.turn_rules, self.mode, self.workspace)
        if tool.traits.presents_plan and self.mode == "plan" and decision.decision == "allow":
            return Decision("ask", "plan", "")
        if decision.decision == "allow" and self.repeats.reached(call):
            why = f"The same call gave the same result {self.repeats.limit} times in a row"
            return Decision("ask", "repeat", why, unsaved="repeated calls are asked about each time")
        return decision

    async def _ask(self, call: ToolCall, tool: Tool, decision: Decision) -> ApprovalRequest:
        given = _checked(tool, call.input)
        return ApprovalRequest(
            call=call,
            title=tool.title(given) or tool.name,
            why=decision.why,
            preview=await self._preview(tool, given, decision.path),
            kind="plan"
            if tool.traits.presents_plan
            else _KINDS.get(tool.traits.effect, "input")
            if tool.traits.subject
            else "input",
            always=decision.always,
            unsaved=decision.unsaved,
            prefixes=decision.prefixes,
            session=decision.session,
            revise=partial(self._revised, call, tool),
        )

    async def _revised(self, call: ToolCall, tool: Tool, given: Mapping[str, Any]) -> ApprovalRequest:
        _checked(tool, given)
        call = replace(call, input=dict(given))
        return await self._ask(call, tool, self._decide(call, tool))

    async def _preview(self, tool: Tool, given: Mapping[str, Any], path: Path | None) -> str:
        try:
            return await self.preview(tool, given, path)
        except ToolError as error:
            if path is None or any(path.is_relative_to(root) for root in self.workspace.resolved_roots):
                raise
            # What is the matter with a file outside is not told to the model before somebody has allowed it.
            return str(error)

    async def _others(self, call: ToolCall) -> tuple[ApprovalRequest, ...]:
        asking = [await self._asking(*each) for each in self.later(call)]
        return tuple(ask for ask in asking if ask is not None)

    async def _asking(self, call: ToolCall, tool: Tool) -> ApprovalRequest | None:
        """The request for approval of a call as things stand; None where none is needed, or it cannot be shown yet."""
        try:
            _checked(tool, call.input)
            decision = self._decide(call, tool)
            ask = await self._ask(call, tool, decision) if decision.decision == "ask" else None
        except ToolError:
            return None
        return ask if ask is not None and ask.kind != "plan" else None

    def _answered(self, call: ToolCall, tool: Tool, decision: Decision, answer: ApprovalResponse) -> Permit:
        if answer.choice == "no":
            why = f"The user said no: {answer.reason}" if answer.reason else _REFUSED
            return _permit(call, replace(decision, decision="deny", rule="user", why=why))
        if answer.input is not None and dict(answer.input) != dict(call.input):
            call = replace(call, input=dict(answer.input))
            decision = self._decide(call, tool)
            if decision.decision == "deny":
                return _permit(call, decision)
        if tool.traits.presents_plan:
            self.after_plan = "ask" if answer.choice == "once" else "auto-edit"
        else:
            self._keep(decision, answer)
        self.repeats.forgive(call)
        return _permit(call, replace(decision, decision="allow", rule=f"user:{answer.choice}"))


def _checked(tool: Tool, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The input as it will run. Raises ToolError where it cannot work."""
    checked: Mapping[str, Any] = given if tool.foreign else check(tool.schema.parameters, given)
    return checked


def _chosen_rules(decision: Decision, answer: ApprovalResponse) -> Sequence[str]:
    """The rules that an answer adds to those of the session."""
    match answer.choice:
        case "session":
            return [rule for rule in [decision.session or decision.always] if rule]
        case "always":
            return [rule for rule in [decision.always] if rule]
        case "prefix":
            return answer.rules or decision.prefixes
        case _:
            return ()


class RepeatGuard:
    """Notices a model that makes the same call and gets the same result, `limit` times in a row."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._last: deque[tuple[str, str]] = deque(maxlen=max(limit, 1))

    def note(self, call: ToolCall, result: ToolResult) -> None:
        """Remember the result of a call. One that was denied did not run, and does not break the row."""
        if result.status != "denied":
            self._last.append((_key(call), result.output))

    def reached(self, call: ToolCall) -> bool:
        """True if this call has just given the same result `limit` times in a row."""
        full = self.limit > 0 and len(self._last) == self.limit
        return full and len(set(self._last)) == 1 and self._last[0][0] == _key(call)

    def forgive(self, call: ToolCall) -> None:
        """Start counting anew: a person said that it is all right."""
        if self._last and self._last[-1][0] == _key(call):
            self._last.clear()


def _key(call: ToolCall) -> str:
    return call.name + dumps(dict(call.input))


def _permit(call: ToolCall, decision: Decision) -> Permit:
    refused = decision.why if decision.decision == "deny" else ""
    return Permit(
        call, _event(call, decision), refused, path=decision.path, machine=decision.machine, records=decision.records
    )


def _event(call: ToolCall, decision: Decision) -> PermissionDecided:
    return PermissionDecided(call.call_id, call.name, decision.decision, decision.rule, decision.why)
