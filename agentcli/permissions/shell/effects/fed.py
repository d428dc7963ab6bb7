"""Reading commands that `xargs` completes with file names listed by the previous command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, entries_below, is_exposed, judge_path
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


def fed_files(
    commands: Sequence[Command], number: int, folders: Sequence[Path], workspace: Workspace
) -> list[str] | str:
    """Return the files that an `xargs` may receive, all of them readable unasked, or why they are unknown."""
    index = number - 1
    while index >= 0 and commands[index + 1].joint == "|" and _passes(commands[index]):
        index -= 1
    if index < 0 or commands[index + 1].joint != "|" or commands[index].loop or commands[index].globs:
        return _UNKNOWN
    tops = _listed(commands[index])
    return _UNKNOWN if tops is None else _files(tops, folders, workspace)


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


def _files(tops: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> list[str] | str:
    files: list[str] = []
    left = workspace.limits.walk
    for top in (folder / each for folder in folders for each in tops):
        for entry in entries_below(top):
            left -= 1
            relative = os.path.relpath(entry.path, top)
            if left < 0:
                return "xargs is given too many files to be looked at first"
            if relative.startswith("-") or not _SAFE.issuperset(relative):
                return "xargs may take the names of files apart"
            verdict = judge_path(entry.path, workspace, write=False)
            if verdict.verdict != "free" and not _shown_or_missing(Path(entry.path), verdict.path, workspace):
                return f"xargs may be given {relative}: {verdict.why}"
            files.append(entry.path)
    return files


def _shown_or_missing(entry: Path, target: Path | None, workspace: Workspace) -> bool:
    """Return True for an entry of a folder outside the workspace that the sandbox shows, or whose target it hides."""
    inside = target is None or any(map(target.is_relative_to, workspace.resolved_roots))
    return not inside and is_exposed(entry, workspace, hidden=True)
