"""Decisions about calls: a pure function of the call, the rules, the mode and the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.mcp_servers import server_prefix
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.text.patch import PatchError, touched
from agentcli.core.tool import UNKNOWN, Effect, Traits
from agentcli.permissions.denied.files import NOTHING, Hidden, denial_of, existing, paths_given, reading_denials
from agentcli.permissions.paths import (
    PathVerdict,
    Workspace,
    could_name_protected,
    installed_in,
    judge_path,
    names_protected,
)
from agentcli.permissions.rules import (
    SANDBOX,
    Rule,
    Rules,
    command_rule,
    exact,
    exact_path,
    may_hide_from,
    path_rule,
    reading_scope,
    url_matches,
    wildcard,
)
from agentcli.system.resolve import MANUAL, MANUAL_FOLDER, searched

if TYPE_CHECKING:
    from agentcli.permissions.readonly.commands import Looks
    from agentcli.permissions.shell.command_line import CommandLine


@dataclass(frozen=True, slots=True)
class Decision:
    """Verdict on a call, the rule behind it, and the reason.

    `always` is the exact rule that "always" would save; if none may be saved, `unsaved` names the check that would
    still apply.
    """

    decision: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    always: str = ""
    unsaved: str = ""
    prefixes: tuple[str, ...] = ()
    """Wider rules that a second "always" would save, one for each program of the line; empty if none may be saved."""
    session: str = ""
    """Exact rule that "for this session" would add; empty if the question is asked each time."""
    edits: bool = False
    """True for an edit in the workspace, which mode auto-edit allows: "for this session" then switches to that mode."""
    paths: tuple[Path, ...] = ()
    """Resolved paths that the decision is about, for a tool that takes any: only these are allowed."""
    records: bool = False
    """True if a command that the sandbox may run without asking needs a repository that git may write to."""
    machine: Looks = ""
    """The part of the machine that a read-only command looks at, which no sandbox shows."""
    hidden: Hidden = NOTHING
    """Files to hide from the command when it runs."""
    contained: bool = False
    """True for a command that may run because the sandbox contains it: it is not to run outside."""


def decide(call: ToolCall, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace) -> Decision:
    """Decide about a call: deny rules before ask rules, ask before allow, and all rules before the mode.

    Read links and git config, run nothing. `tools` are the traits of all tools, since a rule about one may cover
    another.
    """
    if (calls := by_file(call, tools)) != (call,):
        return _together([decide(each, tools, rules, mode, workspace) for each in calls])
    nature = facts_of(call, tools, rules, workspace)
    decision = _decided(nature, mode, workspace)
    boxed = nature.line is not None and _boxed(decision, workspace)
    if nature.unproven and decision.decision != "deny" and not boxed:
        decision = Decision("ask", "deny rules", nature.unproven, unsaved=nature.unproven)
    return replace(decision, paths=(nature.path,) if nature.path else (), machine=nature.machine, hidden=nature.hidden)


def by_file(call: ToolCall, tools: Mapping[str, Traits]) -> tuple[ToolCall, ...]:
    """Return a call with a patch as a call for each file that it touches, with the path as its subject; any other call alone.

    A text that is no patch touches nothing: the tool refuses it.
    """
    traits = tools.get(call.name, UNKNOWN)
    text = call.input.get(traits.subject)
    if not traits.patches or not isinstance(text, str) or "\n" not in text:
        return (call,)
    try:
        paths = touched(text)
    except PatchError:
        return (call,)
    return tuple(replace(call, input={traits.subject: path}) for path in paths)


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
            found[0], why=why, always="", unsaved="it changes several files", prefixes=(),
            session=found[0].session if edits else "", edits=edits, paths=paths,
        )  # fmt: skip
    return replace(decisions[0], paths=paths)


def _boxed(decision: Decision, workspace: Workspace) -> bool:
    """Return True if a command runs without asking in the sandbox, which itself hides files."""
    return workspace.sandboxed and decision.decision == "allow" and (decision.rule == "read-only" or decision.contained)


def _decided(nature: CallFacts, mode: Mode, workspace: Workspace) -> Decision:
    if nature.refused:
        return Decision("deny", "limits", nature.refused)
    if nature.denied:
        why = nature.denied_why or f"the rule {nature.denied} from {nature.denied.origin} forbids it"
        return Decision("deny", f"deny {nature.denied}", why)
    if mode == "plan" and nature.changes and not nature.harmless:
        changes = nature.why or "this may change something"
        then = "Read and search instead, then present the plan"
        return Decision("deny", "mode plan", f"plan mode is on, so nothing may change, and {changes}. {then}")
    if nature.destroys:
        return Decision("ask", "destructive", nature.destroys, unsaved="destructive commands ask each time")
    if nature.protected:
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
    if nature.allowed:
        return Decision("allow", f"allow {nature.allowed}", f"a rule from {nature.allowed.origin} allows it")
    if nature.harmless:
        return Decision("allow", "read-only", nature.harmless)
    return _by_mode(nature, mode, workspace)


def _everything(nature: CallFacts, mode: Mode) -> bool:
    """Return True if only yolo, or a rule without a pattern, would let the call run."""
    if nature.allowed is not None:
        return nature.allowed.pattern in ("", "*")
    return mode == "yolo" and not nature.harmless


def _by_mode(nature: CallFacts, mode: Mode, workspace: Workspace) -> Decision:
    if mode == "yolo":
        return Decision("allow", "mode yolo", "everything is allowed unless a rule denies it")
    if nature.edits_inside and mode in ("auto-edit", "auto"):
        return Decision("allow", f"mode {mode}", "edits inside the workspace are free")
    if mode == "auto" and workspace.sandboxed and nature.line is not None:
        contained = nature.line.contained
        if contained.reads:
            return Decision("allow", "read-only", _ONLY_READS)
        if not contained.why:
            why = "the sandbox contains it, and its changes in the workspace can be undone"
            return Decision("allow", "mode auto", why, records=contained.records, contained=True)
        return _asked("auto", contained.why, nature)
    if workspace.sandboxed and nature.line is not None and not nature.stays:
        return _by_sandbox_rule(nature, nature.line, mode)
    return _asked(mode, nature.why or "this tool may change something", nature)


def _by_sandbox_rule(nature: CallFacts, line: CommandLine, mode: Mode) -> Decision:
    """Return the decision on a command by the rules that allow what the sandbox contains; it offers such rules if there are no others."""
    from agentcli.permissions.allowing import offered_in_sandbox, with_whole_programs

    boxed, why = nature.boxed, nature.why
    contained = line.alone if boxed or not nature.prefixes else None
    if boxed and contained is not None:
        if not contained.why:
            reason = f"a rule from {boxed.origin} allows it in the sandbox"
            return Decision("allow", f"allow {boxed}", reason, records=contained.records, contained=True)
        why = f"the rule {boxed} does not cover it: {contained.why}"
    elif contained is not None and not contained.why:
        nature = replace(nature, prefixes=offered_in_sandbox(line))
    nature = replace(nature, prefixes=with_whole_programs(line, nature.prefixes, nature.approved))
    return _asked(mode, why, nature)


_ONLY_READS = "every command only reads inside the workspace"


def _asked(mode: Mode, why: str, nature: CallFacts) -> Decision:
    session = nature.session or nature.always
    given = nature.always, nature.unsaved, nature.prefixes, session, nature.edits_inside
    return Decision("ask", f"mode {mode}", why, *given)


_OBSCURE = "a deny rule may apply and the command hides what it runs"


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Facts of a call that need no mode: what it would touch, and which rules match. Texts are reasons, empty if they do not apply."""

    refused: str = ""
    denied: Rule | None = None
    denied_why: str = ""
    """Reason for `denied`, if there is more to say than that a rule matches."""
    unproven: str = ""
    """Reason to ask if files that deny rules name cannot be hidden."""
    hidden: Hidden = NOTHING
    """Files to hide from a command."""
    destroys: str = ""
    protected: str = ""
    interacts: str = ""
    asked: Rule | None = None
    allowed: Rule | None = None
    boxed: Rule | None = None
    """Rule that allows a command as far as the sandbox contains it."""
    approved: tuple[str, ...] = ()
    """Patterns of the rules that allow commands."""
    stays: bool = False
    """True for a background command: in a sandbox of its own, nothing could reach it."""
    harmless: str = ""
    edits_inside: bool = False
    prefixes: tuple[str, ...] = ()
    session: str = ""
    line: CommandLine | None = None
    """Analysed line of a command."""
    obscure: str = ""
    changes: bool = True
    why: str = ""
    always: str = ""
    unsaved: str = ""
    path: Path | None = None
    """Resolved path that these facts are about, for a tool that takes one."""
    machine: Looks = ""
    """The part of the machine that a harmless command looks at."""


