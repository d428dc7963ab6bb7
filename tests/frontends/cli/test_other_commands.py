"""Words that name a command of something else are answered; all other words are prompts, and every word can be sent."""

from __future__ import annotations

import pytest

from agentcli.core.errors import UsageError
from agentcli.frontends.cli.arguments import lone_word, prepared
from agentcli.frontends.cli.other_commands import refuse_other
from agentcli.frontends.cli.parser import whole_group
from tests.tables import each_row

COMMANDS = {*whole_group().commands}


def parsed(*words: str) -> list[str]:
    if word := lone_word(words, COMMANDS):
        refuse_other(word, COMMANDS)
    return prepared([*words], COMMANDS)


@each_row(
    ("word", "answer"),
    [
        ("login", "`agentcli auth set` stores a key"),
        ("upgrade", "Here it is `agentcli update`"),
        ("exec", "`agentcli -p PROMPT` answers one prompt."),
        ("run", "`agentcli -p PROMPT` answers one prompt."),
        ("review", "agentcli /review."),
        ("export", "Here it is `agentcli sessions export`."),
        ("what-if", "'what-if' is a command of a group: `agentcli stats what-if`"),
        ("setup-token", "`agentcli auth set` stores a key"),
        ("make-coffee", "Unknown command 'make-coffee'. `agentcli --help` lists the commands."),
        ("sesions", "Did you mean `agentcli sessions`?"),
    ],
)
@pytest.mark.parametrize("options", [(), ("-m", "opus"), ("--mode", "plan", "--plain")])
def test_a_command_of_something_else_is_answered_with_what_to_do(
    word: str, answer: str, options: tuple[str, ...]
) -> None:
    for arguments in ((*options, word), (word, *options)):
        with pytest.raises(UsageError) as refused:
            parsed(*arguments)
        assert answer in str(refused.value)
        assert str(refused.value).endswith(f" To send it as a prompt: agentcli -- {word}")


@each_row(
    "words", [("--", "login"), ("-p", "login"), ("login please",), ("continue",), ("hi",), ("Login",), ("log.in",)]
)
def test_what_is_meant_as_a_prompt_is_sent(words: tuple[str, ...]) -> None:
    assert parsed(*words) == ["run", *words]


def test_every_command_of_ours_is_still_a_command() -> None:
    for name in COMMANDS - {"run"}:
        assert parsed(name)[0] == name
