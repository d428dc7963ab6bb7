"""Arguments as typed: read without a parser where they are plain, else rewritten for it, which wants a command in front and knows no
option with an optional value."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Any

from agentcli.app.options import LAST, Options
from agentcli.core.errors import UsageError

_VALUES = {
    "-p": "prompt",
    "--prompt": "prompt",
    "-m": "model",
    "--model": "model",
    "-C": "cwd",
    "--cwd": "cwd",
    "-o": "output_format",
    "--output-format": "output_format",
    "--mode": "mode",
    "--agent": "agent",
    "--session-id": "session_id",
    "--system-prompt": "system_prompt",
    "--append-system-prompt": "append_system_prompt",
}
_LISTS = {
    "--allow": "allow",
    "--deny": "deny",
    "--add-dir": "add_dirs",
    "--mcp-config": "mcp_config",
    "--set": "settings",
}
_NUMBERS = {
    "--max-turns": "max_turns",
    "--max-tokens": "max_tokens",
    "--max-cost": "max_cost",
    "--max-time": "max_time",
}
_SWITCHES = {"--no-session": "no_session", "--trust": "trust", "--plain": "plain"}
"""Options by what follows them, each with its field of `Options`."""
_TAKES_VALUE = {*_VALUES, *_LISTS, *_NUMBERS, "--system-prompt-file", "--append-system-prompt-file"}
_FORMATS = ("text", "json", "stream-json")
_WHOLE, _DECIMAL = re.compile(r"0|[1-9][0-9]{0,8}"), re.compile(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=.*)?")


def plain_options(arguments: Sequence[str]) -> Options | None:
    """The options of a run, of arguments that need no parser; None for all others, and for whatever may be wrong."""
    given: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-c", "--continue") or argument in _SWITCHES:
            field, value = _SWITCHES.get(argument, "session"), True if argument in _SWITCHES else LAST
        elif argument in _TAKES_VALUE:
            field, value = _valued(argument, next(rest, ""))
        else:
            return None
        if not field or (field in given and argument not in _LISTS):
            return None
        given[field] = (*given.get(field, ()), value) if argument in _LISTS else value
    if given.keys() >= {"session", "session_id"}:
        return None
    return Options(print="prompt" in given, **given)


def _valued(option: str, value: str) -> tuple[str, Any]:
    """The field that an option sets, and its value; no field where the parser is to judge it."""
    field = _VALUES.get(option) or _LISTS.get(option, "")
    if not value or value.startswith("-") or (field == "output_format" and value not in _FORMATS):
        return "", None
    if option in _NUMBERS:
        whole = option in ("--max-turns", "--max-tokens")
        fits = (_WHOLE if whole else _DECIMAL).fullmatch(value)
        return (_NUMBERS[option], int(value) if whole else float(value)) if fits else ("", None)
    return field, value


def prepared(arguments: list[str], commands: Set[str]) -> list[str]:
    """The arguments with their command in front. Raises UsageError for a command that is misspelt."""
    _refuse_misspelt(arguments, commands - {"run"})
    return _with_command(_spelled_out(arguments), commands)


def _refuse_misspelt(arguments: list[str], commands: Set[str]) -> None:
    """Raise UsageError for a single word one letter off a command: as a prompt it would start a session that costs money."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    if len(words) != 1 or words[0] != arguments[0] or not words[0].isalpha() or words[0] in commands:
        return
    from agentcli.core.text.near import one_letter_off

    near = [command for command in sorted(commands) if one_letter_off(words[0], command)]
    if near:
        raise UsageError(
            f"There is no command {words[0]!r}. Did you mean `agentcli {near[0]}`? "
            f"To send it as a prompt: agentcli -- {words[0]}"
        )


def _spelled_out(arguments: list[str]) -> list[str]:
    """`-p` without a text after it means: print, the prompt comes from elsewhere. Click has no optional values."""
    spelled: list[str] = []
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for place, argument in enumerate(options):
        following = arguments[place + 1] if place + 1 < len(arguments) else None
        if argument in ("-p", "--print") and (following is None or _OPTION.fullmatch(following)):
            spelled.append("--print")
        elif argument == "--print":
            spelled.append("-p")
        else:
            spelled.append(argument)
    return spelled + arguments[len(options) :]


def _with_command(arguments: list[str], commands: Set[str]) -> list[str]:
    """The arguments with `run` put in front where they name no command: then the first word is a prompt."""
    if arguments in (["-h"], ["--help"], ["--version"], ["-V"]):
        return arguments
    place = 0
    while place < len(arguments):
        argument = arguments[place]
        if argument == "--" or not argument.startswith("-") or argument == "-":
            break
        place += 2 if argument in _TAKES_VALUE else 1
    if place < len(arguments) and arguments[place] in commands:
        return [arguments[place], *arguments[:place], *arguments[place + 1 :]]
    return ["run", *arguments]
