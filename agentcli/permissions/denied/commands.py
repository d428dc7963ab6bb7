"""Commands and files with a deny rule: which commands read such files, and which paths to hide from a command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.permissions.denied.files import NOTHING, Hidden, denial_of, existing
from agentcli.permissions.denied.git_verdicts import GitVerdict, judge_git
from agentcli.permissions.denied.history import Held, held_around
from agentcli.permissions.paths import Workspace, impossible, resolved
from agentcli.permissions.rules import Rule, path_rule
from agentcli.permissions.shell.command_line import CommandLine, analyse
from agentcli.permissions.shell.effects.always_asked import paths_in
from agentcli.permissions.shell.effects.changes import CHANGING
from agentcli.permissions.shell.effects.searches import search_of
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Found, fit
from agentcli.permissions.shell.programs.readers import READERS
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.parse import PLAIN_WRAPPERS, Part, command_nodes, runs
from agentcli.system import probe

_FOLDERS = 32
"""Maximum folders in which a command may run; a line with more may read anything."""
_KEPT = 500
"""Maximum names that stay visible in a hidden folder."""
_NAMING = word_set(
    "ls find du tree stat test [ [[ cd pwd realpath readlink basename dirname echo printf which type mkdir touch chmod rmdir"
)
"""Commands that show and change names, sizes and dates, but no content."""
_SPEAKING = word_set("cd echo printf true test [ mkdir touch")
"""Commands that read no file."""
_OPERANDS = word_set("path rev range archive object")
_LEAVING_OUT = ("--exclude", "--ignore")

Reach = Literal["no", "over", "unknown"]
"""A command reads no denied file, searches through a folder that contains one, or is unknown."""


@dataclass(frozen=True, slots=True)
class Denial:
    """Effect on a command line of deny rules about reading.

    A rule forbids the line, files are hidden from it, or the user is asked.
    """

    rule: Rule | None = None
    why: str = ""
    hidden: Hidden = NOTHING
    unproven: str = ""
    """Reason to ask if nothing can be hidden from the command."""
    instead: CommandLine | None = None
    """The line with denied files excluded from git's output; None if it needs no change."""
    left_out: tuple[str, ...] = ()
    """The excluded files, each with the rule that denies reading it."""


def named_by(line: CommandLine, rules: Sequence[Rule], workspace: Workspace) -> Rule | None:
    """Return the path rule that a word of the line matches, in any folder in which its commands may run."""
    if not rules:
        return None
    words = chain(
        ((word, folder) for part in line.parts for folder in _places(part, line, workspace) for word in _words(part)),
        ((word, folder) for folder in line.places for word in line.meant),
    )
    for word, folder in dict.fromkeys(words):
        if not impossible(word) and (rule := path_rule(rules, _joined(folder, word), workspace, strict=False)):
            return rule
    return None


def judge_reading(
    line: CommandLine, denials: Sequence[Rule], workspace: Workspace, hidden: Hidden | None = None
) -> Denial:
    """Judge a line by the rules that deny reading files.

    `hidden` are existing denied files, which are searched if it is None.
    """
    if not denials:
        return Denial()
    return _judged(line, denials, workspace, existing(denials, workspace) if hidden is None else hidden)


def _judged(line: CommandLine, denials: Sequence[Rule], workspace: Workspace, hidden: Hidden) -> Denial:
    held = held_around(_all_places(line, workspace), denials, workspace)
    gits = [verdict for part in line.parts for verdict in _git_verdicts(part, line, held, hidden, workspace)]
    shown = [verdict for verdict in gits if verdict.held is not None and verdict.shows != "nothing"]
    if shown:
        text = with_exclusions(line.text, lambda part: list(_git_verdicts(part, line, held, hidden, workspace)))
        instead = analyse(text, workspace) if text and text != line.text else line
        changed = _judged(instead, denials, workspace, hidden) if instead is not line else None
        if changed is None or changed.rule is not None:
            return _denied_by_git(shown[0], denials, workspace)
        return replace(changed, instead=instead, left_out=tuple(_left_out(shown, denials, workspace)))
    reach = _reach_of(line, gits, hidden, workspace)
    only_git = bool(line.parts) and all(part.words and part.words[0].text in ("git", "cd") for part in line.parts)
    if reach == "no" and only_git and not any(verdict.masked for verdict in gits):
        return Denial()
    if reach != "no" and _only_records(line, gits):
        hidden = _untracked(hidden, held)
    elif reach == "unknown" or (reach == "over" and not line.harmless):
        hidden = replace(hidden, objects=tuple(folder for each in held if each.any for folder in each.objects))
    hidden = replace(hidden, kept=tuple(_kept(hidden, held)), told=reach == "over")
    if reach == "no" or (not hidden.paths and hidden.complete):
        return Denial(hidden=hidden)
    by_git = any(verdict.masked for verdict in gits)
    return _open_question("unknown" if by_git else reach, hidden, denials, workspace)


