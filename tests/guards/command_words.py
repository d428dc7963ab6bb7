"""Words taken for commands: names of other agents' commands are answered; what people really wrote as a prompt is sent.

Stopped: the word is answered, or is a command of ours. Hindered: the prompt is answered, so `--` is needed to send it.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.core.errors import UsageError
from agentcli.frontends.cli.arguments import lone_word
from agentcli.frontends.cli.other_commands import refuse_other
from agentcli.frontends.cli.parser import whole_group
from tests.guards import Figures, material


def figures() -> Iterator[Figures]:
    """Measure each program's commands, and each kind of prompt."""
    found = material("command_words")
    commands = {*whole_group().commands}
    for program, words in found["bad"].items():
        stopped = [word for word in words if not _is_sent(word, commands)]
        yield Figures(f"commands of {program}", len(stopped), len(words), 0, 0, "its public documentation or source")
    for kind, prompts in found["good"].items():
        hindered = [prompt for prompt in prompts if not _is_sent(prompt, commands)]
        yield Figures(
            kind,
            0,
            0,
            len(hindered),
            len(prompts),
            "recorded sessions of two public repositories, all words but the first made up",
        )


def _is_sent(text: str, commands: set[str]) -> bool:
    """Whether `agentcli TEXT` would start a session with this prompt."""
    word = lone_word([text], commands)
    try:
        refuse_other(word, commands)
    except UsageError:
        return False
    return word == text
