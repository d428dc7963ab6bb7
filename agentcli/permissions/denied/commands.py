"""Commands and files with a deny rule: which commands read such files, which contents git would show, and which paths to hide."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.permissions.denied.files import NOTHING, Held, Hidden, denial_of, existing, held_around
from agentcli.permissions.denied.objects import Named, named_objects
from agentcli.permissions.paths import Workspace, impossible, resolved
from agentcli.permissions.readonly.git_table import GIT_READERS, covers, limits, path_named, shows_text
from agentcli.permissions.readonly.option_grammar import Found, fit
from agentcli.permissions.readonly.searches import search_of
from agentcli.permissions.readonly.table import READERS
from agentcli.permissions.rules import Rule, path_rule
from agentcli.permissions.shell.command_line import CommandLine
from agentcli.permissions.shell.effects import CHANGING, RECORDING, meanings, repository_problem
from agentcli.permissions.shell.known_programs import word_set
from agentcli.permissions.shell.parse import Part, runs
from agentcli.permissions.shell.protected import paths_in
from agentcli.system.git_keys import reads_only

_CHANGING = word_set("""
add commit branch tag checkout switch stash restore reset push pull fetch merge rebase cherry-pick revert remote init gc prune clean
""")
"""Commands that show no content of files, with the options below."""
_QUIET = word_set("""
-q --quiet -f --force --force-with-lease -u --set-upstream --set-upstream-to -a --all -A -m --message -am --amend --no-edit -b -B -c -C
-d -D --delete --ff-only --no-ff --ff --rebase --no-rebase --autostash --no-autostash --continue --abort --skip --quit --onto --hard
--soft --mixed --keep --staged -S --worktree --prune --tags --no-tags --depth --unshallow --signoff -s --no-verify --allow-empty
--include-untracked --keep-index --index --track --no-track -t --detach --orphan --create --dry-run -n --update -N --intent-to-add
--ours --theirs --no-commit --squash --author --date --source -x -e --cleanup --progress --no-progress --porcelain -- -F --file
--show-current --list -l -r --remotes -fd -fdx -df --merged --no-merged --contains --sort
""")
"""Options of such commands that make them show no content either."""
_TAKING = word_set("add commit stash")
"""Commands that may put the content of files of the work tree into the repository."""
_SENDING = word_set("push pull fetch remote")
"""Commands that may use another repository on this machine, to which no rule would apply."""
_ADDRESS = re.compile(r"(?!file:)[a-z][a-z+.-]*://|[^/:]+:(?!:)")
"""Address of a repository on another machine: `https://host/path` or `host:path`."""
_TREES = word_set("diff grep log show whatchanged rev-list diff-tree diff-index range-diff")
"""Commands that show the text of files of a tree, if they show any."""
_OID = re.compile(r"[0-9a-fA-F]{4,64}")
_EXCLUDING = re.compile(r":(?:(?P<sign>[!^]/?|/[!^])|\((?P<words>[a-z,]*)\))(?P<rest>.*)", re.DOTALL)

Shows = Literal["nothing", "denied", "unknown"]


@dataclass(frozen=True, slots=True)
class GitVerdict:
    """Which denied content a git command shows; `name` is a denied file, relative to the top of its work tree."""

    shows: Shows
    name: str = ""
    held: Held | None = None
    masked: bool = True
    """True if denied files must be hidden from it anyway: it runs programs of the repository, or would record the files."""


def judge_git(
    words: Sequence[str], folders: Sequence[Path], held: Sequence[Held], tracked: bool, workspace: Workspace
) -> GitVerdict:
    """Judge a git command that may run in any of `folders`. `tracked` is true if every existing denied file is in the index."""
    rest, places = list(words[1:]), list(folders)
    while rest and rest[0].startswith("-") and rest[0] != "--version":
        option = rest.pop(0)
        if option == "-C" and rest:
            into = rest.pop(0)
            places = [folder / into for folder in places]
        elif option == "-c" and rest and reads_only(rest[0].partition("=")[0].lower()):
            rest.pop(0)
        elif option not in ("--no-pager", "-P", "--no-optional-locks"):
            return _unknown(held)
    if not rest:
        return GitVerdict("nothing", masked=False)
    name, *arguments = rest
    if name in GIT_READERS:
        fitting = fit(GIT_READERS[name], arguments)
        if not isinstance(fitting, str):
            return _reads(name, fitting[1], places, held, workspace)
    elsewhere = name in _SENDING and _to_this_machine(name, arguments, places, held)
    if name in _CHANGING and _known_quiet(name, arguments) and not elsewhere:
        named = _named(arguments, places, held, workspace)
        for each in held:
            if each.any and named.shows(each, trees=True):
                return GitVerdict("denied", min(each.names, default=""), each)
        takes = name in _TAKING and not tracked and not _takes_named(name, arguments, places)
        hooks = any(repository_problem(folder, workspace, name) for folder in places)
        return GitVerdict("nothing", masked=takes or hooks)
    return _unknown(held)


def _known_quiet(name: str, arguments: Sequence[str]) -> bool:
    fitting = fit(RECORDING[name], arguments) if name in RECORDING else ""
    if not isinstance(fitting, str):
        return True
    options = [word.partition("=")[0] for word in arguments if word.startswith("-")]
    return all(option in _QUIET for option in options)


def _to_this_machine(name: str, arguments: Sequence[str], folders: Sequence[Path], held: Sequence[Held]) -> bool:
    """Return True if a command may send to or fetch from a repository on this machine, also one that does not exist yet."""
    if any(word.startswith("file:") or os.path.lexists(folder / word) for folder in folders for word in arguments):
        return True
    words = iter(arguments)
    operands = [
        word for word in words if not (word.startswith("-") and (word != "--depth" or next(words, "") is not None))
    ]
    if name == "remote":
        return operands[:1] in (["add"], ["set-url"]) and not all(map(_ADDRESS.match, operands[2:]))
    remotes = frozenset[str]().union(*(each.remotes for each in held))
    return bool(operands) and operands[0] not in remotes and not _ADDRESS.match(operands[0])


def _named(words: Iterable[str], folders: Sequence[Path], held: Sequence[Held], workspace: Workspace) -> Named:
    return named_objects(words, folders, workspace.resolved_roots) if any(each.any for each in held) else Named()


def _takes_named(name: str, arguments: Sequence[str], folders: Sequence[Path]) -> bool:
    """Return True if a command puts only named files or the content of the index into the repository."""
    options = [word for word in arguments if word.startswith("-") and word != "--"]
    operands = [word for word in arguments if not word.startswith("-")]
    if name == "commit":
        fitting = fit(RECORDING[name], arguments)
        if isinstance(fitting, str):
            return False
        found = fitting[1]
        return not any(pair in found for pair in (("option", "-a"), ("option", "--all"))) and not any(
            kind == "rev" for kind, _ in found
        )
    files = all(os.path.isfile(folder / word) for folder in folders for word in operands)
    return name == "add" and bool(operands) and files and not options


def _unknown(held: Sequence[Held]) -> GitVerdict:
    holding = next((each for each in held if each.any), None)
    return GitVerdict("unknown", min(holding.names, default="") if holding else "", holding)


def _reads(name: str, found: Found, folders: Sequence[Path], held: Sequence[Held], workspace: Workspace) -> GitVerdict:
    danger = any(workspace.git(folder).danger for folder in folders)
    shown = shows_text(name, found)
    values = [value for kind, value in found if kind == "rev"]
    named = _named(values, folders, held, workspace)
    for each in held:
        if not each.any:
            continue
        by_name = any(path_named(value) is not None for value in values)
        if each.replaced and (shown or by_name):
            return GitVerdict("denied", min(each.names, default=""), each)
        if file := _named_object(values, folders, each):
            return GitVerdict("denied", file, each)
        if named.shows(each, trees=shown and name in _TREES):
            return GitVerdict("denied", min(each.names, default=""), each)
        if name == "cat-file" and each.known:
            continue
        if shown and any(_in_scope(name, found, folder, each) for folder in folders):
            file = next((_in_scope(name, found, folder, each) for folder in folders), "")
            return GitVerdict("denied", file, each)
    return GitVerdict("nothing", masked=danger)


def _named_object(values: Iterable[str], folders: Sequence[Path], held: Held) -> str:
    """Return a denied file that a revision names, by the id of its content or as `HEAD:path`; else the empty string."""
    for value in values:
        if _OID.fullmatch(value) and (not held.known or any(blob.startswith(value.lower()) for blob in held.blobs)):
            return min(held.names, default=value)
        if not (path := path_named(value)):
            continue
        if not held.known:
            return path
        spelled = {os.path.normpath(path)}
        spelled |= {os.path.relpath(os.path.normpath(folder / path), held.top) for folder in folders}
        if match := next((each for each in held.names if each in spelled), ""):
            return match
    return ""


def _in_scope(name: str, found: Found, folder: Path, held: Held) -> str:
    """Return a denied file that a command with text output may show in a folder, or the empty string."""
    here = os.path.realpath(folder)
    followed = ("option", "--follow") in found
    specs = [] if followed else limits(name, found, here)
    included = [spec for spec in specs if _excluded(spec) is None]
    left_out = [pattern for spec in specs if (pattern := _excluded(spec)) is not None]
    names = held.names if held.known else {"(its history could not be looked through)"}
    for each in sorted(names):
        path = str(held.top / each)
        inside = not included or any(covers(spec, here, path) for spec in included)
        if inside and not any(_left_out(pattern, here, held.top, each) for pattern in left_out):
            return each
    return ""


def _excluded(spec: str) -> tuple[bool, str] | None:
    """Return what a pathspec excludes: whether it counts from the top, and its pattern; None if it excludes nothing."""
    match = _EXCLUDING.fullmatch(spec)
    if not match:
        return None
    if match["sign"]:
        return "/" in match["sign"], match["rest"]
    words = set(match["words"].split(","))
    if "glob" in words and not match["rest"].endswith("/**"):
        return None
    return ("top" in words, match["rest"]) if "exclude" in words and words <= {"exclude", "top", "glob"} else None


def _left_out(excluded: tuple[bool, str], here: str, top: Path, name: str) -> bool:
    """Return True if a pattern certainly excludes a file; False if in doubt."""
    from_top, pattern = excluded
    base = str(top) if from_top else here
    path = os.path.relpath(top / name, base)
    pattern = pattern.removesuffix("/**").removesuffix("/*").rstrip("/")
    if not pattern or path.startswith(".."):
        return False
    plain = not set(pattern) & set("*?[\\")
    if plain:
        return path == pattern or path.startswith(pattern + "/")
    return "\\" not in pattern and fnmatch.fnmatchcase(path, pattern)


_FOLDERS = 32
"""Largest number of folders that a command may be in; a line with more counts as one that may read anything."""
_KEPT = 500
"""Largest number of names that a hidden folder keeps."""
_NAMING = word_set(
    "ls find du tree stat test [ [[ cd pwd realpath readlink basename dirname echo printf which type mkdir touch chmod rmdir"
)
"""Commands that show and change names, sizes and dates, but no content."""
_OPERANDS = word_set("path rev range archive object")
_LEAVING_OUT = ("--exclude", "--ignore")

Reach = Literal["no", "over", "unknown"]
"""A command reads no denied file; it goes through a folder that contains one; or it is unknown."""


@dataclass(frozen=True, slots=True)
class Denial:
    """Effect of deny rules about reading on a command line: the rule that forbids it, the files to hide, or the reason to ask."""

    rule: Rule | None = None
    why: str = ""
    hidden: Hidden = NOTHING
    unproven: str = ""
    """Reason to ask if nothing can be hidden from the command."""


def named_by(line: CommandLine, rules: Sequence[Rule], workspace: Workspace) -> Rule | None:
    """Return the path rule that a word of the line matches, in any folder that its commands may be in."""
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


def judge_reading(line: CommandLine, denials: Sequence[Rule], workspace: Workspace) -> Denial:
    """Judge a line by the rules that deny reading files."""
    if not denials:
        return Denial()
    hidden = existing(denials, workspace)
    held = held_around(_all_places(line, workspace), denials, workspace)
    gits = [verdict for part in line.parts for verdict in _git_verdicts(part, line, held, hidden, workspace)]
    for verdict in gits:
        if verdict.held is not None and verdict.shows != "nothing":
            return _denied_by_git(verdict, denials, workspace)
    reach = _reach_of(line, gits, hidden, workspace)
    only_git = bool(line.parts) and all(part.words and part.words[0].text in ("git", "cd") for part in line.parts)
    if reach == "no" and only_git and not any(verdict.masked for verdict in gits):
        return Denial()
    if reach == "unknown" or (reach == "over" and not line.harmless):
        hidden = replace(hidden, objects=tuple(folder for each in held if each.any for folder in each.objects))
    hidden = replace(hidden, kept=tuple(_kept(hidden, held)), told=reach == "over")
    if reach == "no" or (not hidden.paths and hidden.complete):
        return Denial(hidden=hidden)
    by_git = any(verdict.masked for verdict in gits)
    return _open_question("unknown" if by_git else reach, hidden, denials, workspace)


def _open_question(reach: Reach, hidden: Hidden, denials: Sequence[Rule], workspace: Workspace) -> Denial:
    """Return the verdict on a line that may read a denied file: if the file cannot be hidden, deny or ask."""
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
    what = _shown(file, workspace) if verdict.held.known else "what"
    why = (
        f"the repository contains {what}, which the rule {rule} from {rule.origin} keeps from being read, and git may show it. "
        f"Name what to show, or exclude it: git diff -- . ':(exclude){_shown(file, workspace)}'"
    )
    return Denial(rule, why)


def _git_verdicts(
    part: Part, line: CommandLine, held: Sequence[Held], hidden: Hidden, workspace: Workspace
) -> Iterator[GitVerdict]:
    """Yield the verdicts on the git commands that a part may run."""
    direct = [piece.text for piece in part.words]
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
    known = {str(each.top / name) for each in held for name in each.names}
    return all(str(file) in known for file in hidden.files) and not any(map(os.path.lexists, hidden.folders))


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
    """Yield the files of hidden folders that git tracks, so that it does not take them for deleted."""
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
    """Return the folders that a part may run in: the line's folders, and any that its options name (`git -C`, `make -C`)."""
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
