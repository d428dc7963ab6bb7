"""Approval of tool calls: rules and mode decide purely; a person is asked only if the decision is "ask"."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcli.agent.calls.call import Call, beginning
from agentcli.agent.hooks import NOTHING as NOTHING_SAID
from agentcli.agent.hooks import Outcome
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve
from agentcli.agent.working_folder import replace_cwd
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError, ToolError
from agentcli.core.message import ToolCall
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Mode
from agentcli.core.schema import check
from agentcli.core.tool import DECLINED, Effect, Tool, Traits
from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.rules import Rule, Rules, in_own_names, parse_rule, parse_rules
from agentcli.permissions.unattended import FIRST_DENIAL, NOBODY, OTHER_PARTS, next_step

if TYPE_CHECKING:
    from agentcli.agent.timed_rules import Judge, Term, TimedRule, TimedRules
    from agentcli.permissions.decide import Decision
    from agentcli.permissions.network.hosts import KeptHost

Preview = Callable[[Tool, Mapping[str, Any], Sequence[Path]], Awaitable[str]]
"""The preview of a call in its approval request: for an edit, its diff at the paths of the decision."""

AskHooks = Callable[[ApprovalRequest], Awaitable[Outcome]]
"""Asks hooks in place of the person."""

_KINDS: Mapping[Effect, Literal["command", "diff"]] = {"run": "command", "write": "diff"}
QUESTIONS = 3
"""Questions about commands in a session after which the person learns how to be asked less often."""
TIRED = "Too many questions? Shift-Tab: edits · again, or /mode auto: also sandboxed commands"
_REFUSED = f"{DECLINED} to this call."
_NO_OTHER_WAY = "Do not try another way to the same end."
"""Text for the model, added to a refusal without a reason."""
_BY_PERSON = "user:"
"""Prefix of the name of a person's decision."""
UNASKED = 1_000
"""Largest number of acts that a session remembers for /why."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """An action that ran without a question: its time (ISO 8601), its title, and the reason."""

    time: str
    title: str
    why: str


@dataclass(slots=True)
class ApprovalGate:
    """Decides about calls."""

    traits: Mapping[str, Traits]
    rules: Rules
    """Rules in force; an answer for the session adds to them."""
    mode: Mode
    workspace: Workspace
    approve: Approve
    preview: Preview
    save: Callable[[Sequence[Rule]], None]
    """Stores the rules of an "always" for the project: all or none."""
    timed: OnDemand[TimedRules]
    """Rules that end by themselves."""
    save_everywhere: Callable[[Sequence[str]], None] = lambda _: None
    """Stores rules for every project: all or none."""
    answered: Callable[[Sequence[Rule], bool], None] = lambda *_: None
    """Tells the sandbox which rules an answer of this session has added (True) or dropped (False)."""
    add_folder: Callable[[Path], None] = lambda _: None
    """Adds a folder to the workspace of this session."""
    start_of: Callable[[ToolCall, Tool], Path | None] = lambda *_: None
    """The folder in which a command starts; None for the workspace's own."""
    switched: Callable[[Mode], object] = lambda _: None
    """Records that an answer has changed the mode."""
    after_plan: Mode = "ask"
    """The mode for carrying out an approved plan: auto-edit if the person chose it for the session."""
    compacts_plan: bool = False
    """True if the person wants the conversation compacted before the approved plan is carried out."""
    turn_rules: Rules = field(default_factory=Rules)
    """Additional rules that end with the turn."""
    notice: Callable[[str], object] = lambda _: None
    """Tells the person something."""
    attended: bool = True
    """False if nobody can answer: then nothing is gathered that only a question shows."""
    looks: bool = False
    """True for an agent that only reads: other commands are denied."""
    _allowed: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Calls that were allowed together with an earlier one, each with its preview and the reason for the question."""
    unasked: deque[Unasked] = field(default_factory=partial(deque, maxlen=UNASKED))
    """The newest acts that ran without a question, oldest first."""
    _denied_unattended: bool = False
    _questions: int = 0

    @property
    def in_one_sandbox(self) -> bool:
        """True if commands share one sandbox: in mode auto, or by a rule about all of them. It has its own /tmp."""
        return self.mode == "auto" or (
            self.mode in ("ask", "auto-edit") and any(rule.boxes_all for rule in self.allowing)
        )

    @property
    def allowing(self) -> Sequence[Rule]:
        """The rules that allow calls now."""
        timed = self.timed.now
        return (*self.rules.allow, *self.turn_rules.allow, *(timed.rules if timed is not None else ()))

    async def decide(
        self, call: Call, later: Sequence[tuple[ToolCall, Tool]] = (), ask_hooks: AskHooks | None = None
    ) -> Call:
        """Decide about one call, see `_decided`; record an action that nobody was asked about."""
        call = await self._decided(call, later, ask_hooks)
        made = call.decision
        if (
            made is not None
            and made.decision == "allow"
            and made.rule != "read-only"
            and not made.rule.startswith(_BY_PERSON)
        ):
            self.unasked.append(Unasked(datetime.now(UTC).isoformat(), call.title_now, made.why))
        return call

    async def _decided(self, call: Call, later: Sequence[tuple[ToolCall, Tool]], ask_hooks: AskHooks | None) -> Call:
        """Decide about one call; ask if necessary. Input that a person edited is judged again, as it will run.

        Earlier messages of hooks about the call precede every question; `ask_hooks` asks them instead of the person.
        `later` are the later calls of the same reply.
        """
        try:
            _checked(call)
            decision = self._swayed(call)
            if self.looks and call.its_tool.traits.runs_commands and not _reads(decision):
                return call.decided(replace(decision, decision="deny", rule="only reads", why=_ONLY_READS))
            if decision.decision != "ask":
                return call.decided(decision)
            ask = await self._question(call, decision)
        except ToolError as error:
            # Nobody is asked about a call that cannot work, such as an impossible edit. The model gets the error.
            return call.refused(str(error), "error")
        if self._allowed.pop(call.call.call_id, None) == (ask.preview, ask.why):
            return call.decided(replace(decision, decision="allow", rule="user:all"))
        outcome = await ask_hooks(ask) if ask_hooks is not None else NOTHING_SAID
        if (decided := self._by_hooks(call, decision, outcome)) is not None:
            return decided
        if not self.attended:
            return self._unattended(call, decision)
        ask = replace(ask, others=await self._others(later) if ask.kind != "plan" else ())
        try:
            answer = await self.approve(ask)
        except ToolError as error:
            return call.refused(str(error), "error")  # the front end cannot show this kind of question
        if answer is None:
            return self._unattended(call, decision)
        return self._answered(call, decision, ask, answer)

    def _swayed(self, call: Call) -> Decision:
        """Return the decision after the hooks.

        A timed rule that allows the call is used up. An expired rule is reported.
        """
        judged, needed = self._judged(call)
        decision = swayed(judged, call.hooked, self.mode)
        if decision.decision == "allow" and needed:
            self.timed().use(needed)
        if decision.decision != "ask" or (timed := self.timed.now) is None:
            return decision
        ended = timed.ended(self._judge(call))
        return replace(decision, why=f"{ended}. {decision.why}".rstrip(". ")) if ended else decision

    def objection(self, call: ToolCall, permitted: ToolCall) -> str:
        """Return why a permitted call may not turn into another call by itself.

        Return an empty text if rules and mode treat both the same.
        """
        from agentcli.permissions.decide import decide

        before, after = (
            decide(each, self.traits, self.rules + self.turn_rules, self.mode, self.workspace)
            for each in (permitted, call)
        )
        if after.decision == "deny":
            return after.why
        return "" if after.decision == "allow" or after.rule == before.rule else "it needs a permission of its own"

    def _by_hooks(self, call: Call, decision: Decision, answer: Outcome) -> Call | None:
        """Apply the hooks' decision instead of the person's; return None if they leave the call to the person."""
        given = answer.verdict.input
        if answer.verdict.answer == "deny":
            return call.decided(swayed(decision, answer, self.mode))
        if answer.verdict.answer != "allow" or not may_allow(decision, self.mode):
            return None
        if given is not None and dict(given) != dict(call.call.input):
            call = call.with_input(given)
            try:
                _checked(call)
                decision = self._decide(call)
            except ToolError as error:
                return call.refused(str(error), "error")
            if decision.decision != "ask":
                return call.decided(decision)
        decided = swayed(decision, answer, self.mode)
        return call.decided(decided) if decided.decision == "allow" else None

    def _unattended(self, call: Call, decision: Decision) -> Call:
        """Deny a call because nobody can allow it; the first denial tells the model what to expect."""
        denied = replace(decision, decision="deny", why=f"{decision.why}. {NOBODY}" if decision.why else NOBODY)
        more = "" if self._denied_unattended else f". {FIRST_DENIAL}"
        more = f"{more or '.'} {OTHER_PARTS}" if _of_several(call) else more
        step = next_step(decision.why)
        more = f"{more or '.'} {step}" if step else more
        self._denied_unattended = True
        return call.decided(denied, denied.why + more)

    def _keep(self, decision: Decision, answer: ApprovalResponse) -> None:
        """Add an answer's rules to the session's, and save the permanent ones."""
        from agentcli.agent.timed_rules import timed

        for folder in decision.widen() if answer.choice == "folder" else ():
            try:
                self.add_folder(folder)
            except AgentError as error:  # it has gone since
                self.notice(f"Allowed only once. {error}")
            else:
                self.notice(f"Added to the workspace of this session: {folder}")
        lasting = []
        for rule, term in map(timed, _chosen_rules(decision, answer)):
            if term is None:
                lasting.append(rule)
            else:
                self._allow_for(rule, term)
        offered = {decision.session, decision.always, *decision.prefixes, *decision.grants()}
        programs = decision.programs() if answer.choice == "programs" else ()
        chosen = [
            replace(parse_rule(rule, "session"), proposed=rule in (programs or offered), whole=rule in programs)
            for rule in lasting
        ]
        self.rules += Rules(tuple(chosen))
        self.answered(chosen, True)
        if chosen and answer.choice in ("always", "prefix", "programs"):
            self._save(chosen, answer.everywhere)
        if decision.edits and answer.choice == "session":
            self.allow_edits()

    def forget(self, rule: str) -> None:
        """Drop an allow rule that an answer has added or saved."""
        answered = ("your answers", "session")
        if (timed := self.timed.now) is not None:
            timed.remove(rule)
        before = self.rules.allow
        kept = tuple(one for one in before if str(one) != rule or one.origin not in answered)
        self.rules = replace(self.rules, allow=kept)
        self.answered([one for one in before if one not in kept], False)

    def allow_for(self, rule: str, term: Term) -> str:
        """Allow a rule for a term; return it with our tool name. Raises UsageError."""
        (known,) = in_own_names(parse_rules(allow=[rule], origin="flag"), self.traits).allow
        self.timed().add(replace(known, origin="session"), term)
        return str(known)

    def _allow_for(self, rule: str, term: Term) -> None:
        try:
            self.notice(f"Allowed in this session {term}: {self.allow_for(rule, term)}")
        except AgentError as error:
            self.notice(f"Allowed only once. {error}")

    def allow_edits(self) -> None:
        """Switch from mode ask to auto-edit."""
        if self.mode == "ask":
            self.mode = "auto-edit"
            self.switched(self.mode)

    def _save(self, rules: Sequence[Rule], everywhere: bool) -> None:
        """Save rules permanently, and report where they apply: only in the session if they cannot be written."""
        error = ""
        try:
            self.save_everywhere([str(rule) for rule in rules]) if everywhere else self.save(rules)
        except AgentError as failed:
            error = str(failed)
        self._tell_saved(rules, everywhere, error)

    def _tell_saved(self, rules: Sequence[Rule], everywhere: bool, error: str) -> None:
        named = ", ".join(map(str, rules))
        place = "in your config, for every project" if everywhere else "for this project"
        self.notice(f"Allowed for this session only: {named}. {error}" if error else f"Saved {place}: {named}")

    def take(self, host: KeptHost) -> None:
        """Add the rule of an answer about a host, which the sandbox knows already, to the session's."""
        self.rules += Rules((host.rule,))
        if host.saved:
            self._tell_saved([host.rule], host.everywhere, host.error)

    def _hint(self) -> None:
        """Explain once, after the third question about a command, how to be asked less often; mode auto asks least."""
        if self.mode == "auto":
            return
        self._questions += 1
        if self._questions == QUESTIONS:
            self.notice(TIRED)

    def _decide(self, call: Call) -> Decision:
        return self._judged(call)[0]

    def _judged(self, call: Call) -> tuple[Decision, Sequence[TimedRule]]:
        """Return the decision, and the timed rules without which the call would not be allowed."""
        from agentcli.permissions.decide import Decision

        timed, judge = self.timed.now, self._judge(call)
        decision, needed = timed.judged(judge) if timed is not None else (judge(()), ())
        if call.its_tool.traits.behaviour.presents_plan and self.mode == "plan" and decision.decision == "allow":
            return Decision("ask", "plan", ""), ()
        return decision, needed

    def _judge(self, call: Call) -> Judge:
        from agentcli.permissions.decide import decide

        rules, workspace = self.rules + self.turn_rules, replace_cwd(self.workspace, call.folder)

        def judge(more: Sequence[Rule]) -> Decision:
            return decide(call.call, self.traits, rules + Rules(allow=tuple(more)), self.mode, workspace)

        return judge

    async def _question(self, call: Call, decision: Decision) -> ApprovalRequest:
        """Return the approval request; it begins with the fact that a hook has changed the call, if so."""
        ask = await self._ask(call, decision)
        hook = call.hooked.changed_by
        return replace(ask, why=f"Changed by the hook {hook}. {ask.why}".rstrip()) if hook else ask

    async def _ask(self, call: Call, decision: Decision) -> ApprovalRequest:
        given, tool = _checked(call), call.its_tool
        parts = decision.explains() if self.attended else ()
        why = _lines(decision.why, parts, replace_cwd(self.workspace, call.folder))
        ask = ApprovalRequest(
            call=call.call,
            title=tool.title(given) or tool.name,
            why=f"It starts in {call.folder}. {why}".rstrip() if call.folder else why,
            preview=await self._preview(tool, given, decision.paths),
            kind=_kind(tool.traits),
            always=decision.always,
            unsaved=decision.unsaved,
            session="" if _rewrites(parts) else decision.session,
            edits=decision.edits,
            revise=partial(self._revised, call),
        )
        return self._with_offers(ask, decision) if self.attended else ask

    def _with_offers(self, ask: ApprovalRequest, decision: Decision) -> ApprovalRequest:
        """Return a request with the answers that a person may choose beside "once" and "no"."""
        folders = decision.widen()
        return replace(
            ask,
            prefixes=decision.prefixes,
            programs=decision.programs(),
            boxes=decision.boxes(),
            folders=folders,
            grants=() if folders else decision.grants(),
            lasting=any(decision.first_answer(self.mode)),
        )

    async def _revised(self, call: Call, given: Mapping[str, Any]) -> ApprovalRequest:
        call = call.with_input(given)
        _checked(call)
        return await self._ask(call, self._decide(call))

    async def _preview(self, tool: Tool, given: Mapping[str, Any], paths: Sequence[Path]) -> str:
        try:
            return await self.preview(tool, given, paths)
        except ToolError as error:
            if all(any(path.is_relative_to(root) for root in self.workspace.resolved_roots) for path in paths):
                raise
            # The model does not learn about problems of a file outside the workspace before a person has allowed the
            # call.
            return str(error)

    async def _others(self, later: Sequence[tuple[ToolCall, Tool]]) -> tuple[ApprovalRequest, ...]:
        asking = [await self._asking(beginning(call, tool, self.start_of(call, tool))) for call, tool in later]
        return tuple(ask for ask in asking if ask is not None)

    async def _asking(self, call: Call) -> ApprovalRequest | None:
        """Return the approval request that a call needs now; None if it needs none, or cannot be shown yet."""
        try:
            _checked(call)
            decision = self._decide(call)
            ask = await self._ask(call, decision) if decision.decision == "ask" else None
        except ToolError:
            return None
        return ask if ask is not None and ask.kind != "plan" else None

    def _answered(self, call: Call, decision: Decision, ask: ApprovalRequest, answer: ApprovalResponse) -> Call:
        if answer.choice == "all":
            self._allowed = {other.call.call_id: (other.preview, other.why) for other in ask.others}
        if ask.kind == "command":
            self._hint()
        if answer.choice == "no":
            why = f"{DECLINED}: {answer.reason}" if answer.reason else _REFUSED
            denied = replace(decision, decision="deny", rule="user", why=why)
            return call.decided(denied, "" if answer.reason else f"{why} {_NO_OTHER_WAY}")
        if answer.input is not None and dict(answer.input) != dict(call.call.input):
            call = call.with_input(answer.input)
            decision = self._decide(call)
            if decision.decision == "deny":
                return call.decided(decision)
        if call.its_tool.traits.behaviour.presents_plan:
            self.after_plan = "ask" if answer.choice == "once" else "auto-edit"
            self.compacts_plan = answer.choice == "compact"
        else:
            self._keep(decision, answer)
            if answer.choice in ("prefix", "folder", "session") and (kept := self._decide(call)).contained:
                decision = kept  # the answer lets it run in the sandbox, not outside
        return call.decided(replace(decision, decision="allow", rule=f"user:{answer.choice}"))


