"""Reading commands that `xargs` or `find` completes with the names of listed files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from agentcli.core.dataclass import replace
from agentcli.permissions.paths import Workspace, could_name_protected, entries_below, is_exposed, judge_path
from agentcli.permissions.shell.syntax.parse import Command

_PASSING = {
    "grep": frozenset("vivwEFq"),
    "head": frozenset("n0123456789-"),
    "tail": frozenset("n0123456789-"),
    "sort": frozenset("urnz"),
    "uniq": frozenset(),
}
"""Filters that pass lines on unchanged, and the option letters with which they do."""
_LISTING = {"rg": frozenset("liwFSs"), "grep": frozenset("lriwFE")}
"""Searches that list the files with matches, and the option letters with which they do; `-l` is one of them."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+@:,=%~#-")
"""Letters of a name that is one word to `xargs`."""
NAMED = "./x"
"""Placeholder for each file while the command is judged."""


def fed_command(commands: Sequence[Command], number: int) -> Command | str:
    """Return the command that `xargs` runs, with a placeholder file for its input, or why it is unknown.

    `commands[number]` is the `xargs`; the commands before it list the files.
    """
    words = list(commands[number].words[1:])
    placed = ""
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-I", "-n", "-P") and words:
            value = words.pop(0)
            placed = value if option == "-I" else placed
        elif option == "-I{}":
            placed = "{}"
        elif option not in ("-0", "-r", "--null", "--no-run-if-empty") and not option[2:].isdecimal():
            return f"xargs {option} is not known to only read"
    if not words or words[0] == "xargs":
        return "xargs may run anything"
    inner = [word.replace(placed, NAMED) for word in words] if placed else [*words, NAMED]
    return Command(tuple(inner), "", True) if inner[0] == words[0] else "xargs may run anything"


def found_by(command: Command) -> tuple[Command, list[Command]] | None:
    """Return a `find` without its `-exec`, and the commands that it runs, with a placeholder for each file.

    Return None if it has none, or one that is not complete. Only commands that print get a name within a word.
    """
    words = list(command.words)
    if "-exec" not in words:
        return None
    kept, inner = list[str](), list[Command]()
    while words:
        word = words.pop(0)
        if word != "-exec":
            kept.append(word)
            continue
        end = next((index for index, each in enumerate(words) if each in (";", "+")), 0)
        run, words = words[:end], words[end + 1 :]
        if not run or any("{}" in each and each != "{}" for each in run if run[0] not in _PRINTING):
            return None
        inner.append(Command(tuple(each.replace("{}", ANY_NAME) for each in run), "", "{}" not in run[0]))
    return replace(command, words=tuple(kept)), inner


_PRINTING = ("echo", "printf")
ANY_NAME = './x{system("x")|"x"}|env'
"""Placeholder for a file of any name, also one that would be a program of awk or jq."""


def files_found(
    command: Command, folders: Sequence[Path], workspace: Workspace, *, write: bool = False
) -> list[str] | str:
    """Return the files that a `find` may give to its commands, or why one may not be read unasked.

    With `write`, the commands may change them.
    """
    tops = _listed(command)
    if tops is None:
        return "find may give anything to its commands"
    words = command.words
    if named := next(filter(None, map(could_name_protected, words)), ""):
        return f"{named} may match a protected file"
    words = _without_exceptions(words)
    sure = _UNSURE.isdisjoint(words)
    names = [name for test, name in pairwise(words) if test == "-name" and sure and _NAME_PATTERN.fullmatch(name)]
    return _files(tops, folders, workspace, "find", names, write=write)


