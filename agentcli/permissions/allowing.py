"""Which saved rules allow a command line: by its exact text, or command by command with what each reads and which variables it gets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.rules import (
    SANDBOX,
    Rule,
    command_pattern,
    exact,
    holds_secrets,
    parse_rule,
    path_rule,
    reading_scope,
)
from agentcli.permissions.shell.assigned import Assignments, covers, split_pattern
from agentcli.permissions.shell.command_line import CommandLine
from agentcli.permissions.shell.known_programs import bounded
from agentcli.permissions.shell.parse import Command


def allowing_rule(rules: Sequence[Rule], line: CommandLine, reads: Sequence[Rule] = ()) -> Rule | str | None:
    """Return the rule that allows the line: by its exact text, or if each command that does not only read matches a rule.

    A rule with a wildcard covers words of the approved kind (see `covered.py`), and a rule about a command that changes
    files (`cp *`) applies inside the workspace. `reads` are rules about reading files: a command that only reads is
    covered by those of the files that it reads outside. If a rule matches but does not cover the line, return the
    reason; None if none matches.
    """
    for rule in rules:
        if rule.pattern in ("", "*") or rule.pattern == exact(line.text.strip()):
            return rule
    plain = line.without_assignments or line
    used: Rule | None = None
    for number, (command, reading) in enumerate(zip(plain.commands, plain.readings, strict=True)):
        given = line.assigned.get(number)
        if given and not away(plain, number):
            found = _with_assignments(rules, given, plain, number, command)
        elif reading.outside and plain.workspace is not None:
            found = _reading_rule(reads, reading.outside, plain.workspace) or _covering_rule(
                rules, plain, number, command
            )
        else:
            found = _covering_rule(rules, plain, number, command) if reading.why and not away(plain, number) else None
        if (reading.why or given) and not isinstance(found, Rule):
            return found
        used = found if isinstance(found, Rule) else used
    return used


def _covering_rule(rules: Sequence[Rule], line: CommandLine, number: int, command: Command) -> Rule | str | None:
    inside, ruled = line.inside[number], line.ruled[number][0]
    reason: str | None = None
    for rule in rules:
        pattern = command_pattern(rule.pattern)
        if not pattern.fullmatch(command.text) and not pattern.fullmatch(ruled.text):
            continue
        if rule.pattern == exact(command.text) or inside:
            return rule
        if bounded(command.words) or command.loop is not None:
            continue
        reason = line.uncovered(rule.pattern, number)
        if not reason:
            return rule
    return reason


def _with_assignments(
    rules: Sequence[Rule], given: Assignments, line: CommandLine, number: int, command: Command
) -> Rule | str | None:
    """Return the rule that names the variables set for a command, and covers the command without them."""
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
    return reason


def _reading_rule(rules: Sequence[Rule], paths: Sequence[Path], workspace: Workspace) -> Rule | None:
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


def offered(line: CommandLine, tool: str, approved: Sequence[str]) -> tuple[str, ...]:
    """Return the wider rules that would allow a line together; empty if one is missing. `approved` are patterns of rules that allow commands.

    What a command reads outside the workspace is offered as a folder to read; other commands do not run there.
    """
    plain = line.without_assignments or line
    paths = dict.fromkeys(path for reading in plain.readings for path in reading.outside)
    if plain.workspace is None or any(away(plain, number) for number, _ in _changing(plain)):
        return ()
    scopes = [reading_scope(path, plain.workspace) for path in paths]
    patterns = line.prefixes(approved)
    if not all(scopes) or (not patterns and (line.assigned or any(True for _ in _changing(plain)))):
        return ()
    read = (f"read({scope})" for scope in scopes)
    return (*dict.fromkeys(read), *(f"{tool}({pattern})" for pattern in patterns))


def _changing(line: CommandLine) -> Iterator[tuple[int, Command]]:
    """Yield the commands of a line that do not only read, with their numbers."""
    for number, (command, reading) in enumerate(zip(line.commands, line.readings, strict=True)):
        if reading.why and not reading.outside:
            yield number, command


def away(line: CommandLine, number: int) -> bool:
    """Return True if a command of a line may run in a folder outside the workspace."""
    workspace = line.workspace
    return workspace is None or any(
        judge_path(str(folder), workspace, write=False).verdict != "free" for folder in line.folders[number]
    )


def sandbox_rule(rules: Sequence[Rule], line: CommandLine) -> Rule | None:
    """Return the last of the rules that let a line run as far as the sandbox contains it; None if there is none.

    Each command of the line that may do more than read needs one, or another rule about it.
    """
    if not any(rule.tool == SANDBOX for rule in rules):
        return None
    used: Rule | None = None
    for text in line.acting:
        found = [rule for rule in rules if not rule.pattern or command_pattern(rule.pattern).fullmatch(text)]
        if not found:
            return None
        used = next((rule for rule in found if rule.tool == SANDBOX), used)
    return used


_MOST_PROGRAMS = 4
"""Largest number of programs that one answer allows in the sandbox: nobody reads more names in a question."""


def offered_in_sandbox(line: CommandLine) -> tuple[str, ...]:
    """Return the rules that would let the programs of a line run as far as the sandbox contains them; empty if one has no plain name."""
    names = dict.fromkeys(" ".join(text.split(" ")[: 2 if text.startswith("git ") else 1]) for text in line.acting)
    if len(names) > _MOST_PROGRAMS or not all(map(_PLAIN_NAME.fullmatch, names)):
        return ()
    return tuple(f"{SANDBOX}({name} *)" for name in names)


def with_whole_programs(line: CommandLine, offered: Sequence[str], approved: Sequence[str]) -> tuple[str, ...]:
    """Return offered rules with one for the sandbox for each program of which this is a second kind of command.

    `approved` are the patterns of the rules that allow commands already. Of such a program a person has seen more than one
    command: its others may run, but only where the sandbox contains them.
    """
    fresh = [parse_rule(rule).pattern for rule in offered]
    named = dict.fromkeys(text.split(" ")[0] for text in line.acting)
    seen = [
        name
        for name in named
        if (former := _kinds(name, approved)) and _kinds(name, fresh) - former and _PLAIN_NAME.fullmatch(name)
    ]
    if not seen or line.alone.why:
        return tuple(offered)
    wider = [f"{SANDBOX}({name} *)" for name in seen]
    return (*(rule for rule in offered if not rule.startswith(tuple(f"{SANDBOX}({name} " for name in seen))), *wider)


def _kinds(name: str, patterns: Sequence[str]) -> set[str]:
    return {one for one in patterns if one.startswith(f"{name} ") and one.count(" ") > 1}


_PLAIN_NAME = re.compile(r"git [a-z][a-z-]*|[\w./][\w./+-]*", re.ASCII)
"""The name of a program, or the command of git: a name with another character might be a pattern."""
