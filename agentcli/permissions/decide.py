"""Decisions about calls: a pure function of the call, the rules, the mode and the workspace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.tool import LinePart, Traits
from agentcli.permissions.denied.files import NOTHING, Hidden
from agentcli.permissions.facts import ONLY_READS, CallFacts, Offers, by_file, facts_of
from agentcli.permissions.paths import EXPOSED_NOTHING, Exposed, Workspace
from agentcli.permissions.rules import EVERY_SANDBOXED, Rules, paths_opened, paths_shown, proposed_rules

if TYPE_CHECKING:
    from agentcli.permissions.shell.command_line import CommandLine
    from agentcli.permissions.shell.effects.containable import Containment
    from agentcli.permissions.shell.effects.reading import Looks


@dataclass(frozen=True, slots=True)
class Decision:
    """Verdict on a call, its rule, and the reason."""

    decision: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    always: str = ""
    """The exact rule that "always" would save."""
    unsaved: str = ""
    """If no rule may be saved: the check that would still apply."""
    offers: Offers = field(default=tuple, compare=False, repr=False)
    """Finds the wider rules that a second "always" would save."""
    session: str = ""
    """Exact rule that "for this session" would add; empty if the question is asked each time."""
    edits: bool = False
    """True for an edit in the workspace, which mode auto-edit allows. "For this session" then switches to that mode."""
    reads: bool = False
    """True if a rule of the user allows a command that only reads."""
    paths: tuple[Path, ...] = ()
    """Resolved paths of the decision, for a tool that takes any: only these are allowed."""
    records: bool = False
    """True if a command that may run unasked in the sandbox needs a repository that git may write to."""
    parts: tuple[LinePart, ...] = ()
    """Parts of such a command that run in separate sandboxes, if one is not right for all of it."""
    stores: bool = False
    """True if git does not change the work tree in these parts."""
    machine: Looks = ""
    """The part of the machine that a read-only command looks at; no sandbox shows it."""
    hidden: Hidden = NOTHING
    """Files to hide from the command when it runs."""
    instead: str = ""
    """The command that runs instead of the call's, with denied files excluded from git's output; empty if there is
    none.
    """
    left_out: tuple[str, ...] = ()
    """The excluded files, each with its rule."""
    explains: Callable[[], tuple[str, ...]] = field(default=tuple, compare=False, repr=False)
    """Explains each command of a line."""
    contained: bool = False
    """True for a command that may run only because the sandbox contains it, so it must not run outside."""
    exposed: Exposed = EXPOSED_NOTHING
    """What the sandbox of such a command shows of the world outside the workspace."""

    widen: Callable[[], tuple[Path, ...]] = field(default=tuple, compare=False, repr=False)
    """Finds the folders that would answer the question if they were in the workspace."""
    programs: Offers = field(default=tuple, compare=False, repr=False)
    """Finds rules about whole programs, with any arguments; in a sandbox, about all changes on a machine or a forge."""
    grants: Offers = field(default=tuple, compare=False, repr=False)
    """Finds rules about hosts, pushes, reading and commits with hooks that would answer the question for the session."""
    boxes: Callable[[], str] = field(default=str, compare=False, repr=False)
    """Finds the rule for every command that the sandbox contains, if it covers this one."""

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Wider rules that a second "always" would save, one for each program; empty if none may be saved."""
        return self.offers()

    def first_answer(self, mode: Mode) -> tuple[tuple[Path, ...], tuple[str, ...]]:
        """Return the folders or the rules that the first answer to the question adds to the session.

        Return nothing if the first answer allows the call once.
        """
        if mode != "auto" or self.rule == "protected path":
            return (), ()
        folders = self.widen()
        return (folders, ()) if folders else ((), self.grants())


