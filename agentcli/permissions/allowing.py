"""Saved rules that allow a command line.

Rules cover its exact text, or each of its commands with the files that it reads and its variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.permissions.network.hosts import covers_host
from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.rules import (
    NETWORK,
    SANDBOX,
    Rule,
    command_pattern,
    exact,
    holds_secrets,
    path_rule,
)
from agentcli.permissions.shell.command_line import CommandLine
from agentcli.permissions.shell.effects.covered import why_uncovered
from agentcli.permissions.shell.effects.harmless_values import Assignments, covers, harmless_assignments, split_pattern
from agentcli.permissions.shell.effects.prefixes import runs_code
from agentcli.permissions.shell.effects.starting import starts_another
from agentcli.permissions.shell.programs.forge import writes_forge
from agentcli.permissions.shell.programs.known_programs import bounded
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.parse import Command


def allowing_rule(
    rules: Sequence[Rule], line: CommandLine, reads: Sequence[Rule] = (), hosts: Sequence[Rule] = ()
) -> Rule | str | None:
    """Return the rule that allows the line: by its exact text, or command by command.

    A command that only reads needs none. A rule that a person wrote covers everything it matches (but see
    `starting.py`). A proposed one covers words of the approved kind (see `covered.py`). A rule about a command that
    changes files (`cp *`) applies inside the workspace.

    `reads` are rules about reading files. They cover a command that only reads, if they cover the files outside that it
    reads. `hosts` are rules about hosts. They cover a command that only reads from such a host, outside the sandbox.
    If a rule matches but does not cover the line, return the reason; None if none matches.
    """
    rules = [rule for rule in rules if not rule.whole]
    for rule in rules:
        if rule.pattern in ("", "*") or rule.pattern == exact(line.text.strip()):
            return rule
    if any(rule.proposed for rule in rules) and not line.harmless and line.displaces:
        rules = [rule for rule in rules if not rule.proposed]
    plain = line.without_assignments or line
    used: Rule | None = None
    for number, (command, reading) in enumerate(zip(plain.commands, plain.readings, strict=True)):
        given = line.assigned.get(number)
        if given and not away(plain, number):
            found = _with_assignments(rules, given, plain, number, command)
        elif reading.outside and plain.workspace is not None:
            found = reading_rule(reads, reading.outside, plain.workspace) or _covering_rule(
                rules, plain, number, command
            )
        else:
            found = _covering_rule(rules, plain, number, command) if reading.why and not away(plain, number) else None
            if reading.why and not isinstance(found, Rule):
                found = _answering_rule((*rules, *hosts), plain, number) or found
        if (reading.why or given) and not isinstance(found, Rule):
            return found
        used = found if isinstance(found, Rule) else used
    return used


def _answering_rule(rules: Sequence[Rule], line: CommandLine, number: int) -> Rule | None:
    """Return a rule about the host or the push of a command; None if another one is missing."""
    answer = line.answer_to(number)
    if answer is None or line.workspace is None:
        return None
    if not all(map(line.workspace.allows_host, answer.hosts)) or not all(map(line.workspace.approves, answer.pushes)):
        return None
    for rule in rules:
        about_host = rule.tool == NETWORK and any(covers_host(rule.pattern, host) for host in answer.hosts)
        if about_host or (rule.tool != NETWORK and rule.pattern in answer.pushes):
            return rule
    return None


def _covering_rule(rules: Sequence[Rule], line: CommandLine, number: int, command: Command) -> Rule | str | None:
    inside, ruled = line.inside[number], line.ruled[number][0]
    reason: str | None = None
    for rule in rules:
        if not rule.proposed and _JOINT.search(rule.pattern) and (piece := _in_chain(rule.pattern, line, number)):
            reason = _excepted(piece, line, number)
            if not reason:
                return rule
        pattern = command_pattern(rule.pattern)
        if not pattern.fullmatch(command.text) and not pattern.fullmatch(ruled.text):
            continue
        if rule.pattern == exact(command.text) or inside:
            return rule
        if rule.proposed and (bounded(ruled.words) or command.loop is not None):
            continue
        written = writes_forge(command.words) if rule.proposed else ""
        if written and (written != rule.pattern or line.answer_to(number) is None):
            continue  # others would see it than those whom the rule names, or more than the line says
        reason = uncovered(rule.pattern, line, number) if rule.proposed else _excepted(rule.pattern, line, number)
        if not reason:
            return rule
    return reason


_JOINT = re.compile(r" *(&&|\|\||;|\|) *")


def _in_chain(pattern: str, line: CommandLine, number: int) -> str:
    """Return the part of a rule about a chain that a command matches: `npm test` of `cd * && npm test`.

    Return an empty text unless the commands around it match the other parts, joined in the same way.
    """
    first, *rest = _JOINT.split(pattern)
    parts = [("", first), *zip(rest[::2], rest[1::2], strict=True)]
    for place, (_, part) in enumerate(parts):
        around = line.commands[max(number - place, 0) : number - place + len(parts)]
        if (
            number >= place
            and len(around) == len(parts)
            and all(
                command_pattern(each).fullmatch(command.text) and (not joint or command.joint == joint)
                for (joint, each), command in zip(parts, around, strict=True)
            )
        ):
            return part
    return ""


def _excepted(pattern: str, line: CommandLine, number: int) -> str:
    """Return why a person's rule does not cover a command that its pattern matches; empty if it does."""
    if line.workspace is None:
        return "the command is not read"
    command, folders = line.ruled[number]
    rounds = meanings(command, folders, line.workspace)
    known = (command.words,) if isinstance(rounds, str) else rounds
    reasons = (starts_another(pattern, words, folders, line.workspace) for words in known)
    return next(filter(None, reasons), "")


