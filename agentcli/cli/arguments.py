"""Arguments as typed, rewritten for the parser: it wants a command in front and knows no option with an optional value."""

from __future__ import annotations

import re
from collections.abc import Set

from agentcli.core.errors import UsageError
from agentcli.core.text.near import one_letter_off

_TAKES_VALUE = {
    *("-p", "--prompt", "-m", "--model", "--mode", "--allow", "--deny", "-C", "--cwd", "--add-dir", "-o"),
    *("--output-format", "--max-turns", "--max-cost", "--max-tokens", "--max-time", "--system-prompt"),
    *("--system-prompt-file", "--agent", "--append-system-prompt", "--append-system-prompt-file", "--set"),
    *("--mcp-config", "--session-id"),
}
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=.*)?")


def prepared(arguments: list[str], commands: Set[str]) -> list[str]:
    """The arguments with their command in front. Raises UsageError for a command that is misspelt."""
    _refuse_misspelt(arguments, commands - {"run"})
    return _with_command(_spelled_out(arguments), commands)


def _refuse_misspelt(arguments: list[str], commands: Set[str]) -> None:
    """Raise UsageError for a single word one letter off a command: as a prompt it would start a session that costs money."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    if len(words) != 1 or words[0] != arguments[0] or not words[0].isalpha() or words[0] in commands:
        return
    near = [command for command in sorted(commands) if one_letter_off(words[0], command)]
    if near:
        raise UsageError(
            f"There is no command {words[0]!r}. Did you mean `agentcli {near[0]}`? "
            f"To send it as a prompt: agentcli -- {words[0]}"
        )


def _spelled_out(arguments: list[str]) -> list[str]:
    """`-p` without a text after it means: print, the prompt comes from elsewhere. Click has no optional values."""
    spelled: list[str] = []
    for place, argument in enumerate(arguments):
        following = arguments[place + 1] if place + 1 < len(arguments) else None
        if argument in ("-p", "--print") and (following is None or _OPTION.fullmatch(following)):
            spelled.append("--print")
        elif argument == "--print":
            spelled.append("-p")
        else:
            spelled.append(argument)
    return spelled


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
