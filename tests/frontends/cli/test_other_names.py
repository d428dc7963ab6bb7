"""Options and commands of other agents do the same thing here, or are answered with what there is."""

from __future__ import annotations

import pytest

from agentcli.frontends.cli import other_names
from agentcli.frontends.cli.arguments import OWN
from agentcli.frontends.cli.other_names import VALUE, instead_of, translated
from agentcli.frontends.cli.parser import COMMANDS, invoke, whole_group
from agentcli.program.options import Options
from tests.tables import each_row


@each_row(
    ("given", "ours"),
    [
        ("--yolo", "--mode yolo"),
        ("-p hi --permission-mode acceptEdits", "-p hi --mode auto-edit"),
        ("--approval-mode=auto_edit hi", "--mode auto-edit hi"),
        ("--allowedTools Bash(git:*),Edit -p hi", "--allow Bash(git:*) --allow Edit -p hi"),
        ("-p hi --resume abc", "resume abc -p hi"),
        ("-r latest", "resume --last"),
        ("-r", "resume"),
        ("--resume --mode plan", "resume --mode plan"),
        ("resume abc --yolo", "resume abc --mode yolo"),
        ("exec hi", "-p hi"),
        ("exec --full-auto hi", "-p --mode auto hi"),
        ("--list-sessions", "sessions list"),
        ("export abc --out x", "sessions export abc --out x"),
        ("fork abc", "resume --fork abc"),
        ("upgrade", "update"),
        ("--prompt-interactive hi", "hi"),
        ("--prompt-interactive default", "default"),
        ("--thinking off -p hi", "--effort minimal -p hi"),
        ("--delete-session none", "sessions delete none"),
        ("-C --yolo hi", "-C --yolo hi"),
        ("-- --yolo", "-- --yolo"),
        ("sessions list --resume", "sessions list --resume"),
        ("exec", "exec"),
        ("--permission-mode", "--permission-mode"),
        ("hi there", "hi there"),
    ],
)
def test_a_name_of_another_agent_means_the_same_here(given: str, ours: str) -> None:
    arguments, notes = translated(given.split(), COMMANDS)
    assert " ".join(arguments) == ours
    assert bool(notes) is (given != ours)


def test_each_name_is_said_once_with_ours() -> None:
    _, notes = translated(["exec", "--yolo", "hi", "--cd", "x"], COMMANDS)
    assert notes == ["`exec` is -p here.", "--yolo is --mode yolo here.", "--cd is --cwd here."]
    assert translated(["--resume"], COMMANDS)[1] == ["--resume is `agentcli resume` here."]


def test_no_name_of_ours_is_taken_and_each_meaning_is_ours() -> None:
    groups = whole_group().commands
    for name, meaning in other_names._SAME.items():
        assert name not in OWN
        first = meaning.split()[0]
        assert first in {*OWN, *groups, VALUE, "--version"}, name
    for word in other_names._COMMANDS:
        assert word not in COMMANDS - {"run"}
        assert other_names.command_for(word).split()[0] in {*OWN, *groups}
    assert not {name for name in other_names._INSTEAD if name in OWN or name in other_names._SAME}


def test_a_translated_line_is_read_as_options() -> None:
    options = invoke(translated(["exec", "--full-auto", "--cd", "x", "fix it"], COMMANDS)[0])
    assert isinstance(options, Options)
    assert (options.prompt, options.print, options.mode, options.cwd) == ("fix it", True, "auto", "x")


@pytest.mark.parametrize("name", ["--image", "--sandbox=read-only", "--verbose"])
def test_an_option_without_the_same_here_is_answered_with_what_there_is(name: str) -> None:
    assert instead_of(name)