def facts_of(call: ToolCall, tools: Mapping[str, Traits], rules: Rules, workspace: Workspace) -> CallFacts:
    """Gather the facts of a call that need no mode. `tools` are the traits of all tools."""
    traits = tools.get(call.name, UNKNOWN)
    subject = call.input.get(traits.subject, None)
    if traits.runs_commands:
        if not isinstance(subject, str):
            return CallFacts(refused="no command is given")
        nature = _command_nature(call.name, subject, tools, rules, workspace)
        return replace(nature, stays=bool(call.input.get(traits.background)))
    if traits.edits_files or traits.reads_files:
        if not isinstance(subject, str) or not subject:
            return CallFacts(refused="no file is named")
        if traits.patches and "\n" in subject:
            return CallFacts(changes=False, harmless="it is not a patch, and changes nothing")
        return _file_nature(call, subject, tools, rules, workspace)
    if traits.searches:
        folder, pattern = _search(call, traits, subject if isinstance(subject, str) and subject else ".")
        return _file_nature(call, folder, tools, rules, workspace, pattern)
    if traits.fetches:
        return _fetch_nature(call.name, str(subject or ""), rules)
    nature = _server_nature(call, traits, rules) if traits.server else _other_nature(call, traits.effect, rules)
    denials = () if nature.denied or traits.recalls or traits.delegates else reading_denials(rules.deny, tools)
    if denials and (traits.server or traits.effect != "none"):
        paths = (path for value in call.input.values() for path in paths_given(value))
        rule = next(filter(None, (denial_of(path, denials, workspace) for path in paths)), None)
        return replace(nature, denied=rule)
    return nature


