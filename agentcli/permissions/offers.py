"""Rules that a person may save instead of an exact one: the wider rules that would allow a command line.

They are searched only for a question.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from agentcli.permissions.allowing import allowing_rule, away, uncovered
from agentcli.permissions.any_code import Judge, offered_code
from agentcli.permissions.exposed import homes_of, may_join, wide_scope
from agentcli.permissions.paths import Workspace, judge_path, resolved
from agentcli.permissions.preparing import prepared
from agentcli.permissions.rules import SANDBOX, Rule, exact_path, parse_rules, paths_shown
from agentcli.permissions.shell.command_line import CommandLine, analyse
from agentcli.permissions.shell.effects.always_asked import folders_of, paths_in
from agentcli.permissions.shell.effects.covered import leads_away
from agentcli.permissions.shell.effects.harmless_values import Assignments, leading
from agentcli.permissions.shell.effects.prefixes import local_requests, script_of, whole_program, wider
from agentcli.permissions.shell.effects.reaching import is_temporary
from agentcli.permissions.shell.effects.reading import Reader
from agentcli.permissions.shell.effects.whole_programs import (
    FILE_PROGRAMS,
    OF_FILES,
    PUSHES,
    TO_FILES,
    whole_program_of,
)
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Command
from agentcli.permissions.shell.syntax.state import Run
from agentcli.system import probe


def offered(line: CommandLine, tool: str, allow: Sequence[Rule], reads: Sequence[Rule] = ()) -> tuple[str, ...]:
    """Return the wider rules that would allow a line together; empty if one is missing.

    `allow` are the rules that allow commands, `reads` those about reading files. For files that a command reads outside
    the workspace, the offer is a folder to read. Other commands do not run there. Without a sandbox, a program may be
    offered with any code.
    """
    found = _offered(line, tool, [rule.pattern for rule in allow])
    if found or line.workspace is None or line.workspace.sandboxed:
        return found
    return offered_code(line, tool, allow, reads)


def _offered(line: CommandLine, tool: str, approved: Sequence[str]) -> tuple[str, ...]:
    plain = line.without_assignments or line
    paths = dict.fromkeys(path for reading in plain.readings for path in reading.outside)
    if plain.workspace is None or any(away(plain, number) for number, _ in _changing(plain)):
        return ()
    scopes = [wide_scope(path, plain.workspace) for path in paths]
    rules = _rules(line, tool, approved)
    if not all(scopes) or (not rules and (line.assigned or any(True for _ in _changing(plain)))):
        return ()
    read = (f"read({scope})" for scope in scopes)
    return (*dict.fromkeys(read), *rules)


def offered_for_parts(line: CommandLine, tool: str, approved: Sequence[str]) -> tuple[str, ...]:
    """Return the wider rules for those commands of a line that can have one, although the others still ask.

    `approved` are patterns of rules that allow commands.
    """
    if line.workspace is None or line.protected or line.destroys or len(line.commands) < 2:
        return ()
    asking = (number for number, _ in _changing(line) if not away(line, number))
    return tuple(dict.fromkeys(rule for number in asking for rule in _of_command(line, number, tool, approved)))


def offered_in_sandbox(line: CommandLine, offered: tuple[str, ...], *, boxed: bool) -> tuple[str, ...]:
    """Return the rules to offer if a sandbox contains commands.

    They are the `offered` ones, or rules that allow the line's programs in the sandbox. `boxed` is true if a rule for
    the sandbox is about the line.
    """
    return offered if offered or boxed or line.alone.why else _for_programs(line)


def offered_to_see(line: CommandLine) -> tuple[str, ...]:
    """Return the rules about reading with which the sandbox would contain a line; none if they would not be enough."""
    paths = line.read_outside
    if line.workspace is None or not 0 < len(paths) <= _MOST_PATHS:
        return ()
    scopes = dict.fromkeys(wide_scope(path, line.workspace) for path in paths)
    rules = tuple(f"read({scope})" for scope in scopes)
    shown = paths_shown(parse_rules(allow=rules).allow, line.workspace.home) if all(scopes) else ()
    return rules if shown and line.contained_with(shown) else ()


def offered_to_open(call: CommandLine | Path, workspace: Workspace) -> tuple[str, ...]:
    """Return the rules about reading the protected or private files that a line names, or that a tool reads."""
    if isinstance(call, Path):
        files = [call]
    else:
        pieces = (piece for part in call.parts for piece in (*part.words[1:], *part.reads))
        forms = (form for piece in pieces for form in paths_in(piece.text) if UNKNOWN not in form)
        named = dict.fromkeys(f"{workspace.home}{form[1:]}" if form.startswith("~/") else form for form in forms)
        places = folders_of(call.parts, workspace)
        verdicts = (judge_path(form, workspace, write=False, cwd=folder) for form in named for folder in places)
        files = [verdict.path for verdict in verdicts if verdict.verdict == "protected" and verdict.path]
    found = dict.fromkeys(f"read({exact_path(path, workspace)})" for path in files if probe.is_file(path))
    return tuple(found) if len(found) <= _MOST_OPENED else ()


_MOST_OPENED = 3
"""Maximum protected files that one answer opens."""


def folders_around(paths: Sequence[Path], workspace: Workspace) -> tuple[Path, ...]:
    """Return the folders that a person may add to the workspace for these paths outside it.

    Return none if one path has no such folder.
    """
    found = [_folder_around(path, workspace) for path in paths] if len(paths) <= _MOST_PATHS else [None]
    folders = dict.fromkeys(folder for folder in found if folder is not None)
    tops = tuple(folder for folder in folders if folders.keys().isdisjoint(folder.parents))
    return tops if all(found) and len(tops) <= _MOST_FOLDERS else ()


def _folder_around(path: Path, workspace: Workspace) -> Path | None:
    """Return the repository around a path, or else its folder, if it is a folder of work.

    Such a folder is the user's own. It is neither hidden in a home folder nor part of the system.
    """
    near = next((one for one in (path, *path.parents) if probe.is_dir(one)), Path("/"))
    closed = [*homes_of(workspace), *workspace.resolved_roots, *map(resolved, workspace.own)]
    around = [one for one in (near, *near.parents) if not any(place.is_relative_to(one) for place in closed)]
    folder = next((one for one in around if os.path.lexists(one / ".git")), next(iter(around), None))
    return folder if folder is not None and near in around and may_join(folder, workspace) else None


_MOST_FOLDERS = 3
"""Maximum folders that one answer adds to the workspace."""


def _changing(line: CommandLine) -> Iterator[tuple[int, Command]]:
    """Yield the commands of a line that may do more than read, with their numbers."""
    for number, (command, reading) in enumerate(zip(line.commands, line.readings, strict=True)):
        if reading.why and not reading.outside:
            yield number, command


_MOST_PATHS = 8
"""Maximum paths outside the workspace for which rules are offered."""
_NAMED_WORDS = 8
"""Largest number of words that an offered rule may name."""
_UNNAMEABLE = re.compile(r"[\s*\\]|\A\Z")


def _rules(line: CommandLine, tool: str, approved: Sequence[str]) -> tuple[str, ...]:
    """Return the wider rules that would allow the line.

    Each program that may do more than read needs one; if one is missing, there are none. `approved` are the patterns of
    existing rules that allow commands.
    """
    plain = line.without_assignments or line
    if line.protected or line.destroys or not plain.commands:
        return ()
    rules: list[str] = []
    for number, reading in enumerate(plain.readings):
        if given := line.assigned.get(number):
            pattern = _wider_with(given, plain, number, approved)
            found: tuple[str, ...] = (f"{tool}({pattern})",) if pattern else ()
        elif reading.why and not reading.outside:
            found = _of_command(plain, number, tool, approved)
        else:
            continue
        if not found:
            return ()
        rules += found
    return tuple(dict.fromkeys(rules))


def _of_command(line: CommandLine, number: int, tool: str, approved: Sequence[str]) -> tuple[str, ...]:
    """Return the rules that would allow a command: about where it acts, or else with other arguments."""
    if (answer := line.answer_to(number)) is not None:
        return answer.rules(tool)
    pattern = _wider(line, number, approved)
    return (f"{tool}({pattern})",) if pattern else ()


def _wider_with(given: Assignments, line: CommandLine, number: int, approved: Sequence[str]) -> str:
    """Return the pattern of a wider rule for a command that gets these variables; empty if there is none."""
    if line.workspace is None:
        return ""
    lead = leading(given, line.folders[number], line.workspace)
    only_reads = not line.readings[number].why
    rest = f"{line.commands[number].words[0]} *" if only_reads else _wider(line, number, approved)
    return f"{lead} {rest}" if lead and rest else ""


def _wider(line: CommandLine, number: int, approved: Sequence[str]) -> str:
    """Return the pattern of a wider rule for a command.

    It contains all words up to the last one that a wildcard would not cover.
    """
    command, folders = line.ruled[number]
    if not command.bare or line.workspace is None:
        return ""
    pattern = (
        script_of(command.words, folders, line.workspace)
        or local_requests(command.words)
        or whole_program(command.words, approved, folders, line.workspace)
        or wider(command.words, line.inside[number])
    )
    if not pattern or line.inside[number]:
        return pattern
    workspace = line.workspace
    if any(leads_away(word, folders, workspace) for word in command.words[1 : len(pattern.split()) - 1]):
        return ""
    named = len(pattern.split()) - 1
    while uncovered(pattern, line, number):
        named += 1
        last, after = command.words[:named][-1], command.words[named : named + 1]
        named += last.startswith("-") and "=" not in last and not "".join(after).startswith("-")  # with its value
        words = command.words[:named]
        if named > min(len(command.words) + 1, _NAMED_WORDS) or any(_UNNAMEABLE.search(word) for word in words):
            return ""
        pattern = f"{' '.join(words)} *"
    return pattern


_MOST_PROGRAMS = 4
"""Maximum programs that one answer allows in the sandbox: nobody reads more names in a question."""


def _for_programs(line: CommandLine) -> tuple[str, ...]:
    """Return the rules that would let the programs of a line run as far as the sandbox contains them.

    Return none if a program has no plain name, or is hidden.
    """
    names = dict.fromkeys(" ".join(text.split(" ")[: 2 if text.startswith("git ") else 1]) for text in line.acting)
    if not line.whole or len(names) > _MOST_PROGRAMS or not all(map(_PLAIN_NAME.fullmatch, names)):
        return ()
    return tuple(f"{SANDBOX}({name} *)" for name in names)


_PLAIN_NAME = re.compile(r"git [a-z][a-z-]*|[\w./][\w./+-]*", re.ASCII)
"""Name of a program, or of a git command: a name with other characters might be a pattern."""


def offered_whole(line: CommandLine, tool: str, rules: Sequence[Rule], reads: Sequence[Rule]) -> tuple[str, ...]:
    """Return the rules about whole programs for a line; empty if none may be offered.

    If a command of the line can't have one, the rules of the others are offered. They last for other lines. With a
    sandbox, only programs that it never contains are offered.
    """
    workspace = line.workspace
    if workspace is None or line.protected or line.destroys or line.displaces:
        return ()
    if (first := prepared(line)) is not None:
        known = {rule.pattern for rule in rules if rule.whole}
        allowed = first.rest.harmless or isinstance(allowing_rule(rules, first.rest, reads), Rule)
        more = () if allowed else offered_whole(first.rest, tool, rules, reads)
        return (*(f"{tool}({pattern})" for pattern in first.patterns if pattern not in known), *more)
    found = Judge(rules, line, reads)
    asking = [run for run in found.runs() if run.words and not found.covers(run)]
    if workspace.sandboxed:
        asking = [run for run in asking if _stays_outside(run, workspace)]
    whole = [whole_program_of(run.words, run.folders, workspace) for run in asking]
    fresh = tuple(dict.fromkeys(one.pattern for one in whole if one is not None))
    if workspace.sandboxed:
        fresh = tuple(pattern for pattern in fresh if pattern != PUSHES)  # a rule about the branch is enough
    redirected = replace(found, rules=[*rules, Rule(tool, TO_FILES, "session", whole=True)])
    if not OF_FILES.isdisjoint(fresh) or any(run.writes and redirected.covers(run) for run in asking):
        fresh = (*(pattern for pattern in fresh if pattern not in OF_FILES), *sorted(OF_FILES))
    known = {rule.pattern for rule in rules if rule.whole}
    offers = tuple(f"{tool}({pattern})" for pattern in fresh if pattern not in known)
    others = [run for run, one in zip(asking, whole, strict=True) if one is None]
    answers = (answer.rules(tool) for run in others if (answer := found.answer_to(run)) is not None)
    scopes = () if workspace.sandboxed else _read_by(others, line)
    hosts = dict.fromkeys(chain.from_iterable(answers)) if offers and not workspace.sandboxed else ()
    named = [pattern for pattern in fresh if pattern not in OF_FILES]
    return (*scopes, *hosts, *offers) if len(named) <= _MOST_WHOLE else ()


def _stays_outside(run: Run, workspace: Workspace) -> bool:
    """Return True if the sandbox does not contain a command, nor its program without arguments.

    Not so if a rule about less would be enough: about a host, a container or a folder.
    """
    about_files = os.path.basename(run.words[0]) in FILE_PROGRAMS
    if about_files or len(run.folders) != 1 or any(UNKNOWN in word for word in run.words):
        return False
    here = replace(workspace, cwd=run.folders[0])
    alone = run.words if run.words[0] == "git" else run.words[:1]
    lines = [analyse(shlex.join(words), here) for words in dict.fromkeys((run.words, alone))]
    return all(map(_is_outside, lines))


def _is_outside(line: CommandLine) -> bool:
    narrower = line.read_outside or line.elsewhere.runs or line.elsewhere.rules("bash")
    return bool(line.contained.why) and not narrower


def _read_by(runs: Sequence[Run], line: CommandLine) -> tuple[str, ...]:
    """Return the rules about what commands read outside the workspace, if they do no more."""
    assert line.workspace is not None
    reader = line.reader or Reader(line.workspace)
    readings = [
        reader.of(Command(run.words, "", True), run.folders) for run in runs if UNKNOWN not in "".join(run.words)
    ]
    paths = [path for one in readings for path in one.outside if not is_temporary(str(path), line.workspace)]
    scopes = dict.fromkeys(wide_scope(path, line.workspace) for path in paths)
    return tuple(f"read({scope})" for scope in scopes if scope) if len(scopes) <= _MOST_WHOLE else ()


_MOST_WHOLE = 5
"""Maximum whole programs of one offer: nobody reads more names in a question."""
