"""Whether a call may run: a pure function of the call, the rules, the mode and the place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentcli.agent.permissions import bash
from agentcli.agent.permissions.paths import FREE, PathVerdict, canonical, could_name_protected, judge_path
from agentcli.agent.permissions.place import Place, resolved
from agentcli.agent.permissions.rules import (
    Rule,
    Rules,
    anchored,
    parse_rule,
    path_pattern,
    url_matches,
    wildcard,
)
from agentcli.core.errors import AgentError
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.tool import Effect

SUBJECTS: Mapping[str, str] = {
    "read": "file_path",
    "write": "file_path",
    "edit": "file_path",
    "multi_edit": "file_path",
    "list": "path",
    "glob": "path",
    "grep": "path",
    "bash": "command",
    "web_fetch": "url",
}
"""The input field of each tool that rules match."""

_WRITERS = frozenset({"write", "edit", "multi_edit"})
_SEARCHERS = frozenset({"list", "glob", "grep"})


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call may run, by which rule, and why. `always` is the exact rule that "always" would save, if one may be saved."""

    decision: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    always: str = ""


@dataclass(frozen=True, slots=True)
class _Nature:
    """What a call is before rules and mode speak. The texts are reasons and empty where they do not apply."""

    refused: str = ""
    denied: Rule | None = None
    protected: str = ""
    asked: Rule | None = None
    allowed: Rule | None = None
    harmless: str = ""
    edits_inside: bool = False
    ordinary: bool = False
    obscure: str = ""
    changes: bool = True
    why: str = ""
    always: str = ""


def decide(call: ToolCall, tool_effect: Effect, rules: Rules, mode: Mode, place: Place) -> Decision:
    """Deny before ask, ask before allow, and all of them before what the mode would do. Reads links and git config, runs nothing."""
    nature = _nature(call, tool_effect, rules, place)
    if nature.refused:
        return Decision("deny", "limits", nature.refused)
    if nature.denied:
        return Decision("deny", f"deny {nature.denied}", f"a rule from {nature.denied.origin} forbids it")
    if mode == "plan" and nature.changes and not nature.harmless:
        return Decision(
            "deny", "mode plan", f"plan mode is on, where nothing is changed: {nature.why or 'this is no pure read'}"
        )
    if nature.protected:
        return Decision("ask", "protected path", nature.protected)
    if nature.asked:
        return Decision("ask", f"ask {nature.asked}", f"a rule from {nature.asked.origin} asks")
    if nature.obscure and (nature.allowed or mode == "yolo"):
        return Decision("ask", "deny rules", nature.obscure)
    if nature.allowed:
        return Decision("allow", f"allow {nature.allowed}", f"a rule from {nature.allowed.origin} allows it")
    if nature.harmless:
        return Decision("allow", "read-only", nature.harmless)
    return _by_mode(nature, mode, place)


def standing_check(rule: str, call: ToolCall, tool_effect: Effect, rules: Rules, mode: Mode, place: Place) -> str:
    """Which check would still stand in the way of this very call if `rule` were saved; empty when the rule lets it run."""
    try:
        saved = Rules(allow=(parse_rule(rule, "session"),))
    except AgentError as error:
        return str(error)
    decision = decide(call, tool_effect, rules + saved, mode, place)
    return "" if decision.decision == "allow" else f"{decision.rule}: {decision.why}"


def _by_mode(nature: _Nature, mode: Mode, place: Place) -> Decision:
    if mode == "yolo":
        return Decision("allow", "mode yolo", "everything runs that no rule forbids")
    if nature.edits_inside and mode in ("auto-edit", "auto"):
        return Decision("allow", f"mode {mode}", "edits inside the workspace are free")
    if nature.ordinary and mode == "auto" and place.sandboxed:
        return Decision("allow", "mode auto", "the sandbox holds and this only reads, builds or tests")
    return Decision("ask", f"mode {mode}", nature.why or "this tool may change something", nature.always)


def _nature(call: ToolCall, effect: Effect, rules: Rules, place: Place) -> _Nature:
    subject = call.input.get(SUBJECTS.get(call.name, ""), None)
    if call.name == "bash":
        return (
            _bash_nature(subject, rules, place) if isinstance(subject, str) else _Nature(refused="no command is given")
        )
    if call.name in _WRITERS or call.name == "read":
        if not isinstance(subject, str) or not subject:
            return _Nature(refused="no file is named")
        return _file_nature(call, subject, rules, place)
    if call.name in _SEARCHERS:
        return _file_nature(call, subject if isinstance(subject, str) and subject else ".", rules, place)
    if call.name == "web_fetch":
        return _fetch_nature(str(subject or ""), rules)
    return _other_nature(call, effect, rules)


def _bash_nature(command: str, rules: Rules, place: Place) -> _Nature:
    line = bash.look_at(command, place)
    if line.refused:
        return _Nature(refused=line.refused)
    paths = [rule for rule in rules.deny if rule.tool in (_WRITERS | {"read"}) and rule.pattern]
    denied = bash.forbidding(line, rules.deny) or _path_rule_in(line, paths, place)
    forbids = any(rule.is_for("bash") for rule in rules.deny)
    return _Nature(
        denied=denied,
        protected=line.protected,
        asked=bash.forbidding(line, rules.ask),
        allowed=bash.allowing(line, rules.allow),
        harmless="every command only reads inside the workspace" if line.harmless else "",
        ordinary=bash.ordinary(line),
        obscure="a deny rule may apply and the command hides what it runs"
        if forbids and not line.contents.whole
        else "",
        why=line.why,
        always=bash.always_rule(line),
    )


