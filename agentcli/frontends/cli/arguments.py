"""Command line arguments: read without a parser if they are simple, else rewritten for it.

Typer requires a command and has no options with an optional value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from agentcli.program.options import LAST, Flag, Options, flags

_FLAGS: Mapping[str, Flag] = {name: flag for flag in flags() if not flag.hidden for name in flag.names}
TAKES_VALUE = {
    *(name for name, flag in _FLAGS.items() if flag.kind != "switch"),
    *(f"{flag.names[-1]}-file" for flag in flags() if flag.file),
}
"""Options of a run that take a value."""
OWN = {*_FLAGS, *TAKES_VALUE, "-c", "--continue"}
"""Options of a run."""
ENDPOINTS = "endpoints"
"""Value of `models --refresh` without one: query the endpoints for their models."""
_WHOLE, _DECIMAL = re.compile(r"0|[1-9][0-9]{0,8}"), re.compile(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=.*)?")


def plain_options(arguments: Sequence[str]) -> Options | None:
    """Return the options of a run, or of `resume` with a session, if the arguments need no parser.

    Return None for all other arguments, and for any that may be wrong.
    """
    given: dict[str, Any] = {}
    rest = iter(arguments)
    if arguments[:1] == ["resume"]:
        if arguments[1:2] in ([], [""]) or arguments[1].startswith("-"):
            return None
        given["session"] = arguments[1]
        rest = iter(arguments[2:])
    value: str | float | bool | None
    for argument in rest:
        flag = _FLAGS.get(argument)
        if argument in ("-c", "--continue"):
            field, value = "session", LAST
        elif flag is not None:
            field, value = flag.field, True if flag.kind == "switch" else _value(flag, next(rest, ""))
        else:
            return None
        repeated = flag is not None and flag.kind == "list"
        if value is None or (field in given and not repeated):
            return None
        given[field] = (*given.get(field, ()), value) if repeated else value
    options = Options(print="prompt" in given, **given)
    return None if contradiction(options) else options


def _value(flag: Flag, value: str) -> str | float | None:
    """Return the value of a flag; None if the parser must judge it."""
    if not value or value.startswith("-") or (flag.choices and value not in flag.choices):
        return None
    if flag.kind == "whole":
        return int(value) if _WHOLE.fullmatch(value) else None
    if flag.kind == "decimal":
        return float(value) if _DECIMAL.fullmatch(value) else None
    return value


def contradiction(options: Options) -> str:
    """Return why these flags cannot be combined; empty if they can."""
    if options.fork and options.session is None:
        return (
            "--fork needs a session to copy. "
            "Name one with `agentcli resume SESSION --fork`, or use the newest with `agentcli -c --fork`."
        )
    if options.session_id and options.session is not None:
        return "--session-id is for a new session; to continue one: agentcli resume ID."
    if options.background and options.print:
        return "--bg prints no answer: omit -p. `agentcli agents` shows the answer."
    if options.background and options.no_session:
        return "--bg needs a stored session: omit --no-session."
    for name, flag in _FLAGS.items():
        if flag.needs_print and getattr(options, flag.field) and not options.print:
            return f"{name} needs -p: agentcli -p PROMPT {name} {flag.value}."
    if options.handoff is not None and (options.session is None or not options.print):
        return (
            "--handoff needs a session and -p: agentcli resume SESSION --handoff TEXT -p PROMPT. "
            "In the terminal, use /handoff."
        )
    return ""


def prepared(arguments: list[str], commands: Set[str]) -> list[str]:
    """Return the arguments with their command in front."""
    return _with_command(_spelled_out(arguments), commands)


def lone_word(arguments: Sequence[str], commands: Set[str]) -> str:
    """Return the only word of the arguments if it is not one of our commands.

    It is a prompt, or another program's command. Return an empty text if there is no such word.
    """
    words = _words(arguments)
    return words[0] if len(words) == 1 and words[0] not in commands - {"run"} else ""


def _words(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments that are neither options nor their values.

    Return none if an option or `--` marks a prompt, or if an option is unknown.
    """
    words, rest = [], iter(arguments)
    for argument in rest:
        if argument in ("--", "-p", "--print", "--prompt"):
            return []
        if argument in TAKES_VALUE:
            next(rest, "")
        elif not argument.startswith("-"):
            words.append(argument)
        elif argument.partition("=")[0] not in OWN:
            return []
    return words


def _spelled_out(arguments: list[str]) -> list[str]:
    """Rewrite `-p` without a text, which means that the prompt comes from elsewhere, and `--refresh` without one.

    Click has no optional values.
    """
    spelled: list[str] = []
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for place, argument in enumerate(options):
        following = arguments[place + 1] if place + 1 < len(arguments) else None
        if argument in ("-p", "--print") and (following is None or _OPTION.fullmatch(following)):
            spelled.append("--print")
        elif argument == "--print":
            spelled.append("-p")
        elif argument == "--refresh" and "models" in options[:place] and (following is None or following[:1] == "-"):
            spelled.append(f"--refresh={ENDPOINTS}")
        else:
            spelled.append(argument)
    return spelled + arguments[len(options) :]


def _with_command(arguments: list[str], commands: Set[str]) -> list[str]:
    """Return the arguments with their command in front.

    The command is `run` if there is none: the first word is then a prompt.
    """
    if arguments in (["-h"], ["--help"], ["--version"], ["-V"]):
        return arguments
    place = 0
    while place < len(arguments):
        argument = arguments[place]
        if argument == "--" or not argument.startswith("-") or argument == "-":
            break
        place += 2 if argument in TAKES_VALUE else 1
    if place < len(arguments) and arguments[place] in commands:
        return [arguments[place], *arguments[:place], *arguments[place + 1 :]]
    return ["run", *arguments]