def _command_nature(
    tool: str, command: str, tools: Mapping[str, Traits], rules: Rules, workspace: Workspace
) -> CallFacts:
    # These modules load the tables of all programs: import them only for a command.
    from agentcli.permissions.allowing import allowing_rule, offered, sandbox_rule
    from agentcli.permissions.denied.commands import judge_reading, named_by
    from agentcli.permissions.shell.command_line import analyse

    line = analyse(command, workspace)
    if line.refused:
        return CallFacts(refused=line.refused)
    about = _readers(tools) if line.harmless else _readers(tools) | _writers(tools)
    paths = [rule for rule in rules.deny if rule.tool in about and rule.pattern]
    deny, ask, allow = ([rule for rule in kind if rule.is_for(tool)] for kind in (rules.deny, rules.ask, rules.allow))
    reads = [rule for rule in rules.allow if rule.tool in _readers(tools)]
    allowed = allowing_rule(allow, line, reads)
    reading = judge_reading(line, reading_denials(rules.deny, tools), workspace)
    denied = command_rule(deny, line) or named_by(line, paths, workspace)
    boxing = [rule for rule in rules.allow if rule.tool == SANDBOX]
    approved = [rule.pattern for rule in allow]
    return CallFacts(
        denied=denied or reading.rule,
        denied_why="" if denied else reading.why,
        unproven=reading.unproven,
        hidden=reading.hidden,
        destroys=line.destroys,
        protected=line.protected,
        asked=command_rule(ask, line),
        allowed=allowed if isinstance(allowed, Rule) else None,
        boxed=sandbox_rule([*allow, *boxing], line),
        harmless=_ONLY_READS if line.harmless else "",
        line=line,
        machine=line.machine,
        obscure=_OBSCURE if may_hide_from(deny, line) else "",
        why=(allowed if isinstance(allowed, str) else "") or line.why,
        always="" if line.unsaved else f"{tool}({exact(line.text.strip())})",
        unsaved=line.unsaved,
        prefixes=offered(line, tool, approved),
        approved=(*approved, *(rule.pattern for rule in boxing)),
        session=f"{tool}({exact(line.text.strip())})",
    )