def _kind(traits: Traits) -> Literal["command", "diff", "input", "plan"]:
    """Return what the request shows of a call."""
    if traits.behaviour.presents_plan:
        return "plan"
    return _KINDS.get(traits.effect, "input") if traits.subject.field else "input"


def _lines(why: str, parts: Sequence[str], workspace: Workspace) -> str:
    """Return the reason for a question, with a line for each command of a longer line.

    The reason comes first, unless these lines contain it.
    """
    if len(parts) < 2:
        return why
    told = "\n".join(parts)
    more = [piece for piece in why.split("; ") if piece not in told and _in_full(piece, workspace) not in parts]
    return "\n".join(("; ".join(more), *parts) if more else parts)


def _in_full(why: str, workspace: Workspace) -> str:
    """Return a reason about a path outside as it is told for the path in full."""
    word = why.removesuffix(" is outside the workspace")
    return why if word == why else judge_path(word, workspace, write=False).why


def _rewrites(parts: Sequence[str]) -> bool:
    """Return True if a command rewrites parts of a remote; it is approved each time."""
    if not parts:
        return False
    from agentcli.permissions.shell.effects.consequences import REWRITES  # only commands have parts

    return any(part.endswith(REWRITES) for part in parts)


def _reads(decision: Decision) -> bool:
    return decision.decision == "deny" or (
        decision.decision == "allow" and (decision.reads or decision.rule == "read-only")
    )


