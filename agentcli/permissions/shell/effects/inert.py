"""Values that name nothing: no program, file, address or code, so that a program that gets one can start or open nothing by it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, entries_of, impossible
from agentcli.permissions.shell.programs.known_programs import WRAPPERS, word_set
from agentcli.system.programs import located

_BUILTINS = word_set("""
. : [ [[ alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare dirs disown echo enable eval exec
exit export false fc fg for function getopts hash help history if jobs kill let local logout mapfile popd printf pushd pwd read readarray
readonly return select set shift shopt source suspend test time times trap true type typeset ulimit umask unalias unset until wait while
""")
"""Words that begin a command of the shell without a program of that name."""
OF_THE_SHELL = _BUILTINS - WRAPPERS - word_set("bg disown enable fg kill suspend ulimit umask")
"""Builtins that act on the shell of their own line alone, and start nothing."""
_LONGEST = 20_000
_WORD = re.compile(r"[\w.,:+%^-][\w.,:+%@^/-]*")
_ADDRESS = re.compile(r"://|::|\w@[\w.-]+:")
_SEPARATORS = re.compile(r"[;|&(){}<>`$\n]")
"""Characters allowed between the commands of a shell, and around the commands that it substitutes."""
_JOINTS = re.compile(r"[,:@]")


def names_nothing(value: str, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a value of an option or a variable names no program, file, address or code.

    A value with blanks is a text: no part of it may begin with a program or a file, as a command would. `folders` are
    the folders that the value may be relative to.
    """
    if len(value) > _LONGEST or impossible(value) or value.startswith(("-", "/", "~", ".", "@")):
        return False
    places = tuple(dict.fromkeys((*folders, *workspace.resolved_roots)))
    if any(letter.isspace() for letter in value.strip()):
        first = (words[0].strip("'\"") for part in _SEPARATORS.split(value) if (words := part.split()))
        return not any(_exists(word, places, workspace) for word in first if word)
    if _WORD.fullmatch(value) and not _ADDRESS.search(value):
        named = {value, *_JOINTS.split(value)} - {""}
    else:
        return not value.strip()
    taken = {name.partition(".")[0] for folder in places for name in _names(folder)}
    return not any(_exists(word, places, workspace) or word in taken for word in named)


def _names(folder: Path) -> Iterator[str]:
    """Yield the names in a folder: what a program finds there by a name without its ending."""
    return (entry.name for entry in entries_of(str(folder)) if not entry.name.startswith("."))


def _exists(word: str, places: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a word names a program, a builtin of the shell, or a file in one of the places."""
    if word in _BUILTINS or any(os.path.lexists(place / word) for place in places):
        return True
    return "/" not in word and bool(located(word, workspace.path, workspace.cwd))
