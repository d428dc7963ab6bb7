"""Decisions about calls: a pure function of the call, the rules, the mode and the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.resolve import MANUAL, MANUAL_FOLDER, searched
from agentcli.core.servers import server_prefix
from agentcli.core.tool import UNKNOWN, Effect, Traits
from agentcli.permissions.paths import (
    PathVerdict,
    Workspace,
    could_name_protected,
    installed_in,
    judge_path,
    names_protected,
)
from agentcli.permissions.rules import (
    Rule,
    Rules,
    allowing_rule,
    command_rule,
    exact,
    exact_path,
    may_hide_from,
    path_rule,
    url_matches,
    wildcard,
)

if TYPE_CHECKING:
    from agentcli.permissions.readonly.commands import Looks
    from agentcli.permissions.shell.command_line import CommandLine


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on a call, the rule it rests on, and the reason.

    `always` is the exact rule that "always" would save; where none may be saved, `unsaved` names the check that would
    still stand.
    """

    decision: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    always: str = ""
    unsaved: str = ""
    prefixes: tuple[str, ...] = ()
    """The wider rules that a second "always" would save, one for each program of the line; none where none may be saved."""
    session: str = ""
    """The exact rule that "for this session" would add; empty where the question is put each time."""
    path: Path | None = None
    """The resolved path that was decided about, for a tool that takes one: what is allowed is this path and no other."""
    records: bool = False
    """Whether a command that the sandbox may run unasked needs a repository that git may write to."""
    machine: Looks = ""
    """Whether a command that only reads looks at the machine, which no sandbox shows."""


def decide(call: ToolCall, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace) -> Decision:
    """Deny before ask, ask before allow, and all of them before what the mode would do. Reads links and git config, runs nothing.

    `tools` are the traits of all tools, since a rule about one of them may cover another.
    """
    nature = facts_of(call, tools, rules, workspace)
    return replace(_decided(nature, mode, workspace), path=nature.path, machine=nature.machine)


def _decided(nature: CallFacts, mode: Mode, workspace: Workspace) -> Decision:
    if nature.refused:
        return Decision("deny", "limits", nature.refused)
    if nature.denied:
        return Decision("deny", f"deny {nature.denied}", f"a rule from {nature.denied.origin} forbids it")
    if mode == "plan" and nature.changes and not nature.harmless:
        return Decision(
            "deny", "mode plan", f"plan mode is on, which changes nothing: {nature.why or 'this may change something'}"
        )
    if nature.destroys:
        return Decision("ask", "destructive", nature.destroys, unsaved="what can only destroy is asked about each time")
    if nature.protected:
        return Decision("ask", "protected path", nature.protected, unsaved="what is protected is asked about each time")
    if nature.interacts:
        return Decision("ask", "interaction", nature.interacts, unsaved="it is asked about each time")
    if nature.asked:
        why = f"a rule from {nature.asked.origin} asks"
        return Decision("ask", f"ask {nature.asked}", why, unsaved=f"the rule {nature.asked} still asks")
    if nature.obscure and (nature.allowed or mode in ("auto", "yolo")):
        return Decision("ask", "deny rules", nature.obscure, unsaved=nature.obscure)
    if nature.allowed:
        return Decision("allow", f"allow {nature.allowed}", f"a rule from {nature.allowed.origin} allows it")
    if nature.harmless:
        return Decision("allow", "read-only", nature.harmless)
    return _by_mode(nature, mode, workspace)


def _by_mode(nature: CallFacts, mode: Mode, workspace: Workspace) -> Decision:
    if mode == "yolo":
        return Decision("allow", "mode yolo", "everything runs that no rule forbids")
    if nature.edits_inside and mode in ("auto-edit", "auto"):
        return Decision("allow", f"mode {mode}", "edits inside the workspace are free")
    if mode == "auto" and workspace.sandboxed and nature.line is not None:
        contained = nature.line.contained
        if contained.reads:
            return Decision("allow", "read-only", _ONLY_READS)
        if not contained.why:
            why = "the sandbox holds it, and what it changes in the workspace can be put back"
            return Decision("allow", "mode auto", why, records=contained.records)
        return _asked("auto", contained.why, nature)
    return _asked(mode, nature.why or "this tool may change something", nature)


