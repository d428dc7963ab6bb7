"""Facts about a call that need no mode: what it would touch, and which rules match."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.mcp_servers import server_prefix
from agentcli.core.message import ToolCall
from agentcli.core.text.patch import PatchError, touched
from agentcli.core.tool import UNKNOWN, Effect, ToolServer, Traits
from agentcli.permissions.denied.files import NOTHING, Hidden, denial_of, existing, paths_given, reading_denials
from agentcli.permissions.paths import (
    PathVerdict,
    Workspace,
    could_name_protected,
    installed_in,
    is_installed,
    judge_path,
    names_inside,
    names_protected,
    tells_of_machine,
)
from agentcli.permissions.rules import (
    NETWORK,
    SANDBOX,
    Rule,
    Rules,
    command_pattern,
    exact,
    exact_path,
    kind_of_place,
    path_rule,
    url_matches,
    wildcard,
)
from agentcli.system.resolve import MANUAL, MANUAL_FOLDER, searched

if TYPE_CHECKING:
    from agentcli.permissions.shell.command_line import CommandLine

Offers = Callable[[], tuple[str, ...]]
"""Finds the rules that a person may save instead of an exact one; empty if none may be saved."""
ONLY_READS = "every command only reads inside the workspace"
_OBSCURE = "a deny rule may apply and the command hides what it runs"


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Facts about a call: what it would touch, and the rules that match. Texts are reasons, empty if they do not apply."""

    refused: str = ""
    denied: Rule | None = None
    denied_why: str = ""
    """Reason for `denied`, if there is more to report than that a rule matches."""
    unproven: str = ""
    """Reason to ask if files of deny rules cannot be hidden."""
    hidden: Hidden = NOTHING
    """Files to hide from a command."""
    left_out: tuple[str, ...] = ()
    """Denied files that `line` excludes from git's output, each with its rule; the call itself does not exclude them.
    """
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
    """True for a background command: in a separate sandbox, nothing could reach it."""
    harmless: str = ""
    edits_inside: bool = False
    offers: Offers = tuple
    programs: Offers = tuple
    session: str = ""
    line: CommandLine | None = None
    """Analysed line of a command."""
    obscure: str = ""
    changes: bool = True
    why: str = ""
    """Reason for a question; for a rule about a command, the line has its own reason."""
    always: str = ""
    unsaved: str = ""
    path: Path | None = None
    """Resolved path of these facts, for a tool that takes one."""
    no_files_denied: bool = False
    """True for a command if no deny rule is about files."""

    @property
    def reads(self) -> str:
        """Reason why the call is harmless. In a sandbox a line of any form counts, if its commands only read."""
        if self.harmless or self.line is None or self.obscure or not self.no_files_denied:
            return self.harmless
        boxed = self.line.workspace is not None and self.line.workspace.sandboxed
        if self.line.commands or self.line.refused or not boxed:
            return ""
        from agentcli.permissions.any_form import only_reads  # 15 ms, only for such a line

        return ONLY_READS if only_reads(self.line) else ""

    @property
    def reason(self) -> str:
        """Reason for a question, if the mode asks."""
        return self.why or (self.line.why if self.line is not None else "")


def facts_of(call: ToolCall, tools: Mapping[str, Traits], rules: Rules, workspace: Workspace) -> CallFacts:
    """Gather the facts about a call that need no mode. `tools` are the traits of all tools."""
    traits = tools.get(call.name, UNKNOWN)
    subject = traits.subject.of(call.input)
    if traits.runs_commands:
        if not isinstance(subject, str):
            return CallFacts(refused="no command is given")
        nature = _command_nature(call.name, subject, tools, rules, workspace)
        return replace(nature, stays=bool(call.input.get(traits.subject.background)))
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
    server = traits.server
    nature = _server_nature(call, server, rules) if server is not None else _other_nature(call, traits.effect, rules)
    denials = (
        ()
        if nature.denied or traits.behaviour.recalls or traits.behaviour.delegates
        else reading_denials(rules.deny, tools)
    )
    if denials and (server is not None or traits.effect != "none"):
        paths = (path for value in call.input.values() for path in paths_given(value))
        rule = next(filter(None, (denial_of(path, denials, workspace) for path in paths)), None)
        return replace(nature, denied=rule)
    return nature


def by_file(call: ToolCall, tools: Mapping[str, Traits]) -> tuple[ToolCall, ...]:
    """Return a call with a patch as one call for each file that it touches; any other call alone.

    The subject of each call is the path. A text that is not a patch touches nothing: the tool refuses it.
    """
    traits = tools.get(call.name, UNKNOWN)
    text = traits.subject.of(call.input)
    if not traits.patches or not isinstance(text, str) or "\n" not in text:
        return (call,)
    try:
        paths = touched(text)
    except PatchError:
        return (call,)
    return tuple(replace(call, input={traits.subject.field: path}) for path in paths)