_ONLY_READS = "This agent only reads: run commands that change nothing, such as git log or git blame"


def _of_several(call: Call) -> bool:
    """Return True for a command line of several commands."""
    traits = call.its_tool.traits
    if not traits.runs_commands:
        return False
    from agentcli.permissions.shell.syntax.parse import parse  # only a denied command needs it

    return len(parse(traits.subject.text(call.call.input)).parts) > 1


def _checked(call: Call) -> Mapping[str, Any]:
    """Return the input as it will run. Raises ToolError if it cannot work."""
    tool, given = call.its_tool, call.call.input
    checked: Mapping[str, Any] = given if tool.foreign else check(tool.takes, given)
    return checked


def _chosen_rules(decision: Decision, answer: ApprovalResponse) -> Sequence[str]:
    """Return the rules that an answer adds to the session's."""
    match answer.choice:
        case "session":
            rules = decision.grants() or (decision.session or decision.always,)
            return [rule for rule in rules if rule and not decision.edits]
        case "always":
            return [rule for rule in [decision.always] if rule]
        case "prefix":
            return answer.rules or decision.prefixes
        case "programs":
            return answer.rules or decision.programs()
        case _:
            return ()


def swayed(decision: Decision, outcome: Outcome, mode: Mode) -> Decision:
    """Return the decision with the hooks' answer.

    Hooks may deny any call and ask about it. They may allow a call only if merely the mode would ask.
    """
    answer, rule = outcome.verdict.answer, outcome.rule
    by = f"the {'extension' if outcome.by_extension else 'hook'} {outcome.names}"
    why = outcome.verdict.reason or f"{by} {_VERBS[answer]}"
    match answer:
        case "deny":
            return replace(decision, decision="deny", rule=rule, why=f"{outcome.who} blocked this call: {why}")
        case "ask" if decision.decision == "allow":
            return replace(decision, decision="ask", rule=rule, why=why, unsaved=f"{by} still asks")
        case "allow" if may_allow(decision, mode):
            return replace(decision, decision="allow", rule=rule, why=why)
        case _:
            return decision


def may_allow(decision: Decision, mode: Mode) -> bool:
    """Return True if a hook may answer instead of the person.

    It may not if a rule, a protected path or plan mode causes the question.
    """
    return decision.decision == "ask" and decision.rule.startswith("mode ") and mode != "plan"


_VERBS = {"": "says nothing", "allow": "allows it", "ask": "asks", "deny": "forbids it"}