def decide(call: ToolCall, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace) -> Decision:
    """Decide about a call: deny rules before ask rules, ask before allow, and all rules before the mode.

    Reads links and git config, runs nothing. `tools` are the traits of all tools, because a rule about one may cover
    another.
    """
    if (calls := by_file(call, tools)) != (call,):
        return _together([decide(each, tools, rules, mode, workspace) for each in calls])
    nature = facts_of(call, tools, rules, workspace)
    decision = _decided(nature, mode, workspace)
    tried = decision.contained or decision.decision != "allow"
    looks = not workspace.sandboxed and not workspace.exposed.paths and decision.rule.startswith("mode ")
    sees = looks or (workspace.exposes and decision.rule.startswith(("mode ", "protected path")))
    if tried and sees and nature.line:
        seen = _exposing(call, nature.line, tools, rules, mode, workspace)
        if seen is not None:
            return seen
    boxed = nature.line is not None and _boxed(decision, workspace)
    if nature.unproven and decision.decision != "deny" and not boxed:
        decision = Decision("ask", "deny rules", nature.unproven, unsaved=nature.unproven)
    instead = nature.line.text if nature.left_out and nature.line is not None else ""
    elsewhere = decision.rule == "mode auto" or (_boxes_all(nature) and only_mode_asks(decision))
    return replace(
        decision, paths=(nature.path,) if nature.path else (), hidden=nature.hidden,
        machine=nature.line.machine if nature.line is not None and decision.rule == "read-only" else "",
        instead=instead, left_out=nature.left_out, explains=nature.line.explained if nature.line else tuple,
        widen=_widen(call, nature, tools, rules, mode, workspace) if only_mode_asks(decision) else tuple,
        grants=_opening(call, nature, tools, rules, mode, workspace) if decision.rule == "protected path"
        else _grants(call, nature, tools, rules, mode, workspace) if elsewhere else tuple,
        programs=_whole(call, nature, tools, rules, mode, workspace)
        if only_mode_asks(decision) and workspace.sandboxed else decision.programs,
        boxes=_boxes(call, nature, tools, rules, mode, workspace)
        if only_mode_asks(decision) and mode != "auto" and workspace.sandboxed else str,
    )  # fmt: skip