def _open_question(reach: Reach, hidden: Hidden, denials: Sequence[Rule], workspace: Workspace) -> Denial:
    """Return the verdict on a line that may read a denied file. If the file cannot be hidden, deny or ask."""
    if not hidden.complete:
        why = "deny rules name more files than can be looked for, too many to hide from a command"
        return Denial(hidden=hidden, unproven=why)
    first = hidden.paths[0]
    rule = denial_of(first, denials, workspace) or denials[0]
    shown = _shown(first, workspace)
    if reach == "over" and not (workspace.masks or workspace.sandboxed):
        why = f"it goes over {shown}, which the rule {rule} from {rule.origin} keeps from being read. Name the files or folders beside it"
        return Denial(rule, why, hidden)
    why = f"it may read {shown}, which the rule {rule} from {rule.origin} keeps from being read, and no sandbox can hide it here"
    return Denial(hidden=hidden, unproven="" if workspace.masks else why)


def _denied_by_git(verdict: GitVerdict, denials: Sequence[Rule], workspace: Workspace) -> Denial:
    assert verdict.held is not None
    file = verdict.held.top / verdict.name if verdict.name else verdict.held.top
    rule = denial_of(file, denials, workspace) or denials[0]
    what = _shown(file, workspace) if verdict.held.known else "files"
    return Denial(
        rule,
        f"the repository contains {what}, which the rule {rule} from {rule.origin} keeps from being read, and this may show it. "
        f"{verdict.advice}",
    )


def _left_out(verdicts: Sequence[GitVerdict], denials: Sequence[Rule], workspace: Workspace) -> Iterator[str]:
    """Yield the files that exclusions omit, each with its rule; only the rules if there are many files."""
    for held in dict.fromkeys(verdict.held for verdict in verdicts if verdict.held is not None):
        if len(held.exclusions) != len(held.names):
            yield from map(str, denials)
            continue
        for name in sorted(held.names):
            rule = denial_of(held.top / name, denials, workspace) or denials[0]
            yield f"{_shown(held.top / name, workspace)} ({rule})"


def _git_verdicts(
    part: Part, line: CommandLine, held: Sequence[Held], hidden: Hidden, workspace: Workspace
) -> Iterator[GitVerdict]:
    """Yield the verdicts on the git commands that a part may run."""
    direct = part.texts
    folders = _places(part, line, workspace)
    for number, words in enumerate(runs(part)):
        if words[0] != "git":
            continue
        given = direct if number == 0 and os.path.basename(direct[0]) == "git" else words
        verdict = judge_git(given, folders, held, _all_tracked(hidden, held), workspace)
        plain = number == 0 and all(piece.known and not piece.loose for piece in part.words)
        if not plain and verdict.shows == "nothing":
            verdict = GitVerdict("nothing")
        yield verdict


def _all_tracked(hidden: Hidden, held: Sequence[Held]) -> bool:
    """Return True if every existing denied file is in the index of a repository."""
    left = _untracked(hidden, held)
    return not left.files and not left.folders


def _untracked(hidden: Hidden, held: Sequence[Held]) -> Hidden:
    """Return the denied files and folders that git does not know: it must not begin to record them."""
    known = {str(each.top / name) for each in held for name in each.names}

    def whole(folder: Path) -> bool:
        inside = list(islice((path for path in folder.rglob("*") if not probe.is_dir(path)), _KEPT + 1))
        return len(inside) <= _KEPT and all(str(path) in known for path in inside)

    files = tuple(file for file in hidden.files if str(file) not in known)
    folders = tuple(folder for folder in hidden.folders if os.path.lexists(folder) and not whole(folder))
    return replace(hidden, files=files, folders=folders)


def _only_records(line: CommandLine, gits: Sequence[GitVerdict]) -> bool:
    """Return True if git only records files in a line, starts no program, and nothing beside it reads a file."""
    others = (part for part in line.parts if not part.words or part.words[0].text != "git")
    told = all(part.words and part.words[0].text in _SPEAKING for part in others)
    told = told and not any(part.reads for part in line.parts)
    quiet = all(verdict.shows == "nothing" and not (verdict.masked and verdict.programs) for verdict in gits)
    return line.whole and bool(gits) and told and quiet


def _reach_of(line: CommandLine, gits: Sequence[GitVerdict], hidden: Hidden, workspace: Workspace) -> Reach:
    """Return whether a line may read a denied file."""
    if not line.whole or not line.commands or len(line.places) > _FOLDERS or any(part.reads for part in line.parts):
        return "unknown"
    if any(verdict.shows == "unknown" for verdict in gits):
        return "unknown"
    reached: Reach = "no"
    for command, reading, inside in zip(line.commands, line.readings, line.inside, strict=True):
        if command.words[0] == "git":
            reached = "over" if reached == "no" and any(verdict.masked for verdict in gits) else reached
            continue
        rounds = meanings(command, line.places, workspace)
        if isinstance(rounds, str) or not (inside or not reading.why) or command.words[0] == "xargs":
            return "unknown"
        for words in rounds:
            reach = _reach(words, line.places, hidden)
            if reach == "unknown":
                return reach
            reached = reach if reach == "over" else reached
    return reached