def _without_exceptions(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a `find` without tests such as `! -path './x/*'`, which only leave out files."""
    kept = list[str]()
    rest = list(words)
    while rest:
        if rest[0] in ("!", "-not") and rest[1:2] in (["-path"], ["-name"]) and len(rest) > 2:
            del rest[:3]
        else:
            kept.append(rest.pop(0))
    return tuple(kept)


_UNSURE = frozenset({"-o", "-or", "!", "-not", ",", "(", ")"})
"""Words with which `find` also finds what one of its tests does not match."""
_NAME_PATTERN = re.compile(r"[\w.*-]+")


def fed_files(
    commands: Sequence[Command], number: int, folders: Sequence[Path], workspace: Workspace, *, write: bool = False
) -> list[str] | str:
    """Return the files that an `xargs` may receive, all of them readable unasked, or why they are unknown.

    With `write`, its command may change them.
    """
    index = number - 1
    while index >= 0 and commands[index + 1].joint == "|" and _passes(commands[index]):
        index -= 1
    if index < 0 or commands[index + 1].joint != "|" or commands[index].loop or commands[index].globs:
        return _UNKNOWN
    tops = _listed(commands[index])
    return _UNKNOWN if tops is None else _files(tops, folders, workspace, "xargs", write=write)


_UNKNOWN = "xargs may be given anything"


def _passes(command: Command) -> bool:
    """Return True if a filter passes on whole lines of its input, and reads nothing else."""
    name, *arguments = command.words
    letters = _PASSING.get(name)
    if letters is None or command.loop or command.globs:
        return False
    options = [word for word in arguments if word.startswith("-")]
    operands = [word for word in arguments if not word.startswith("-")]
    known = all(set(option[1:]) <= letters and not option.startswith("--") for option in options)
    numbers = name in ("head", "tail") and all(word.isdecimal() for word in operands)
    return known and (not operands or numbers or (name == "grep" and len(operands) == 1))


def _listed(command: Command) -> list[str] | None:
    """Return the folders whose files a command lists, or None if it lists something else."""
    name, *arguments = command.words
    operands = [word for word in arguments if not word.startswith("-")]
    if name == "find" and not any(word.startswith(("-printf", "-ls", "-fprint")) for word in arguments):
        tops = []
        for word in arguments:
            if word.startswith(("-", "(", "!")):
                break
            tops.append(word)
        return tops or ["."]
    if name == "git" and arguments[:1] == ["ls-files"] and len(operands) == len(arguments):
        return ["."]
    if name == "rg" and arguments[:1] == ["--files"] and len(operands) == len(arguments) - 1:
        return operands or ["."]
    options = [word for word in arguments if word.startswith("-") and not word.startswith(("--include=", "--glob="))]
    letters = {letter for option in options for letter in option[1:]}
    if name in _LISTING and "l" in letters and letters <= _LISTING[name] and operands:
        return operands[1:] or ["."]
    return None


def _files(
    tops: Sequence[str],
    folders: Sequence[Path],
    workspace: Workspace,
    by: str,
    names: Sequence[str] = (),
    *,
    write: bool = False,
) -> list[str] | str:
    files: list[str] = []
    left = workspace.limits.walk
    for top in (folder / each for folder in folders for each in tops):
        for entry in entries_below(top):
            left -= 1
            relative = os.path.relpath(entry.path, top)
            if left < 0:
                return f"{by} has too many files to be looked at first"
            if write and entry.name == ".git" and (by == "xargs" or _any_below(entry.path, names)):
                return f"{by} would change what git keeps"
            if not all(fnmatchcase(entry.name, name) for name in names):
                continue
            if by == "find" and ".git" in entry.path.split("/"):
                return "find would read what git keeps"
            if by == "xargs" and (relative.startswith("-") or not _SAFE.issuperset(relative)):
                return "xargs may take the names of files apart"
            verdict = judge_path(entry.path, workspace, write=write)
            if verdict.verdict != "free" and not _shown_or_missing(Path(entry.path), verdict.path, workspace):
                return f"{by} may be given {relative}: {verdict.why}"
            files.append(entry.path)
    return files


def _any_below(folder: str, names: Sequence[str]) -> bool:
    """Return True if the name of anything in a folder matches all of these patterns."""
    found = (name for _, folders, files in os.walk(folder) for name in (*folders, *files))
    return not os.path.isdir(folder) or any(all(fnmatchcase(one, name) for name in names) for one in found)


def _shown_or_missing(entry: Path, target: Path | None, workspace: Workspace) -> bool:
    """Return True for an entry of a folder outside the workspace that the sandbox shows, or whose target it hides."""
    inside = target is None or any(map(target.is_relative_to, workspace.resolved_roots))
    return not inside and is_exposed(entry, workspace, hidden=True)
