"""Rules that cover a command with other arguments: the words that express the task, with a task runner's recipe."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.shell.effects.covered import ASKING_THE_WEB, harmless_options, is_unlisted
from agentcli.permissions.shell.effects.harmless_values import names_nothing
from agentcli.permissions.shell.effects.network_use import local_server
from agentcli.permissions.shell.programs.known_programs import (
    FETCHING,
    ORDINARY,
    SHELLS,
    bounded,
    fetches,
    is_interpreter,
    never_saved,
    runs_a_file,
    word_set,
)

_WIDENED_GIT = word_set("add commit merge cherry-pick revert fetch pull rebase")
_CREATING_GIT = {"checkout": "-b", "switch": "-c"}
"""Git commands that lose nothing with this option, and may discard changes without it."""
_NOT_WIDENED = word_set("""
rm unlink shred dd ln chown chgrp tee install patch tar unzip zip truncate rsync find kill killall pkill crontab at sudo doas systemctl
service mount umount reboot shutdown export declare set unset read trap alias cd pushd popd ulimit umask hash enable shopt type command git
""")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_QUIET_FLAG = re.compile(r"--(?:read-?only|json|quiet|verbose|no-[a-z-]+)")
_RECIPE = re.compile(r"[A-Za-z][\w:.-]*(?:/[\w:.-]+)*")
_RECIPES = word_set("make just task rake nox")
"""Programs whose first operand is a recipe of the project."""
_SCRIPTS = word_set("npm pnpm yarn bun mise")
"""Programs that run a recipe of the project as `run NAME`; most also as `NAME`."""
_RUN = word_set("run run-script r")
_INNER = {
    **dict.fromkeys(word_set("npx bunx pnpx uvx"), ""),
    **dict.fromkeys(word_set("uv poetry pipenv pdm rye hatch"), "run"),
    **dict.fromkeys(word_set("bundle pnpm npm"), "exec"),
}
"""Programs that run the program named after them, or after this subcommand."""
_LOOKS = word_set("view list diff checks status search watch")
"""Verbs with which a client of a service only reads: all others change what others see, and ask each time."""
_SERVICES = word_set("gh glab hub")
_ENGINES = word_set("docker podman")
_LOOKS_AT_ENGINE = word_set("ps images version info")
"""Commands with which a client of a container engine only lists what exists, without settings, output and files."""
_MODULES = word_set("unittest compileall py_compile")


def wider(words: Sequence[str], inside: bool) -> str:
    """Return the pattern of a rule that covers a command with other arguments; empty if none is offered.

    `inside` is true if the command is known to change only files inside the workspace.
    """
    if bounded(words):
        options = " -i" if words[0] == "sed" else ""
        return f"{words[0]}{options} *" if inside else ""
    return _pattern(_named(list(words)))


def _pattern(named: Sequence[str]) -> str:
    return f"{' '.join(named)} *" if named and not any(re.search(r"[\s*\\]", word) for word in named) else ""


def whole_program(words: Sequence[str], approved: Iterable[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the pattern of a rule that covers all commands of a program.

    `approved` must have one for another of its commands. Only an unknown program with two approved kinds of commands
    gets one. A program whose commands are named like other programs may start those, so it gets no such rule.
    """
    name, *arguments = words
    if not is_unlisted(name) or not _SUBCOMMAND.fullmatch(name) or never_saved(words):
        return ""
    ours = [pattern.split() for pattern in approved if pattern.startswith(f"{name} ") and pattern.endswith(" *")]
    kinds = {words[1] for words in ours if len(words) > 2}
    own = next((word for word in arguments if not word.startswith("-")), "")
    if not kinds - {own} or not all(_is_kind(kind, folders, workspace) for kind in kinds | {own} - {""}):
        return ""
    return _pattern([name])


