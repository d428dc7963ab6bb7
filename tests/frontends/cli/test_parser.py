"""Commands of a group are read as far as a command line needs it."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from typing import Annotated

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.frontends.cli.parser import invoke, reduced, whole_group
from agentcli.program.command_line.flags import taking
from agentcli.system.cells import ESCAPE, width
from tests.program.command_line.test_printing import Screen
from tests.tables import each_row


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags of a command."""

    size: Annotated[int, typer.Option(help="its size")] = 3
    names: Annotated[list[str] | None, typer.Option("--name", help="its names")] = None


def test_only_the_command_that_is_asked_for_has_its_parameters_read() -> None:
    app = typer.Typer()

    @app.command("first")
    @taking(Flags)
    def first(asked: Flags, place: Annotated[str, typer.Argument()] = "here") -> str:
        """Do the first thing."""
        return f"{asked.size} {asked.names} {place}"

    @app.command("second")
    def second(twice: Annotated[bool, typer.Option()] = False) -> bool:
        """Do the second thing."""
        return twice

    assert "second" in CliRunner().invoke(reduced(app, ["--help"]), ["--help"]).output
    assert "__signature__" not in vars(first)
    assert inspect.get_annotations(second)["return"] == "bool"
    group = reduced(app, ["second"])
    assert [command.name for command in group.registered_commands] == ["second"]
    assert inspect.get_annotations(second)["return"] is bool
    assert "__signature__" not in vars(first)
    given = ["--size", "5", "--name", "a", "--name", "b", "there"]
    asked = typer.main.get_command(reduced(app, ["first"])).main(given, standalone_mode=False)
    assert asked == "5 ['a', 'b'] there"
    assert first.__doc__ == "Do the first thing."


@pytest.mark.parametrize("words", [["help"], ["--help"]])
def test_the_first_page_of_the_help_wraps_at_words(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    with contextlib.suppress(SystemExit):
        invoke(words)
    lines = ESCAPE.sub("", screen.getvalue()).splitlines()
    assert len(lines) > 20
    assert max(map(width, lines)) <= 80


@pytest.mark.parametrize(
    ("words", "answer"),
    [("keyz", "Did you mean keys"), ("sessions lst", r"No such command 'lst'\. Did you mean list\?")],
)
def test_help_on_what_is_neither_topic_nor_command_names_the_nearest(words: str, answer: str) -> None:
    with pytest.raises(AgentError, match=answer):
        invoke(["help", *words.split()])


@each_row(
    ("words", "answer"),
    [
        (["--modle", "x"], "No such option: --modle. Did you mean --model or --mode? See `agentcli --help`."),
        (
            ["--print-timeout", "5m"],
            "No such option: --print-timeout. `--max-time SECONDS` sets a limit. See `agentcli --help`.",
        ),
        (["--mdoe", "x"], "No such option: --mdoe. Did you mean --mode? See `agentcli --help`."),
        (["--foo"], "No such option: --foo. See `agentcli --help`."),
        (
            ["stats", "--by", "dya"],
            "Invalid value for '--by': 'dya' is not one of 'day', 'project', 'model', 'tool', 'account'. "
            "Did you mean day? See `agentcli stats show --help`.",
        ),
        (["sessions", "list", "--repo"], "No such option: --repo. See `agentcli sessions list --help`."),
        (["sessions", "list", "-z"], "No such option: -z. See `agentcli sessions list --help`."),
        (
            ["permissions", "explain", "--set", "a=b"],
            "No such option: --set. See `agentcli permissions explain --help`.",
        ),
        (
            ["permissions", "explain", "ls", "--allow"],
            "Option '--allow' requires an argument. See `agentcli permissions explain --help`.",
        ),
        (["-p", "hi", "--model"], "Option '--model' requires an argument. See `agentcli --help`."),
    ],
)
def test_a_wrong_option_is_answered_with_those_that_it_is_a_misspelling_of_and_the_help_of_its_command(
    words: list[str], answer: str
) -> None:
    with pytest.raises(AgentError) as refused:
        invoke(words)
    assert str(refused.value) == answer


def test_the_help_groups_the_commands_and_cuts_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    groups = ["Sessions", "Models and money", "Your project", "Many tasks", "This program"]
    whole = whole_group()
    for command in ("", *(name for name, one in whole.commands.items() if isinstance(one, TyperGroup))):
        invoke([command, "--help"] if command else ["--help"])
        shown = capsys.readouterr().out
        assert not [line for line in shown.splitlines() if re.match(r"  [a-z-]+ .*\.\.\.$", line)], command
        if not command:
            assert re.findall(r"^([A-Z][a-z ]+):$", shown, re.MULTILINE)[2:] == groups
            assert 'git diff | agentcli -p "review this"' in shown


@pytest.mark.parametrize(("group", "option"), [("bench", "--repeat N"), ("stats", "--since"), ("serve", "--port")])
def test_the_help_of_a_group_shows_the_options_that_it_takes_without_a_command(
    group: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([group, "--help"]) == 0
    assert option in capsys.readouterr().out