def _command_nature(
    tool: str, command: str, tools: Mapping[str, Traits], rules: Rules, workspace: Workspace
) -> CallFacts:
    from agentcli.permissions.shell.command_line import analyse  # about 60 ms: the tables of all programs

    denials = reading_denials(rules.deny, tools)
    hidden = existing(denials, workspace) if denials else NOTHING
    if hidden.paths:
        concealed = frozenset(hidden.files) if workspace.masks else workspace.concealed
        workspace = replace(workspace, denied=hidden.paths, concealed=concealed)
    if rules.allow or any(rule.tool == NETWORK for rule in (*rules.ask, *rules.deny)):
        workspace = _with_hosts(workspace, tool, rules)
    given = analyse(command, workspace)
    if rules.allow and given.may_send and workspace.opened():
        given = analyse(command, replace(workspace, opened=tuple))  # it could send what it reads
    if given.refused:
        return CallFacts(refused=given.refused)
    denied = _denied_reading(given, tools, rules.deny, workspace, hidden) if rules.deny else CallFacts()
    line = denied.line or given
    deny, ask, allow = ([rule for rule in kind if rule.is_for(tool)] for kind in (rules.deny, rules.ask, rules.allow))
    text = f"{tool}({exact(given.text.strip())})"
    facts = replace(
        denied,
        denied=_command_rule(deny, given) or denied.denied,
        destroys=line.destroys,
        protected=line.protected,
        asked=_command_rule(ask, given),
        harmless=ONLY_READS if line.harmless else "",
        line=line,
        obscure=_OBSCURE if _may_hide_from(deny, given) else "",
        always="" if line.unsaved else text,
        unsaved=line.unsaved,
        offers=_offers(line, tool, allow, [rule for rule in rules.allow if rule.tool in _readers(tools)]),
        programs=_programs(line, tool, allow, [rule for rule in rules.allow if rule.tool in _readers(tools)]),
        session=text,
        no_files_denied=not any(rule.tool in _readers(tools) | _writers(tools) for rule in rules.deny),
    )
    return _with_allowing(facts, given, allow, tools, rules.allow) if rules.allow else facts


def _with_hosts(workspace: Workspace, tool: str, rules: Rules) -> Workspace:
    """Return the workspace with the hosts and the exact commands that rules allow."""
    named = Rules(
        *(tuple(rule for rule in kind if rule.tool == NETWORK) for kind in (rules.allow, rules.ask, rules.deny))
    )
    exactly = {rule.pattern for rule in rules.allow if rule.is_for(tool)}

    def allows_host(host: str) -> bool:
        from agentcli.permissions.network.hosts import Hosts  # few commands name a host

        kind = kind_of_place(host)
        allow = [rule for rule in named.allow if rule.pattern and kind_of_place(rule.pattern) == kind]
        kinds = (
            tuple(replace(rule, pattern=rule.pattern.removeprefix(kind)) for rule in each)
            for each in (allow, named.ask, named.deny)
        )
        return Hosts(Rules(*kinds)).verdict(host.removeprefix(kind))[0] == "allow"

    def withholds(host: str) -> bool:
        from agentcli.permissions.network.hosts import covers_host

        return any(covers_host(rule.pattern, host) for rule in (*named.ask, *named.deny))

    return replace(workspace, allows_host=allows_host, withholds=withholds, approves=exactly.__contains__)


def _command_rule(rules: Iterable[Rule], line: CommandLine) -> Rule | None:
    """Return the first rule about commands that matches any command of the line, however wrapped."""
    for rule in rules:
        if not rule.pattern or any(command_pattern(rule.pattern).fullmatch(text) for text in line.spellings):
            return rule
    return None


def _may_hide_from(rules: Iterable[Rule], line: CommandLine) -> bool:
    """Return True if a command in a rule may run in a part of the line that cannot be analysed.

    An unknown part of the line may be that command, and an alias may expand to it. An unknown program may get the
    command's name in a script, after an option, or in a variable.
    """
    patterns = [rule.pattern for rule in rules]
    if not patterns or line.harmless:
        return False
    heads = [pattern.split("*")[0] for pattern in patterns]
    if not line.whole or any(head.startswith(known) for known in line.beginnings for head in heads):
        return True
    if any(map(line.may_run, heads)):
        return True
    names = "|".join(re.escape(words[0]) for head in heads if (words := head.split()))
    mention = re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])")
    return bool(names) and any(mention.search(text) for text in line.unseen)


def _offers(line: CommandLine, tool: str, allow: Sequence[Rule], reads: Sequence[Rule]) -> Offers:
    """Return the search for the rules to offer instead of the exact one. It runs once, only for a question."""

    @cache
    def offers() -> tuple[str, ...]:
        from agentcli.permissions.offers import offered  # 20 ms, only for a question

        return offered(line, tool, allow, reads)

    return offers


