"""Values that decide nothing about what runs.

They belong to an option, or to a variable that a line sets for one command, `NAME=value make`. A rule lists the same
variables. `NAME=*` accepts any value that names no program, file or code; any other value must equal the rule's. No
rule contains a variable with which the shell or the loader finds what runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.permissions.paths import Workspace, entries_of, impossible
from agentcli.permissions.shell.programs.known_programs import BUILTINS
from agentcli.permissions.shell.syntax.parse import below, parse_word, source_of, syntax_tree
from agentcli.permissions.shell.syntax.written_out import FINDING
from agentcli.system.programs import located

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 20_000
_WORD = re.compile(r"[\w.,:+%^-][\w.,:+%@^/-]*")
_ADDRESS = re.compile(r"://|::|\w@[\w.-]+:")
_SEPARATORS = re.compile(r"[;|&(){}<>`$\n]")
"""Characters allowed between the commands of a shell, and around substituted commands."""
_JOINTS = re.compile(r"[,:@]")


def names_nothing(value: str, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if the value of an option or variable names no program, file, address or code.

    A value with blanks is a text. No part of it may begin like a command, with a program or a file. `folders` are its
    possible base folders.
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
    """Yield the names in a folder that a program finds without their extension."""
    return (entry.name for entry in entries_of(str(folder)) if not entry.name.startswith("."))


def _exists(word: str, places: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a word is a program, a builtin of the shell, or a file in one place."""
    if word in BUILTINS or any(os.path.lexists(place / word) for place in places):
        return True
    return "/" not in word and bool(located(word, workspace.path, workspace.cwd))


Assignments = Mapping[str, str]
_ASSIGNED = re.compile(r"""([A-Za-z_]\w*)=((?:[\w./,:@%+=-]|'[^'\n]*'|"[^"$`\\\n]*")*)""")
_LEADING = re.compile(r"([A-Za-z_]\w*)=(\S*) ")
_UNNAMEABLE = re.compile(r"[\s*\\]")


def without_assignments(text: str) -> tuple[str, dict[int, dict[str, str]]] | None:
    """Return a line without the variables set for its commands, and these variables by the command's number.

    None if there are none, or more than words with known values.
    """
    if "=" not in text:
        return None
    root = syntax_tree(text)
    commands = sorted((node for node in below(root) if node.type == "command"), key=lambda node: node.start_byte)
    source = text.encode("utf-8", "surrogatepass")
    kept, end, found = b"", 0, dict[int, dict[str, str]]()
    for number, command in enumerate(commands):
        if (by_env := _by_env(command)) is not None and command.start_byte >= end:
            kept += source[end : command.start_byte]
            found[number], end = by_env
            continue
        set_here = [child for child in command.children if child.type == "variable_assignment"]
        if not set_here:
            continue
        name = command.child_by_field_name("name")
        values: dict[str, str] = {}
        for node in set_here:
            read = _ASSIGNED.fullmatch(source_of(node))
            value = node.child_by_field_name("value")
            piece = parse_word(value) if value is not None else None
            if read is None or (piece is not None and (not piece.known or piece.loose)):
                return None
            values[read[1]] = piece.text if piece is not None else ""
        if name is None or len(values) != len(set_here) or command.start_byte < end:
            return None
        kept, end = kept + source[end : set_here[0].start_byte], name.start_byte
        found[number] = values
    return ((kept + source[end:]).decode("utf-8", "surrogatepass"), found) if found else None


def _by_env(command: Node) -> tuple[dict[str, str], int] | None:
    """Return the variables that `env` sets for a program, and where that program begins; None for any other command."""
    called = [child for child in command.children if child.type != "file_redirect"]
    if not called or called[0].type != "command_name" or called[0].text != b"env":
        return None
    values: dict[str, str] = {}
    for word in called[1:]:
        text = source_of(word)
        read = _ASSIGNED.fullmatch(text)
        if read is None:
            return (values, word.start_byte) if values and _PROGRAM.fullmatch(text) else None
        piece = parse_word(word)
        values[read[1]] = piece.text.partition("=")[2]
        if not piece.known or piece.loose:
            return None
    return None


_PROGRAM = re.compile(r"[A-Za-z][\w.-]*")
"""A program that `env` finds like the shell: no builtin of the shell runs in its place."""


def leading(given: Assignments, folders: Sequence[Path], workspace: Workspace) -> str:
    """Return how a rule writes the variables set for a command; empty if none may."""
    words: list[str] = []
    for name, value in given.items():
        if FINDING.fullmatch(name):
            return ""
        if _inert(value, folders, workspace):
            words.append(f"{name}=*")
        elif _UNNAMEABLE.search(value):
            return ""
        else:
            words.append(f"{name}={value}")
    return " ".join(words)


def split_pattern(pattern: str) -> tuple[dict[str, str], str]:
    """Return the variables in a rule's pattern, with their values, and the rest of the pattern."""
    named: dict[str, str] = {}
    while found := _LEADING.match(pattern):
        named[found[1]] = found[2]
        pattern = pattern[found.end() :]
    return named, pattern


def covers(named: Assignments, given: Assignments, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a rule contains exactly the variables that a command gets, and these values."""
    return named.keys() == given.keys() and all(
        _inert(value, folders, workspace)
        if named[name] == "*" and not FINDING.fullmatch(name)
        else named[name] == value
        for name, value in given.items()
    )


def harmless_assignments(given: Assignments, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if the variables set for a command decide nothing about what runs.

    Their values name no program, file or code.
    """
    return not any(FINDING.fullmatch(name) for name in given) and all(
        _inert(value, folders, workspace) for value in given.values()
    )


def _inert(value: str, folders: Sequence[Path], workspace: Workspace) -> bool:
    return value in ("", ":", "true", "false") or names_nothing(value, folders, workspace)
