"""Commands and scripts that a command starts with its words: `sudo` and `xargs` a command, `sh -c` a script."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.programs.known_programs import OPERANDS, SHELLS, WRAPPERS, word_set
from agentcli.permissions.shell.programs.listing import fed_lines, listed
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Part, Piece, runs
from agentcli.permissions.shell.syntax.state import Run, State, TooMuchError, bound, with_arguments

_MOST = 200
"""Maximum commands that one command's words may start."""
_MOST_FOUND = 8
"""Maximum found names with which the command of `find` is followed."""
_TAKING_SCRIPTS = word_set("trap watch su script parallel ssh entr xvfb-run tmux screen runuser sg flock chronic")


@dataclass(frozen=True, slots=True)
class Script:
    """Text that a shell runs, and its initial state; `depth` is how deep texts in it may still be nested."""

    text: str
    state: State
    depth: int


def started_by(
    words: tuple[str, ...], state: State, own: Mapping[str, str], depth: int, workspace: Workspace
) -> Iterator[Run | Script]:
    """Yield the commands and scripts that a command starts, with their words. `own` are the variables set for it alone.

    Raise `TooMuchError` if they are too many.
    """
    name = os.path.basename(words[0])
    part = Part(tuple(Piece(word) for word in words))
    for count, inner in enumerate(itertools.islice(runs(part), 1, None)):
        if count > _MOST:
            raise TooMuchError
        for line in _completed(words, inner, state, workspace):
            named = os.path.basename(line[0])
            yield Run(line, state.folders, (), "", (name,), own)
            if named in WRAPPERS and line != tuple(inner) and depth > 1:
                yield from started_by(line, state, own, depth - 1, workspace)
            yield from _scripts(named, line, state, depth)
    if name in WRAPPERS or name in SHELLS:
        yield from _scripts(name, words, state, depth)


def _scripts(name: str, line: Sequence[str], state: State, depth: int) -> Iterator[Script]:
    """Yield the scripts that a shell or a wrapper gets as words: `sh -c '…' name arguments`."""
    for index, word in enumerate(line[1:], 1):
        if not any(letter in word for letter in " \n;|&\t"):
            continue
        split = word.startswith("-S") or line[index - 1] == "-S"
        if name not in SHELLS and name not in _TAKING_SCRIPTS and not split:
            continue
        inner = with_arguments(state, line[index + 2 :])
        given = line[index + 1 : index + 2]
        yield Script(word, bound(inner, "0", (given[0],)) if given else inner, depth - 1)
        if name in SHELLS:
            return


def _completed(
    words: Sequence[str], inner: Sequence[str], state: State, workspace: Workspace
) -> Iterator[tuple[str, ...]]:
    """Yield a command that another one starts, with the names that it adds: read by xargs, or found by find."""
    name = os.path.basename(words[0])
    if name in ("find", "fd", "fdfind"):
        found = listed(words, (), state.folders, workspace) or (UNKNOWN,)
        ends = [index for index, word in enumerate(inner) if word in (";", "+", "\\;")]
        line = list(inner[: ends[0]] if ends else inner)
        line = line if "{}" in " ".join(line) or name == "find" else [*line, "{}"]
        for one in found[:_MOST_FOUND]:
            yield tuple(word.replace("{}", one) for word in line)
    elif name in ("xargs", "parallel"):
        yield from fed_lines(words, inner, state.fed)
    else:
        yield tuple(inner)


def inner_command(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command behind wrappers that only start it, and the variables that `env` sets for it.

    `xargs` adds words that only the shell will know. A wrapper with other options is the command itself.
    """
    inner, given = tuple(words), dict[str, str]()
    while (found := _unwrapped(inner)) is not None:
        inner = found[0]
        given |= found[1]
    return inner, given


def _unwrapped(words: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]] | None:
    if not words or words[0] not in _STARTING:
        return None
    name, rest, given = words[0], list(words[1:]), dict[str, str]()
    flags, valued = _STARTING[name]
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word in valued and rest:
            rest.pop(0)
        elif not re.fullmatch(flags, word):
            return None
    while name == "env" and rest and (found := _SET.fullmatch(rest[0])):
        given[found[1]] = found[2]
        del rest[0]
    del rest[: OPERANDS.get(name, 0)]
    own = words[: len(words) - len(rest)]
    if not rest or rest[0].startswith("-") or any(UNKNOWN in word for word in own if not _SET.fullmatch(word)):
        return None
    return (*rest, *((UNKNOWN,) if name == "xargs" else ())), given


_SET = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_STARTING: dict[str, tuple[str, frozenset[str]]] = {
    **dict.fromkeys(
        ("timeout", "gtimeout"),
        (
            r"-[sk]\w+|--(?:foreground|preserve-status|signal=\w+|kill-after=\w+)",
            word_set("-s -k --signal --kill-after"),
        ),
    ),
    "nice": (r"-n?-?\d+|--adjustment=-?\d+", word_set("-n --adjustment")),
    "nohup": (r"(?!)", frozenset()),
    "setsid": (r"-[fw]+|--fork|--wait", frozenset()),
    "command": (r"--", frozenset()),
    "time": (r"-p", frozenset()),
    "stdbuf": (r"-[ioe][0L\d]+\w?", word_set("-i -o -e")),
    "caffeinate": (r"-[dimsu]+", word_set("-t")),
    "env": (r"-i?|--ignore-environment|-u\w+|--unset=\w+", word_set("-u --unset")),
    "xargs": (r"-[0rtx]+|--null|--no-run-if-empty|-[nPL]\d+", word_set("-n -P -L")),
}
"""Options, and options with a value, with which a wrapper only chooses how it starts its command."""