def _path_rule_in(line: bash.Line, rules: list[Rule], place: Place) -> Rule | None:
    """The path rule that a word of the line runs into; rules about writing do not speak of a line that only reads."""
    rules = [rule for rule in rules if rule.tool == "read" or not line.harmless]
    if not rules:
        return None
    return next((rule for word in bash.words_of(line) if (rule := _path_match(rules, word, place, strict=False))), None)


def _file_nature(call: ToolCall, path: str, rules: Rules, place: Place) -> _Nature:
    write = call.name in _WRITERS
    verdict = judge_path(path, place, write=write)
    if verdict.verdict == "refused":
        return _Nature(refused=verdict.why)
    if verdict.verdict == "free" and call.name in _SEARCHERS:
        verdict = _search_verdict(call, path, place)
    covering = _WRITERS if write else frozenset({"read", call.name})
    forbidding = {
        kind: [rule for rule in getattr(rules, kind) if _covers(rule, call.name, covering)] for kind in ("deny", "ask")
    }
    names = {call.name, "edit"} if call.name == "multi_edit" else {call.name}
    allowing = [rule for rule in rules.allow if any(rule.is_for(name) for name in names)]
    return _Nature(
        denied=_path_match(forbidding["deny"], path, place, strict=False),
        protected=verdict.why if verdict.verdict == "protected" else "",
        asked=_path_match(forbidding["ask"], path, place, strict=False),
        allowed=_path_match(allowing, path, place, strict=True),
        harmless="reading inside the workspace is free" if verdict.verdict == "free" and not write else "",
        edits_inside=write and verdict.verdict == "free",
        changes=write,
        why=verdict.why or "it changes a file",
        always=f"{call.name}({exact_path(resolved(place.cwd / path), place)})",
    )


def exact_path(path: Path, place: Place) -> str:
    """The pattern of a path rule for one file: relative to the workspace where the file lies inside."""
    for root in place.workspace:
        if root in path.parents:
            return (
                "./" + _literal(str(path.relative_to(root)))
                if path.parent == root
                else _literal(str(path.relative_to(root)))
            )
    return _literal(str(path))


def _literal(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _covers(rule: Rule, tool: str, covering: Iterable[str]) -> bool:
    return rule.is_for(tool) or (bool(rule.pattern) and rule.tool in covering)


def _search_verdict(call: ToolCall, path: str, place: Place) -> PathVerdict:
    """What the policy says of what a search would pick out: `../*` leaves the workspace, `.env*` names what is protected."""
    pattern = call.input.get("pattern") if call.name == "glob" else call.input.get("glob")
    if not isinstance(pattern, str) or not pattern or pattern.startswith("!"):
        return FREE
    if call.name == "grep" and could_name_protected(pattern):
        return PathVerdict("protected", f"{pattern} is protected")
    return judge_path(os.path.join(path, pattern), place, write=False)


def _path_match(rules: Iterable[Rule], path: str, place: Place, *, strict: bool) -> Rule | None:
    """The first rule whose pattern fits the path as its links lead; unless `strict`, also as it is written, in any case."""
    if "\0" in path:
        return None
    forms = {resolved(place.cwd / path)}
    if not strict:
        forms.add(Path(os.path.normpath(place.cwd / os.path.expanduser(path))))
    for rule in rules:
        if not rule.pattern or any(_fits(rule.pattern, form, place, strict) for form in forms):
            return rule
    return None


def _fits(pattern: str, path: Path, place: Place, strict: bool) -> bool:
    wanted = anchored(pattern, str(place.home))
    texts = (
        [str(path)]
        if wanted.startswith("/")
        else [str(path.relative_to(root)) for root in place.workspace if root in (path, *path.parents)]
    )
    if not wanted.startswith("/") and not texts and not strict:
        texts = [path.name]
    compiled = path_pattern(wanted)
    return any(compiled.fullmatch(text) or (not strict and compiled.fullmatch(_folded(text))) for text in texts)


def _folded(text: str) -> str:
    return "/".join(canonical(part) for part in text.split("/"))


def _fetch_nature(url: str, rules: Rules) -> _Nature:
    found = [
        next(
            (
                rule
                for rule in kind
                if rule.is_for("web_fetch") and (not rule.pattern or url_matches(rule.pattern, url))
            ),
            None,
        )
        for kind in (rules.deny, rules.ask, rules.allow)
    ]
    return _Nature(denied=found[0], asked=found[1], allowed=found[2], changes=False, why="it uses the network")


def _other_nature(call: ToolCall, effect: Effect, rules: Rules) -> _Nature:
    denied, asked, allowed = (
        next((rule for rule in kind if rule.is_for(call.name) and _speaks_of(rule, call.input)), None)
        for kind in (rules.deny, rules.ask, rules.allow)
    )
    free = effect in ("none", "read", "ask")
    return _Nature(
        denied=denied,
        asked=asked,
        allowed=allowed,
        harmless="the tool changes nothing" if free else "",
        changes=effect in ("write", "run"),
        why="this tool may change something" if effect != "network" else "it uses the network",
        always=call.name if effect != "network" else "",
    )


def _speaks_of(rule: Rule, values: Mapping[str, Any]) -> bool:
    if not rule.pattern:
        return True
    return any(isinstance(value, str) and wildcard(rule.pattern).fullmatch(value) for value in values.values())