def uncovered(pattern: str, line: CommandLine, number: int) -> str:
    """Return why a proposed rule does not cover a command that its pattern matches; empty if it does."""
    if line.workspace is None:
        return "the command is not read"
    command, folders = line.ruled[number]
    if runs_code(command.words) == pattern:
        return ""
    rounds = meanings(command, folders, line.workspace)
    if isinstance(rounds, str):
        return rounds
    reasons = (why_uncovered(pattern, words, folders, line.workspace) for words in rounds)
    return next(filter(None, reasons), "")


def _with_assignments(
    rules: Sequence[Rule], given: Assignments, line: CommandLine, number: int, command: Command
) -> Rule | str | None:
    """Return the rule that lists the variables set for a command, and covers the command without them.

    A rule that a person wrote need not list them if their values name nothing.
    """
    reason: str | None = None
    for rule in rules:
        named, rest = split_pattern(rule.pattern)
        if not named or line.workspace is None or not covers(named, given, line.folders[number], line.workspace):
            continue
        only_reads = not line.readings[number].why and command_pattern(rest).fullmatch(command.text)
        found = _covering_rule([replace(rule, pattern=rest)], line, number, command)
        if only_reads or isinstance(found, Rule):
            return rule
        reason = found or reason
    if line.workspace is not None and harmless_assignments(given, line.folders[number], line.workspace):
        return _covering_rule([rule for rule in rules if not rule.proposed], line, number, command) or reason
    return reason


def reading_rule(rules: Sequence[Rule], paths: Sequence[Path], workspace: Workspace) -> Rule | None:
    """Return a rule that allows reading if each of the paths, with links followed, has one."""
    found = [next(_readable(rules, path, workspace), None) for path in paths]
    return found[0] if all(found) else None


def _readable(rules: Sequence[Rule], path: Path, workspace: Workspace) -> Iterator[Rule]:
    for rule in rules:
        below = rule.pattern.endswith("/**")
        if below and holds_secrets(path):
            continue
        forms = [path, path / "x"] if below else [path]
        if rule.pattern and any(path_rule([rule], str(form), workspace, strict=True, target=form) for form in forms):
            yield rule


def away(line: CommandLine, number: int) -> bool:
    """Return True if a command of a line may run in a folder outside the workspace."""
    workspace = line.workspace
    return workspace is None or any(
        judge_path(str(folder), workspace, write=False).verdict != "free" for folder in line.folders[number]
    )


def sandbox_rule(rules: Sequence[Rule], line: CommandLine) -> Rule | None:
    """Return the last of the rules that let a line run as far as the sandbox contains it.

    Each command that may do more than read needs such a rule, or another rule about it. Return None if one has none, or
    is not known. A rule about every command is enough by itself.
    """
    if not any(rule.tool == SANDBOX for rule in rules):
        return None
    if (every := next((rule for rule in rules if rule.boxes_all), None)) is not None:
        return every
    used: Rule | None = None
    for text in line.acting if line.whole else ():
        found = [rule for rule in rules if not rule.pattern or command_pattern(rule.pattern).fullmatch(text)]
        if not found:
            return None
        used = next((rule for rule in found if rule.tool == SANDBOX), used)
    return used