def _is_kind(word: str, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if the first word of a program's arguments can only be its own command, or an option."""
    return word.startswith("-") or (bool(_SUBCOMMAND.fullmatch(word)) and names_nothing(word, folders, workspace))


def local_requests(words: Sequence[str]) -> str:
    """Return the pattern of a rule that covers requests to the local server that a command queries.

    Return an empty text if it queries another server.
    """
    server = local_server(words) if words[0] in ASKING_THE_WEB else ""
    return f"{words[0]} *{server}*" if server else ""


def script_of(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the pattern of a rule that covers a script of the workspace with other arguments.

    Return an empty text for any other command.
    """
    inner = 2 if words[1:2] and _INNER.get(words[0]) == words[1] else 0
    interpreted = len(words) > inner and runs_a_file(os.path.basename(words[inner]))
    first = inner + interpreted
    if first >= len(words) or words[first].startswith("-") or (not interpreted and never_saved(words[inner:])):
        return ""
    if words[0] == "bun" and words[1] == "run":
        first += 1
    script = words[first : first + 1]
    if not script or ("/" not in script[0] and not (first and "." in script[0])):
        return ""
    inside = all(
        judge_path(script[0], workspace, write=False, cwd=folder).verdict == "free"
        and os.path.isfile(folder / script[0])
        for folder in folders
    )
    return _pattern(words[: first + 1]) if inside else ""


def runs_code(words: Sequence[str]) -> str:
    """Return the pattern of the rule about a program with any code, for a command that starts such a program.

    `python3 *` for `python3 -c x`, `uv run python *` for `uv run python -`. Return an empty text for any other command.
    """
    inner = 2 if words[1:2] and words[0] in _INNER and _INNER[words[0]] == words[1] else 0
    folder, _, name = words[inner].rpartition("/") if len(words) > inner else ("", "", "")
    code = runs_a_file(name) and name not in SHELLS | _MANAGING and (not folder or _VENV.fullmatch(folder))
    return _pattern(words[: inner + 1]) if code else ""


def interpreter_of(pattern: str) -> str:
    """Return the interpreter that a rule about any code names, without its version and folder: `python` of `python3.12 *`.

    Return an empty text for any other rule.
    """
    name = os.path.basename(pattern.removesuffix(" *")).rstrip("0123456789.")
    return name if runs_code([pattern.removesuffix(" *")]) else ""


_VENV = re.compile(r"(?:[\w./-]+/)?\.?venv/bin")
"""The folder of a virtual environment's programs."""
_MANAGING = word_set("bun")
"""A program that runs code, and also installs packages."""


def _named(words: list[str]) -> list[str]:
    """Return the first words of a command that express its task; none if no rule may cover it with others."""
    name, *arguments = words
    if name == "git":
        return _git(words)
    if name in _SERVICES:
        return words[:3] if len(words) > 2 and words[2] in _LOOKS else words[:2] if words[1:2] == ["api"] else []
    if name in _ENGINES:
        return words[:2] if words[1:2] and words[1] in _LOOKS_AT_ENGINE else []
    if (inner := _inner(words)) is not None:
        return inner
    if name in _SCRIPTS:
        return _script(words)
    if name in _RECIPES:
        first = _first_operand(name, arguments)
        return words[: first + 2] if first >= 0 and _RECIPE.fullmatch(arguments[first]) else [name]
    if name.startswith("python") and arguments[:1] == ["-m"] and is_interpreter(name):
        module = arguments[1] if len(arguments) > 1 else ""
        return words[:3] if module in _MODULES or (module in ORDINARY and not is_interpreter(module)) else []
    if name in _NOT_WIDENED or "/" in name or never_saved(words) or not _SUBCOMMAND.fullmatch(name):
        return []
    if name in ORDINARY and not ORDINARY[name]:
        return [name]
    flags = 0
    while name not in ORDINARY and flags < len(arguments) and _QUIET_FLAG.fullmatch(arguments[flags]):
        flags += 1
    first_word = arguments[flags] if flags < len(arguments) else ""
    known = name not in ORDINARY or first_word in ORDINARY[name]
    return words[: flags + 2] if known and _SUBCOMMAND.fullmatch(first_word) and not fetches(name, arguments) else []


def _git(words: list[str]) -> list[str]:
    subcommand = words[1] if len(words) > 1 else ""
    if subcommand in _WIDENED_GIT:
        return words[:2]
    creating = _CREATING_GIT.get(subcommand)
    return words[:3] if creating is not None and words[2:3] == [creating] else []


def _script(words: list[str]) -> list[str]:
    """Return the words up to the name of a project's recipe: `pnpm --filter web run test`."""
    name, *arguments = words
    first = _first_operand(name, arguments)
    if first < 0:
        return []
    last = first + (arguments[first] in _RUN)
    if last >= len(arguments) or not _RECIPE.fullmatch(arguments[last]):
        return []
    if last == first and (
        arguments[first] in FETCHING.get(name, ()) or name == "mise" or arguments[first] in _STARTING
    ):
        return []
    if name == "bun" and "." in os.path.basename(arguments[last]):
        return []  # a script, which may be rewritten
    return words[: last + 2]


_STARTING = word_set("exec x dlx create init config set cache store link unlink node")


def _inner(words: list[str]) -> list[str] | None:
    """Return the words up to the inner program that a runner starts; None if the command is not a runner's."""
    name, *arguments = words
    subcommand = _INNER.get(name)
    first = max(_first_operand(name, arguments), 0) if name in _SCRIPTS else 0
    if subcommand is None or (subcommand and arguments[first : first + 1] != [subcommand]):
        return None
    before = first + 2 if subcommand else 1
    rest = words[before:]
    if not rest or rest[0].startswith("-"):
        return []
    if rest[0] in _INNER or rest[0] in _SCRIPTS or "/" in rest[0] or "@" in rest[0]:
        return []
    found = _named(rest)
    return (
        [*words[:before], *found]
        if found and (rest[0] in ORDINARY or rest[0] in ORDINARY["npx"] or rest[0].startswith("python"))
        else []
    )


def _first_operand(name: str, arguments: Sequence[str]) -> int:
    """Return the index of the first operand after options with known values.

    Return -1 if there is none, or an option is unknown.
    """
    known = {**harmless_options(name), "--filter": "word", "-F": "word"}
    if name in _SCRIPTS:
        known |= dict.fromkeys(("-C", "--dir", "--cwd", "--prefix"), "path")
    index = 0
    while index < len(arguments):
        option, equals, _ = arguments[index].partition("=")
        if not option.startswith("-"):
            return index
        if option not in known:
            return -1
        index += 2 if known[option] and not known[option].startswith("?") and not equals else 1
    return -1