def _reach(words: Sequence[str], folders: Sequence[Path], hidden: Hidden) -> Reach:
    name, *arguments = words
    if name in _NAMING:
        return "no"
    shapes = READERS.get(name) or CHANGING.get(name)
    fitting = fit(shapes, arguments) if shapes else ""
    if isinstance(fitting, str):
        return "no" if arguments in (["--version"], ["--help"]) else "unknown"
    found: Found = fitting[1]
    operands = [value for kind, value in found if kind in _OPERANDS]
    if not operands and search_of(name, arguments, found) is not None:
        operands = ["."]
    paths = (
        resolved(_joined(folder, operand)) for folder in folders for operand in operands if not impossible(operand)
    )
    return "over" if any(_over(path, hidden) for path in paths) else "no"


def _over(path: Path, hidden: Hidden) -> bool:
    """Return True if a path is hidden, lies in a hidden folder, or has something hidden below it."""
    return any(path == one or one.is_relative_to(path) or path.is_relative_to(one) for one in hidden.paths)


def _kept(hidden: Hidden, held: Sequence[Held]) -> Iterator[Path]:
    """Yield the files in hidden folders that git tracks, so that git does not consider them deleted."""
    names = sorted(str(each.top / name) for each in held for name in each.names)
    files = (Path(name) for name in names if any(Path(name).is_relative_to(folder) for folder in hidden.folders))
    for _, file in zip(range(_KEPT), files, strict=False):
        if os.path.lexists(file):
            yield file


def _words(part: Part) -> Iterator[str]:
    for piece in (*part.words[1:], *part.writes, *part.reads):
        if not piece.text.startswith(_LEAVING_OUT):
            yield from paths_in(piece.text)


def _places(part: Part, line: CommandLine, workspace: Workspace) -> list[Path]:
    """Return the folders in which a part may run.

    They are the line's folders, and those in its options (`git -C`, `make -C`).
    """
    folders = list(line.places)
    option = False
    for piece in part.words[1:]:
        text = piece.text
        given = paths_in(text) if text.startswith("-") else [text] if option else []
        option = text.startswith("-")
        folders += _inner(given, line.places)
    return list(dict.fromkeys(folders))[:_FOLDERS]


def _inner(names: Iterable[str], folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        for name in names:
            if not impossible(name) and os.path.isdir(inner := _joined(folder, name)):
                yield Path(inner)


def _all_places(line: CommandLine, workspace: Workspace) -> list[Path]:
    places = (folder for part in line.parts for folder in _places(part, line, workspace))
    return list(dict.fromkeys((workspace.cwd, *line.places, *places)))


def _joined(folder: Path, word: str) -> str:
    return os.path.join(folder, os.path.expanduser(word))


def _shown(path: Path, workspace: Workspace) -> str:
    here = resolved(workspace.cwd)
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


_ENDING_IN_GIT = PLAIN_WRAPPERS | {"git", "env", "command"}
"""Commands that may run git with their last words."""


def with_exclusions(text: str, verdicts: Callable[[Part], Sequence[GitVerdict]]) -> str:
    """Return a line in which git commands that would show denied files exclude them; an empty string if none can.

    Only commands that the shell itself starts are changed, and the result must be judged again.
    """
    source = text.encode("utf-8", "surrogatepass")
    added: list[tuple[int, bytes]] = []
    for part, ends in command_nodes(text):
        denied = [verdict for verdict in verdicts(part) if verdict.shows == "denied"]
        words = part.texts
        specs = dict.fromkeys(spec for verdict in denied for spec in verdict.exclusions if spec not in words)
        if not specs or len(ends) != len(part.words) or os.path.basename(words[0]) not in _ENDING_IN_GIT:
            continue
        behind = "".join(f" {shlex.quote(spec)}" for spec in specs)
        if "--" not in words:
            first = _first_path(part, {verdict.limit for verdict in denied})
            if first == len(words):
                behind = f" --{behind}"
            else:
                added.append((ends[first - 1], b" --"))
        added.append((ends[-1], behind.encode()))
    for place, piece in sorted(added, reverse=True):
        source = source[:place] + piece + source[place:]
    return source.decode("utf-8", "surrogatepass") if added else ""


def _first_path(part: Part, limits: Collection[str]) -> int:
    """Return the index of the first word that git treats as a path.

    Return the number of words if there is none. File names that the shell substitutes for a pattern are paths, too.
    """
    given = [piece.loose or piece.text in limits for piece in part.words]
    options = [piece.text.startswith("-") or not piece.text for piece in part.words]
    return next((at for at, path in enumerate(given) if path and not options[at]), len(given))