def _readers(tools: Mapping[str, Traits]) -> frozenset[str]:
    return frozenset(name for name, traits in tools.items() if traits.reads_files)


def _writers(tools: Mapping[str, Traits]) -> frozenset[str]:
    return frozenset(name for name, traits in tools.items() if traits.edits_files)


def _search(call: ToolCall, traits: Traits, folder: str) -> tuple[str, str]:
    """Return the folder to search and the pattern that selects files in it."""
    pattern = call.input.get(traits.pattern or traits.name_filter)
    if not isinstance(pattern, str):
        return folder, ""
    if traits.pattern:
        folder, pattern = searched(folder, pattern)
    return folder, pattern.lstrip("/")


def _file_nature(
    call: ToolCall, path: str, tools: Mapping[str, Traits], rules: Rules, workspace: Workspace, pattern: str = ""
) -> CallFacts:
    traits = tools[call.name]
    write = traits.edits_files
    verdict = judge_path(path, workspace, write=write)
    target = verdict.path
    if verdict.verdict == "refused" or target is None:
        return CallFacts(refused=verdict.why)
    if verdict.verdict == "free" and pattern and not pattern.startswith("!"):
        verdict = _search_verdict(traits, path, pattern, workspace)
    if verdict.verdict == "outside" and not write and path.startswith(MANUAL) and target.is_relative_to(MANUAL_FOLDER):
        verdict = PathVerdict("free", "", target)
    if not write and _stays_below(pattern) and _in_a_skill(target, workspace):
        verdict = PathVerdict("free", "", target)
    if verdict.verdict == "free" and write and (folder := installed_in(path, target, workspace)):
        verdict = PathVerdict("protected", f"{folder} contains installed programs", target)
    covering = _writers(tools) if write else _readers(tools) | {call.name}
    denials = reading_denials(rules.deny, tools)
    deny, ask = ([rule for rule in kind if _covers(rule, call.name, covering)] for kind in (rules.deny, rules.ask))
    hidden = existing(denials, workspace) if traits.searches and denials else NOTHING
    outside = verdict.verdict == "outside" and traits.reads_files and not os.path.isdir(target)
    scope = reading_scope(target, workspace) if outside else ""
    names = {call.name, traits.allowed_as} - {""}
    allow = [rule for rule in rules.allow if any(rule.is_for(name) for name in names)]
    return CallFacts(
        denied=path_rule(deny, path, workspace, strict=False, target=target) or _unreadable(target, denials, workspace),
        hidden=hidden,
        unproven="" if hidden.complete else "deny rules name more files than can be left out of a search",
        protected=verdict.why if verdict.verdict == "protected" else "",
        asked=path_rule(ask, path, workspace, strict=False, target=target),
        allowed=path_rule(allow, path, workspace, strict=True, target=target),
        harmless="reading inside the workspace is free" if verdict.verdict == "free" and not write else "",
        edits_inside=write and verdict.verdict == "free",
        changes=write,
        why=verdict.why or "it changes a file",
        always=f"{'edit' if traits.patches else call.name}({exact_path(target, workspace)})",
        prefixes=(f"{call.name}({scope})",) if scope.endswith("**") else (),
        path=target,
    )


def _unreadable(target: Path, denials: Sequence[Rule], workspace: Workspace) -> Rule | None:
    """Return the rule that denies reading an existing file: an edit also shows the file that it changes."""
    return denial_of(target, denials, workspace) if os.path.lexists(target) else None


