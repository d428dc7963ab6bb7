"""State of a shell while it runs a line: its folders, variables and functions.

A move, a call or a branch changes them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.paths import Workspace, impossible
from agentcli.permissions.shell.programs.listing import placed
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from agentcli.permissions.shell.syntax.values import UNSET, Values, merged
from agentcli.system import probe

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Run:
    """One command as it may run: its words (`UNKNOWN` for unknown text), its folders, and its input.

    `behind` are the programs that start it, outermost first: `sudo`, `xargs`. `env` are the variables set for it alone.
    """

    words: tuple[str, ...]
    folders: tuple[Path, ...]
    writes: tuple[str, ...] = ()
    script: str = ""
    """Text that an interpreter reads from standard input, as far as it is known."""
    behind: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    within: str = ""
    """The program that gets the command in a script among its words: `docker exec web sh -c '…'`."""
    reads: tuple[str, ...] = ()
    """Files that its redirections read."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a command of a line may depend on: folders, values of variables, functions, and names on its
    input.
    """

    folders: tuple[Path, ...]
    variables: Mapping[str, Values]
    functions: Mapping[str, Node]
    fed: Values | None = ()
    """Names that the command before the pipe lists, None if they are unknown; empty if there is no pipe."""


class TooMuchError(Exception):
    """The line runs more commands than can be followed."""


MOST_FOLDERS = 8
"""Maximum folders in which a shell may be after a move."""


def bound(state: State, name: str, values: Values) -> State:
    """Return the state after an assignment."""
    return replace(state, variables={**state.variables, name: values})


def with_arguments(state: State, arguments: Sequence[str]) -> State:
    """Return the state in which a function or a script starts: `$1` and `$@` are its arguments."""
    given = {str(number): (word,) for number, word in enumerate(arguments, 1)}
    every = merged(arguments) or ("",)
    return replace(state, variables={**state.variables, **given, "@": every, "*": every})


def with_unknown_arguments(state: State) -> State:
    """Return the state after `set` or `shift`, which change the arguments."""
    named = {key: value for key, value in state.variables.items() if not _is_positional(key)}
    return replace(state, variables={**named, "@": (UNKNOWN,), "*": (UNKNOWN,)})


def with_unknown_variables(state: State) -> State:
    """Return the state after a file or text that may set any variable; the shell's own folders stay known."""
    kept = {name: value if name in ("HOME", "PWD") else (UNKNOWN,) for name, value in state.variables.items()}
    return replace(state, variables={**kept, UNSET: (UNKNOWN,)})


def after_read(state: State, words: Sequence[str]) -> State:
    """Return the state after `read` or `mapfile`, which puts its input into variables."""
    fed = (UNKNOWN,) if state.fed is None or not state.fed else state.fed
    for word in words:
        state = bound(state, word, fed) if word.isidentifier() else state
    return state


def after_call(before: State, after: State, name: str, nothing: Node) -> State:
    """Return the state after the call of a function.

    It may be called again, and `$1` and `$@` are the caller's.
    """
    own = {key: value for key, value in before.variables.items() if _is_positional(key)}
    kept = {key: value for key, value in after.variables.items() if not _is_positional(key)}
    functions = after.functions
    if functions.get(name) is nothing:
        functions = {**functions, name: before.functions[name]}
    return replace(after, variables={**kept, **own}, functions=functions)


def after_move(state: State, words: Sequence[str], workspace: Workspace, *, sure: bool) -> State:
    """Return the state after a move to another folder. The shell stays in its folders if the move may fail, unless it is `sure`."""
    operands = [word for word in words[1:] if not word.startswith("-") or word == "-"]
    target = operands[0] if operands else str(workspace.home)
    if os.path.basename(words[0]) == "popd" or target == "-" or UNKNOWN in target or impossible(target):
        temporary = target.startswith(("/tmp/", "/var/tmp/"))
        return replace(
            state, folders=(Path(target.replace(UNKNOWN, "x")),) if temporary else (*state.folders, Path("/"))
        )
    there = tuple(placed(target, folder, workspace) for folder in state.folders)
    reached = sure or all(probe.is_dir(folder) for folder in there)
    found = tuple(dict.fromkeys(there if reached else (*there, *state.folders)))[:MOST_FOLDERS]
    return bound(replace(state, folders=found), "PWD", tuple(map(str, found)))


def either(before: State, after: State, *, unset: bool = False) -> State:
    """Return the state after a branch that may not be taken. With `unset`, what only it sets may be unset."""
    names = {*before.variables, *after.variables}
    other = before.variables.get(UNSET, ()) if unset else ()
    variables = {
        name: merged((*before.variables.get(name, other), *after.variables.get(name, ())))
        if before.variables.get(name) is not after.variables.get(name)
        else after.variables[name]
        for name in names
    }
    folders = tuple(dict.fromkeys((*after.folders, *before.folders)))
    return replace(after, variables=variables, folders=folders, fed=before.fed)


def _is_positional(name: str) -> bool:
    return name in ("@", "*") or name.isdigit()