def _programs(line: CommandLine, tool: str, allow: Sequence[Rule], reads: Sequence[Rule]) -> Offers:
    """Return the search for rules about whole programs, for commands that no sandbox contains."""

    @cache
    def programs() -> tuple[str, ...]:
        from agentcli.permissions.offers import offered_whole

        return offered_whole(line, tool, allow, reads)

    return programs


def _denied_reading(
    line: CommandLine, tools: Mapping[str, Traits], rules: Sequence[Rule], workspace: Workspace, hidden: Hidden
) -> CallFacts:
    """Return what deny rules about files mean for a command: `line` is set if it is to run with exclusions."""
    about = _readers(tools) if line.harmless else _readers(tools) | _writers(tools)
    paths = [rule for rule in rules if rule.tool in about and rule.pattern]
    denials = reading_denials(rules, tools)
    if not paths and not denials:
        return CallFacts()
    from agentcli.permissions.denied.commands import judge_reading, named_by  # 7 ms, only for deny rules about files

    if rule := named_by(line, paths, workspace):
        return CallFacts(denied=rule)
    reading = judge_reading(line, denials, workspace, hidden)
    return CallFacts(
        denied=reading.rule,
        denied_why=reading.why,
        unproven=reading.unproven,
        hidden=reading.hidden,
        left_out=reading.left_out,
        line=reading.instead,
    )


def _with_allowing(
    facts: CallFacts, line: CommandLine, own: Sequence[Rule], tools: Mapping[str, Traits], rules: Sequence[Rule]
) -> CallFacts:
    """Return the facts about a command with the allow rules; `own` of them are about its tool."""
    from agentcli.permissions.allowing import allowing_rule, sandbox_rule  # 10 ms, only for allow rules

    boxing = [rule for rule in rules if rule.tool == SANDBOX]
    reads = [rule for rule in rules if rule.tool in _readers(tools)]
    allowed = allowing_rule(own, line, reads, [rule for rule in rules if rule.tool == NETWORK])
    if not isinstance(allowed, Rule):
        from agentcli.permissions.any_code import allowing_code

        allowed = allowing_code(own, line, reads) or allowed
    if not isinstance(allowed, Rule):
        from agentcli.permissions.preparing import allowing_prepared

        allowed = allowing_prepared(own, line, reads) or allowed
    return replace(
        facts,
        allowed=allowed if isinstance(allowed, Rule) else None,
        why=allowed if isinstance(allowed, str) else "",
        boxed=sandbox_rule([*own, *boxing], line),
        approved=tuple(rule.pattern for rule in (*own, *boxing)),
    )


def _readers(tools: Mapping[str, Traits]) -> frozenset[str]:
    return frozenset(name for name, traits in tools.items() if traits.reads_files)


def _writers(tools: Mapping[str, Traits]) -> frozenset[str]:
    return frozenset(name for name, traits in tools.items() if traits.edits_files)


def _search(call: ToolCall, traits: Traits, folder: str) -> tuple[str, str]:
    """Return the folder to search and the pattern that selects files in it."""
    pattern = call.input.get(traits.subject.pattern or traits.subject.name_filter)
    if not isinstance(pattern, str):
        return folder, ""
    if traits.subject.pattern:
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
    verdict = _for_tool(traits, verdict, path, target, pattern, workspace)
    covering = _writers(tools) if write else _readers(tools) | {call.name}
    denials = reading_denials(rules.deny, tools)
    deny, ask = ([rule for rule in kind if _covers(rule, call.name, covering)] for kind in (rules.deny, rules.ask))
    hidden = existing(denials, workspace) if traits.searches and denials else NOTHING
    outside = verdict.verdict == "outside" and traits.reads_files and not os.path.isdir(target)
    names = {call.name, traits.subject.allowed_as} - {""}
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
        offers=partial(_offered_folder, call.name, target, workspace) if outside else tuple,
        path=target,
    )


def _offered_folder(tool: str, target: Path, workspace: Workspace) -> tuple[str, ...]:
    """Return the rule about reading the whole folder of a path outside the workspace; none if it holds too much."""
    from agentcli.permissions.exposed import wide_scope  # only for a question

    scope = wide_scope(target, workspace)
    return (f"{tool}({scope})",) if scope.endswith("**") else ()