def _stays_below(pattern: str) -> bool:
    """Return True if a search by this pattern stays below its folder and finds no protected name."""
    named = could_name_protected(pattern) or names_protected(pattern, write=False)
    return ".." not in pattern and not pattern.startswith(("/", "~")) and not named


def _in_a_skill(target: Path, workspace: Workspace) -> bool:
    """Return True if a path lies in a readable folder outside the workspace and has no protected name there."""
    folders = (folder for folder in workspace.readable() if not workspace.home.is_relative_to(folder))
    top = next((folder for folder in folders if target.is_relative_to(folder)), None)
    return top is not None and not names_protected(str(target.relative_to(top)), write=False)


def _covers(rule: Rule, tool: str, covering: Iterable[str]) -> bool:
    return rule.is_for(tool) or (bool(rule.pattern) and rule.tool in covering)


def _search_verdict(traits: Traits, path: str, pattern: str, workspace: Workspace) -> PathVerdict:
    """Return the verdict on the files that a search would select: `.env*` names protected files."""
    if traits.name_filter and could_name_protected(pattern):
        return PathVerdict("protected", f"{pattern} is protected")
    return judge_path(os.path.join(path, pattern), workspace, write=False)


def _fetch_nature(tool: str, url: str, rules: Rules) -> CallFacts:
    def speaking(kind: Iterable[Rule], *, strict: bool = False) -> Rule | None:
        ours = (rule for rule in kind if rule.is_for(tool))
        return next((rule for rule in ours if not rule.pattern or url_matches(rule.pattern, url, strict=strict)), None)

    denied, asked, allowed = speaking(rules.deny), speaking(rules.ask), speaking(rules.allow, strict=True)
    why = "it uses the network"
    return CallFacts(denied=denied, asked=asked, allowed=allowed, changes=False, why=why, unsaved=why)


def _other_nature(call: ToolCall, effect: Effect, rules: Rules) -> CallFacts:
    denied, asked, allowed = (
        next((rule for rule in kind if rule.is_for(call.name) and _speaks_of(rule, call.input)), None)
        for kind in (rules.deny, rules.ask, rules.allow)
    )
    free = effect in ("none", "read", "ask")
    return CallFacts(
        denied=denied,
        asked=asked,
        allowed=allowed,
        harmless="the tool changes nothing" if free else "",
        changes=effect in ("write", "run"),
        why="this tool may change something" if effect != "network" else "it uses the network",
        always=call.name if effect != "network" else "",
        unsaved="it uses the network" if effect == "network" else "",
    )


def _server_nature(call: ToolCall, traits: Traits, rules: Rules) -> CallFacts:
    """Gather the facts of a call of an MCP server's tool, which is never harmless without a rule, whatever the tool declares."""
    allow = [rule for rule in rules.allow if not traits.shadows or rule.origin not in _LASTING]
    denied, asked, allowed = (
        next((rule for rule in kind if rule.is_for(call.name) and _speaks_of(rule, call.input)), None)
        for kind in (rules.deny, rules.ask, allow)
    )
    return CallFacts(
        denied=denied,
        interacts=f"the server {traits.server} wants a person to decide about each call" if traits.interacts else "",
        asked=asked,
        allowed=allowed,
        changes=not traits.reads_only,
        why=f"the server {traits.server} may do anything with it",
        always="" if traits.shadows else call.name,
        prefixes=() if traits.shadows else (f"{server_prefix(call.name)}*",),
        unsaved=f"the project's server {traits.server} is in the place of your own" if traits.shadows else "",
    )


_LASTING = ("config", "your answers")
"""Origins of rules that name a server, without regard to the program behind that name."""


def _speaks_of(rule: Rule, values: Mapping[str, Any]) -> bool:
    if not rule.pattern:
        return True
    return any(isinstance(value, str) and wildcard(rule.pattern).fullmatch(value) for value in values.values())