_ONLY_READS = "every command only reads inside the workspace"


def _asked(mode: Mode, why: str, nature: CallFacts) -> Decision:
    session = nature.session or nature.always
    return Decision("ask", f"mode {mode}", why, nature.always, nature.unsaved, nature.prefixes, session)


_OBSCURE = "a deny rule may apply and the command hides what it runs"


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Facts of a call that need no mode: what it would touch, and which rules match. The texts are reasons, empty where they do not apply."""

    refused: str = ""
    denied: Rule | None = None
    destroys: str = ""
    protected: str = ""
    interacts: str = ""
    asked: Rule | None = None
    allowed: Rule | None = None
    harmless: str = ""
    edits_inside: bool = False
    prefixes: tuple[str, ...] = ()
    session: str = ""
    line: CommandLine | None = None
    """The analysed line of a command."""
    obscure: str = ""
    changes: bool = True
    why: str = ""
    always: str = ""
    unsaved: str = ""
    path: Path | None = None
    """The resolved path that all this was said of, for a tool that takes one."""
    machine: Looks = ""
    """Whether a harmless command looks at the machine."""


def facts_of(call: ToolCall, tools: Mapping[str, Traits], rules: Rules, workspace: Workspace) -> CallFacts:
    """Gather the facts of a call that need no mode. `tools` are the traits of all tools."""
    traits = tools.get(call.name, UNKNOWN)
    subject = call.input.get(traits.subject, None)
    if traits.runs_commands:
        if not isinstance(subject, str):
            return CallFacts(refused="no command is given")
        return _command_nature(call.name, subject, tools, rules, workspace)
    if traits.edits_files or traits.reads_files:
        if not isinstance(subject, str) or not subject:
            return CallFacts(refused="no file is named")
        return _file_nature(call, subject, tools, rules, workspace)
    if traits.searches:
        folder, pattern = _search(call, traits, subject if isinstance(subject, str) and subject else ".")
        return _file_nature(call, folder, tools, rules, workspace, pattern)
    if traits.fetches:
        return _fetch_nature(call.name, str(subject or ""), rules)
    if traits.server:
        return _server_nature(call, traits, rules)
    return _other_nature(call, traits.effect, rules)


def _command_nature(
    tool: str, command: str, tools: Mapping[str, Traits], rules: Rules, workspace: Workspace
) -> CallFacts:
    from agentcli.permissions.shell.command_line import (
        analyse,  # with the tables of all programs: not before a command comes
    )

    line = analyse(command, workspace)
    if line.refused:
        return CallFacts(refused=line.refused)
    about = _readers(tools) if line.harmless else _readers(tools) | _writers(tools)
    paths = [rule for rule in rules.deny if rule.tool in about and rule.pattern]
    deny, ask, allow = ([rule for rule in kind if rule.is_for(tool)] for kind in (rules.deny, rules.ask, rules.allow))
    denied = command_rule(deny, line) or _path_rule_in(line, paths, workspace)
    return CallFacts(
        denied=denied,
        destroys=line.destroys,
        protected=line.protected,
        asked=command_rule(ask, line),
        allowed=allowing_rule(allow, line),
        harmless=_ONLY_READS if line.harmless else "",
        line=line,
        machine=line.machine,
        obscure=_OBSCURE if may_hide_from(deny, line) else "",
        why=line.why,
        always="" if line.unsaved else f"{tool}({exact(line.text.strip())})",
        unsaved=line.unsaved,
        prefixes=tuple(f"{tool}({pattern})" for pattern in line.prefixes),
        session=f"{tool}({exact(line.text.strip())})",
    )


def _readers(tools: Mapping[str, Traits]) -> frozenset[str]:
    return frozenset(name for name, traits in tools.items() if traits.reads_files)


def _writers(tools: Mapping[str, Traits]) -> frozenset[str]:
    return frozenset(name for name, traits in tools.items() if traits.edits_files)


def _path_rule_in(line: CommandLine, rules: list[Rule], workspace: Workspace) -> Rule | None:
    """The path rule that a word of the line runs into."""
    if not rules:
        return None
    return next((rule for word in line.paths if (rule := path_rule(rules, word, workspace, strict=False))), None)


def _search(call: ToolCall, traits: Traits, folder: str) -> tuple[str, str]:
    """The folder that is searched, and the pattern that picks files in it."""
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
        verdict = PathVerdict("protected", f"{folder} holds installed programs", target)
    covering = _writers(tools) if write else _readers(tools) | {call.name}
    deny, ask = ([rule for rule in kind if _covers(rule, call.name, covering)] for kind in (rules.deny, rules.ask))
    names = {call.name, traits.allowed_as} - {""}
    allow = [rule for rule in rules.allow if any(rule.is_for(name) for name in names)]
    return CallFacts(
        denied=path_rule(deny, path, workspace, strict=False, target=target),
        protected=verdict.why if verdict.verdict == "protected" else "",
        asked=path_rule(ask, path, workspace, strict=False, target=target),
        allowed=path_rule(allow, path, workspace, strict=True, target=target),
        harmless="reading inside the workspace is free" if verdict.verdict == "free" and not write else "",
        edits_inside=write and verdict.verdict == "free",
        changes=write,
        why=verdict.why or "it changes a file",
        always=f"{call.name}({exact_path(target, workspace)})",
        path=target,
    )


def _stays_below(pattern: str) -> bool:
    """True if a search by this pattern leads nowhere else, and to nothing of a protected name."""
    named = could_name_protected(pattern) or names_protected(pattern, write=False)
    return ".." not in pattern and not pattern.startswith(("/", "~")) and not named


def _in_a_skill(target: Path, workspace: Workspace) -> bool:
    """True if a path lies in a folder that may be read besides the workspace, and is none of a protected name there."""
    folders = (folder for folder in workspace.readable() if not workspace.home.is_relative_to(folder))
    top = next((folder for folder in folders if target.is_relative_to(folder)), None)
    return top is not None and not names_protected(str(target.relative_to(top)), write=False)


def _covers(rule: Rule, tool: str, covering: Iterable[str]) -> bool:
    return rule.is_for(tool) or (bool(rule.pattern) and rule.tool in covering)


def _search_verdict(traits: Traits, path: str, pattern: str, workspace: Workspace) -> PathVerdict:
    """The verdict on what a search would pick out: `.env*` names what is protected."""
    if traits.name_filter and could_name_protected(pattern):
        return PathVerdict("protected", f"{pattern} is protected")
    return judge_path(os.path.join(path, pattern), workspace, write=False)


def _fetch_nature(tool: str, url: str, rules: Rules) -> CallFacts:
    def speaking(kind: Iterable[Rule]) -> Rule | None:
        ours = (rule for rule in kind if rule.is_for(tool))
        return next((rule for rule in ours if not rule.pattern or url_matches(rule.pattern, url)), None)

    denied, asked, allowed = map(speaking, (rules.deny, rules.ask, rules.allow))
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
    """The facts of a call of a server's tool: a foreign program does it, whatever it says of itself."""
    denied, asked, allowed = (
        next((rule for rule in kind if rule.is_for(call.name) and _speaks_of(rule, call.input)), None)
        for kind in (rules.deny, rules.ask, rules.allow)
    )
    return CallFacts(
        denied=denied,
        interacts=f"the server {traits.server} wants a person to decide about each call" if traits.interacts else "",
        asked=asked,
        allowed=allowed,
        changes=not traits.reads_only,
        why=f"the server {traits.server} may do anything with it",
        always=call.name,
        prefixes=(f"{server_prefix(call.name)}*",),
    )


def _speaks_of(rule: Rule, values: Mapping[str, Any]) -> bool:
    if not rule.pattern:
        return True
    return any(isinstance(value, str) and wildcard(rule.pattern).fullmatch(value) for value in values.values())