def _exposing(
    call: ToolCall, line: CommandLine, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Decision | None:
    """Return the decision on a command that the sandbox contains if it shows the paths outside that the command names.

    Without a sandbox, the command must show only names, sizes and times there. Return None if it would still ask, or
    could send what it reads.
    """
    if not line.read_outside or line.may_send or line.links_outside:
        return None
    if not workspace.exposes and not line.only_lists:
        return None
    from agentcli.permissions.exposed import exposed_for, in_other_tmp, names_private, told  # only for other folders

    paths = [path for path in line.read_outside if not in_other_tmp(path, workspace)]
    if line.calls_git and any(map(names_private, line.recorded_names)):
        return None
    exposed = exposed_for(paths, workspace, git=line.calls_git, contents=line.shows_history, lists=line.only_lists)
    if exposed is None:
        return None
    wider = replace(workspace, exposes=False, exposed=exposed)
    rules = rules if workspace.exposes else replace(rules, allow=())  # no rule may let it do more than show names
    decision = decide(call, tools, rules, mode, wider)
    if decision.decision != "allow" or (line.only_lists and decision.rule != "read-only"):
        return None
    if not workspace.exposes:
        return replace(decision, why="every command only reads, and shows only names outside the workspace")
    if not _boxed(decision, workspace):
        return None
    why = "every command only reads" if decision.rule == "read-only" else decision.why
    return replace(decision, exposed=exposed, why=f"{why}; outside the workspace it sees only {told(exposed)}")


def only_mode_asks(decision: Decision) -> bool:
    """Return True if merely the mode asks about a call: no rule, and nothing that asks each time."""
    return decision.decision == "ask" and decision.rule.startswith("mode ")


def _widen(
    call: ToolCall, nature: CallFacts, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Callable[[], tuple[Path, ...]]:
    """Return the search for folders that would answer the question if they were in the workspace."""

    @cache
    def widen() -> tuple[Path, ...]:
        from agentcli.permissions.offers import folders_around

        folders = folders_around(_outside(nature), workspace)
        if not folders:
            return ()
        wider = replace(workspace, added=lambda: (*workspace.added(), *folders))
        then = decide(call, tools, rules, mode, wider)
        if then.decision == "allow" or mode == "auto":
            return folders if then.decision == "allow" or then.grants() else ()
        return folders if only_mode_asks(then) and not _outside(facts_of(call, tools, rules, wider)) else ()

    return widen


def _grants(
    call: ToolCall, nature: CallFacts, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Offers:
    """Return the search for the rules of a session that would answer a question of mode auto about a command.

    A rule about every command of the sandbox has the questions of mode auto, so they have the same answers.
    """

    @cache
    def grants() -> tuple[str, ...]:
        if nature.line is None:
            found = () if nature.changes else tuple(rule for rule in nature.offers() if rule.startswith(_READING))
        elif not (found := nature.line.elsewhere.rules(call.name)):
            read = _with_seeing(nature, nature.line)()
            found = read if all(rule.startswith("read(") for rule in read) else ()
        added = proposed_rules(found)
        seen = (*workspace.shown(), *paths_shown(added.allow, workspace.home))
        then = decide(call, tools, rules + added, mode, replace(workspace, shown=lambda: seen)) if found else None
        return found if then is not None and then.decision == "allow" else ()

    return grants


def _opening(
    call: ToolCall, nature: CallFacts, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Offers:
    """Return the search for the rules about reading protected files with which the call would run unasked."""

    @cache
    def opening() -> tuple[str, ...]:
        from agentcli.permissions.offers import offered_to_open

        read = nature.line or (nature.path if not nature.changes else None)
        found = offered_to_open(read, workspace) if read is not None else ()
        if not found:
            return ()
        wider = rules + proposed_rules(found)
        opened, seen = paths_opened(wider.allow, workspace), paths_shown(wider.allow, workspace.home)
        if len(opened) <= len(workspace.opened()):
            return ()
        place = replace(workspace, opened=lambda: opened, shown=lambda: (*workspace.shown(), *seen))
        return found if decide(call, tools, wider, mode, place).decision == "allow" else ()

    return opening


def _whole(
    call: ToolCall, nature: CallFacts, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Offers:
    """Return the search for the rules about all that commands change elsewhere, if they would answer the question.

    In other modes than auto, rules about whole programs that no sandbox contains come next.
    """

    @cache
    def whole() -> tuple[str, ...]:
        found = nature.line.elsewhere.all_changes if nature.line is not None else ()
        then = decide(call, tools, rules + proposed_rules(found), mode, workspace) if found else None
        if then is not None and then.decision == "allow":
            return found
        return nature.programs() if mode != "auto" else ()

    return whole


def _boxes(
    call: ToolCall, nature: CallFacts, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Callable[[], str]:
    """Return the search for the rule about every command that the sandbox contains, if it would answer the question."""

    @cache
    def boxes() -> str:
        if nature.line is None or _boxes_all(nature):
            return ""
        then = decide(call, tools, rules + proposed_rules([EVERY_SANDBOXED]), mode, workspace)
        return EVERY_SANDBOXED if then.decision == "allow" else ""

    return boxes


_READING = ("read(", "grep(", "glob(", "list(")
"""Rules about the tools that read files."""


def _outside(nature: CallFacts) -> Sequence[Path]:
    """Return the paths outside the workspace of a command, or the path of another call that asks, inside or not."""
    if nature.line is not None:
        return nature.line.read_outside
    return () if nature.path is None or nature.edits_inside or nature.harmless else (nature.path,)


def _together(decisions: Sequence[Decision]) -> Decision:
    """Return the decision on a call that touches several files: the strictest of theirs."""
    paths = tuple(dict.fromkeys(path for each in decisions for path in each.paths))
    if len(decisions) == 1:
        return decisions[0]
    for verdict in ("deny", "ask"):
        found = [each for each in decisions if each.decision == verdict]
        if not found:
            continue
        why = "; ".join(dict.fromkeys(each.why for each in found))
        edits = all(each.edits for each in found)
        return replace(
            found[0], why=why, always="", unsaved="it changes several files", offers=tuple,
            widen=partial(_all_folders, found),
            session=found[0].session if edits else "", edits=edits, paths=paths,
        )  # fmt: skip
    return replace(decisions[0], paths=paths)


def _all_folders(decisions: Sequence[Decision]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(folder for each in decisions for folder in each.widen()))


def _boxed(decision: Decision, workspace: Workspace) -> bool:
    """Return True if a command runs unasked in the sandbox, which itself hides files."""
    return workspace.sandboxed and decision.decision == "allow" and (decision.rule == "read-only" or decision.contained)


def _decided(nature: CallFacts, mode: Mode, workspace: Workspace) -> Decision:
    if nature.refused:
        return Decision("deny", "limits", nature.refused)
    if nature.denied:
        why = nature.denied_why or f"the rule {nature.denied} from {nature.denied.origin} forbids it"
        return Decision("deny", f"deny {nature.denied}", why)
    if mode == "plan" and nature.changes and not nature.reads:
        changes = nature.reason or "this may change something"
        then = "Read and search instead, then present the plan"
        return Decision("deny", "mode plan", f"plan mode is on, so nothing may change: {changes}. {then}")
    if nature.destroys:
        return Decision("ask", "destructive", nature.destroys, unsaved="destructive commands ask each time")
    if nature.protected:
        if (kept := _kept_by_sandbox(nature, mode, workspace)) is not None:
            return kept
        return Decision("ask", "protected path", nature.protected, unsaved="calls on protected files ask each time")
    if nature.interacts:
        return Decision("ask", "interaction", nature.interacts, unsaved="it is asked about each time")
    if nature.asked:
        why = f"a rule from {nature.asked.origin} asks"
        return Decision("ask", f"ask {nature.asked}", why, unsaved=f"the rule {nature.asked} still asks")
    if nature.obscure and (nature.allowed or nature.boxed or mode in ("auto", "yolo")):
        return Decision("ask", "deny rules", nature.obscure, unsaved=nature.obscure)
    if nature.line is not None and _everything(nature, mode) and (why := nature.line.reaches):
        return replace(_asked(mode, why, nature), rule="past the workspace")
    whole = nature.allowed is not None and nature.allowed.whole
    if whole and nature.line is not None and (why := nature.line.reaches_here):
        return _asked(mode, why, nature)
    if nature.allowed:
        why = f"a rule from {nature.allowed.origin} allows it"
        return Decision("allow", f"allow {nature.allowed}", why, reads=bool(nature.harmless))
    if nature.harmless:
        return Decision("allow", "read-only", nature.harmless)
    return _by_mode(nature, mode, workspace)


def _kept_by_sandbox(nature: CallFacts, mode: Mode, workspace: Workspace) -> Decision | None:
    """Return the mode's decision on a command that names files which are protected from writing, and maybe only reads.

    The sandbox keeps them from being written. Return None if it has no say in this, or a rule has.
    """
    line = nature.line
    in_box = workspace.sandboxed and (mode == "auto" or _boxes_all(nature))
    if line is None or not in_box or line.protected_in_sandbox or nature.asked or nature.obscure or nature.interacts:
        return None
    found = _by_mode(nature, mode, workspace)
    if found.decision == "allow":
        return found if found.contained else None
    return replace(found, always="", session="", unsaved=nature.protected) if line.read_outside else None


def _everything(nature: CallFacts, mode: Mode) -> bool:
    """Return True if only yolo, or a rule without a pattern, would let the call run."""
    if nature.allowed is not None:
        return nature.allowed.pattern in ("", "*")
    return mode == "yolo" and not nature.harmless


_ELSEWHERE = "it only reads, pushes your branch, adds a name or folder in git, or does what a rule allows elsewhere"
"""Reason to run a line outside the sandbox unasked."""


def _runs_elsewhere(line: CommandLine) -> bool:
    """Return True if a line may run outside the sandbox unasked."""
    if line.elsewhere.runs:
        return True
    if line.commands or not any(part.texts[:1] == ["gh"] for part in line.parts):
        return False
    from agentcli.permissions.any_form import only_asks_forges  # 15 ms, only for such a loop

    return only_asks_forges(line)


def _by_mode(nature: CallFacts, mode: Mode, workspace: Workspace) -> Decision:
    if mode == "yolo":
        return Decision("allow", "mode yolo", "everything is allowed unless a rule denies it")
    if nature.edits_inside and mode in ("auto-edit", "auto"):
        return Decision("allow", f"mode {mode}", "edits inside the workspace are free")
    if mode != "auto" and (why := nature.reads):
        return Decision("allow", "read-only", why)
    boxes = workspace.sandboxed or workspace.gated
    if mode == "auto" and boxes and nature.line is not None and _runs_elsewhere(nature.line):
        return Decision("allow", "mode auto", _ELSEWHERE)
    if mode == "auto" and workspace.sandboxed and nature.line is not None:
        contained = nature.line.contained
        if contained.reads:
            return Decision("allow", "read-only", ONLY_READS)
        if not contained.why:
            why = "the sandbox contains it, and its changes in the workspace can be undone"
            return _contained("mode auto", why, contained)
        why = nature.line.elsewhere.why or contained.why
        return _asked("auto", why, replace(nature, offers=_with_seeing(nature, nature.line)))
    if workspace.sandboxed and nature.line is not None:
        return _by_sandbox_rule(nature, nature.line, mode)
    return _asked(mode, nature.reason or "this tool may change something", nature)


def _by_sandbox_rule(nature: CallFacts, line: CommandLine, mode: Mode) -> Decision:
    """Return the decision on a command by the rules that allow everything that the sandbox contains.

    Offer such rules if there are no others.
    """
    every = _boxes_all(nature)
    boxed, why = None if nature.stays and not every else nature.boxed, nature.reason
    if boxed:
        contained = line.contained if every else line.alone
        if every and _runs_elsewhere(line):
            return Decision("allow", f"allow {boxed}", f"{_ELSEWHERE}, as in mode auto")
        if every and contained.reads:
            return Decision("allow", "read-only", ONLY_READS)
        if not contained.why:
            reason = f"a rule from {boxed.origin} allows it in the sandbox"
            return _contained(f"allow {boxed}", reason, contained)
        why = f"the rule {boxed} does not cover it: {(every and line.elsewhere.why) or contained.why}"

    @cache
    def offers() -> tuple[str, ...]:
        from agentcli.permissions.offers import offered_in_sandbox  # 15 ms with what it needs, only for a question

        return offered_in_sandbox(line, nature.offers(), boxed=boxed is not None)

    return _asked(mode, why, nature if nature.stays else replace(nature, offers=offers))


def _boxes_all(nature: CallFacts) -> bool:
    """Return True if a rule is about every command that the sandbox contains."""
    return nature.boxed is not None and nature.boxed.boxes_all


def _with_seeing(nature: CallFacts, line: CommandLine) -> Offers:
    """Return the search for the rules to offer for a line that the sandbox does not contain, also about reading."""

    @cache
    def offers() -> tuple[str, ...]:
        from agentcli.permissions.offers import offered_to_see

        return nature.offers() or offered_to_see(line)

    return offers


def _contained(rule: str, why: str, found: Containment) -> Decision:
    return Decision(
        "allow", rule, why, records=found.records, parts=found.parts, stores=found.stores, contained=True
    )  # fmt: skip


def _with_parts(nature: CallFacts) -> Offers:
    """Return the search for the rules to offer.

    If none covers the whole line, search for rules that cover parts of it.
    """
    line = nature.line
    if line is None:
        return nature.offers

    @cache
    def offers() -> tuple[str, ...]:
        from agentcli.permissions.offers import offered_for_parts

        return nature.offers() or offered_for_parts(line, "bash", nature.approved)

    return offers


def _asked(mode: Mode, why: str, nature: CallFacts) -> Decision:
    session = nature.session or nature.always
    given = nature.always, nature.unsaved, _with_parts(nature), session, nature.edits_inside
    return Decision("ask", f"mode {mode}", why, *given, programs=nature.programs)


def explain_lines(
    lines: Iterable[str], tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Iterator[str]:
    """Answer each line with a JSON question by a line of JSON; answer any other line with a denial."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        yield dumps(_explained(line, number, tools, rules, mode, workspace))


def _explained(
    line: str, number: int, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> dict[str, object]:
    question: dict[str, object] = {}
    try:
        read = json.loads(line.removeprefix("\ufeff"), parse_constant=str)
        if not isinstance(read, dict):
            raise TypeError("it is not an object")
        question = read
        name, values = read.get("tool"), read.get("input")
        if not isinstance(name, str) or not isinstance(values, dict):
            raise TypeError("tool must be a string and input an object")
    except (ValueError, TypeError, RecursionError) as error:
        why = f'line {number} is not a {{"id", "tool", "input"}} object: {error}'
        return {"id": question.get("id"), "decision": "deny", "rule": "unreadable", "why": why}
    decision = decide(ToolCall(str(question.get("id") or number), name, values), tools, rules, mode, workspace)
    return {"id": question.get("id"), "decision": decision.decision, "rule": decision.rule, "why": decision.why}