def _for_tool(
    traits: Traits, verdict: PathVerdict, path: str, target: Path, pattern: str, workspace: Workspace
) -> PathVerdict:
    """Return the verdict on a path for a tool.

    Written files, and files that a search would select, may be judged differently.
    """
    if traits.edits_files:
        folder = installed_in(path, target, workspace) if verdict.verdict == "free" else ""
        return PathVerdict("protected", f"{folder} contains installed programs", target) if folder else verdict
    if verdict.verdict == "free" and pattern and not pattern.startswith("!"):
        verdict = _search_verdict(traits, path, pattern, workspace)
    manual = verdict.verdict == "outside" and path.startswith(MANUAL) and target.is_relative_to(MANUAL_FOLDER)
    if manual or (_stays_below(pattern) and _in_a_skill(target, workspace)):
        return PathVerdict("free", "", target)
    if (
        verdict.verdict == "outside"
        and _stays_below(pattern)
        and (is_installed(target, workspace) or tells_of_machine(target))
    ):
        return PathVerdict("free", "", target)
    if (
        verdict.verdict == "outside"
        and traits.reads_files
        and workspace.exposes
        and _a_command_may_read(path, target, workspace)
    ):
        return PathVerdict("free", "", target)
    return verdict


def _a_command_may_read(path: str, target: Path, workspace: Workspace) -> bool:
    """Return True for a file outside the workspace that a command may read; not if a link inside names it."""
    if os.path.isdir(target) or names_inside(path, workspace.cwd, workspace):
        return False
    from agentcli.permissions.exposed import would_show  # only for a file elsewhere

    return would_show(workspace, str(target))


def _unreadable(target: Path, denials: Sequence[Rule], workspace: Workspace) -> Rule | None:
    """Return the rule that denies reading an existing file: an edit also shows the file that it changes."""
    return denial_of(target, denials, workspace) if os.path.lexists(target) else None


def _stays_below(pattern: str) -> bool:
    """Return True if a search with this pattern stays below its folder and finds no protected name."""
    named = could_name_protected(pattern) or names_protected(pattern, write=False)
    return ".." not in pattern and not pattern.startswith(("/", "~")) and not named


def _in_a_skill(target: Path, workspace: Workspace) -> bool:
    """Return True if a path is in a readable folder outside the workspace and has no protected name there."""
    folders = (folder for folder in workspace.readable() if not workspace.home.is_relative_to(folder))
    top = next((folder for folder in folders if target.is_relative_to(folder)), None)
    return top is not None and not names_protected(str(target.relative_to(top)), write=False)


def _covers(rule: Rule, tool: str, covering: Iterable[str]) -> bool:
    return rule.is_for(tool) or (bool(rule.pattern) and rule.tool in covering)


def _search_verdict(traits: Traits, path: str, pattern: str, workspace: Workspace) -> PathVerdict:
    """Return the verdict on the files that a search would select: `.env*` matches protected files."""
    if traits.subject.name_filter and could_name_protected(pattern):
        return PathVerdict("protected", f"{pattern} is protected")
    return judge_path(os.path.join(path, pattern), workspace, write=False)


def _fetch_nature(tool: str, url: str, rules: Rules) -> CallFacts:
    def speaking(kind: Iterable[Rule], *, strict: bool = False) -> Rule | None:
        ours = (rule for rule in kind if rule.is_for(tool))
        return next((rule for rule in ours if not rule.pattern or url_matches(rule.pattern, url, strict=strict)), None)

    denied, asked, allowed = speaking(rules.deny), speaking(rules.ask), speaking(rules.allow, strict=True)
    why = f"{tool} uses the network"
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
        why="this tool may change something" if effect != "network" else f"{call.name} uses the network",
        always=call.name if effect != "network" else "",
        unsaved=f"{call.name} uses the network" if effect == "network" else "",
    )


def _server_nature(call: ToolCall, server: ToolServer, rules: Rules) -> CallFacts:
    """Gather the facts about a call of an MCP server's tool.

    Without a rule it is never harmless, even if the tool declares so.
    """
    allow = [rule for rule in rules.allow if not server.shadows or rule.origin not in _LASTING]
    denied, asked, allowed = (
        next((rule for rule in kind if rule.is_for(call.name) and _speaks_of(rule, call.input)), None)
        for kind in (rules.deny, rules.ask, allow)
    )
    return CallFacts(
        denied=denied,
        interacts=f"the server {server.name} wants a person to decide about each call" if server.interacts else "",
        asked=asked,
        allowed=allowed,
        changes=not server.reads_only,
        why=f"the server {server.name} may do anything with it",
        always="" if server.shadows else call.name,
        offers=lambda: () if server.shadows else (f"{server_prefix(call.name)}*",),
        unsaved=f"the project's server {server.name} is in the place of your own" if server.shadows else "",
    )


_LASTING = ("config", "your answers")
"""Origins of rules about a server that ignore the program behind its name."""


def _speaks_of(rule: Rule, values: Mapping[str, Any]) -> bool:
    if not rule.pattern:
        return True
    return any(isinstance(value, str) and wildcard(rule.pattern).fullmatch(value) for value in values.values())
