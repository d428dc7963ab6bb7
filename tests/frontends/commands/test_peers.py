"""Names of slash commands in other coding agents."""

from __future__ import annotations

import pytest

from agentcli.frontends.commands.peers import INSTEAD, SAME
from agentcli.frontends.commands.unknown import no_command
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS, type_


def test_a_name_is_of_one_kind_and_leads_to_a_command_of_ours() -> None:
    assert not SAME.keys() & INSTEAD.keys()
    for name, own in SAME.items():
        command = own.split()[0]
        assert COMMANDS.find(name) is COMMANDS.all[command]
        assert COMMANDS.meant(f"/{name}", here=True).command.now in (command, own)
    for name in (*SAME, *INSTEAD):
        assert COMMANDS.known_as(name) not in COMMANDS.all, f"/{name} is ours"


def test_plan_switches_the_mode_and_takes_no_prompt() -> None:
    context = ScriptedContext()
    assert type_(context, "/plan")[0] == "/plan is /mode plan here."
    assert context.session.core.approval.mode == "plan"
    assert "Send the prompt after it" in type_(context, "/plan the release")[-1]


@pytest.mark.parametrize("name", INSTEAD)
def test_what_does_not_exist_names_what_there_is(name: str) -> None:
    assert type_(ScriptedContext(), f"/{name}") == [f"/{name} is not a command of agentcli. {INSTEAD[name]}"]


def test_a_run_without_a_terminal_names_our_command() -> None:
    assert str(no_command("quota", True, ())).startswith("Unknown command /quota. It is /usage here. Put")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("exprot", "Did you mean /export?"),
        ("plugns", "Did you mean /plugins?"),
        ("modle", "Did you mean /model or /mode?"),
        ("foo", "Type /help for the list."),
        ("security", "Type /help for the list."),
    ],
)
def test_an_unknown_command_offers_names_that_are_near_or_none(typed: str, told: str) -> None:
    assert type_(ScriptedContext(), f"/{typed}") == [f"Unknown command /{typed}. {told}"]
