"""Registry of slash commands, and /help itself."""

from __future__ import annotations

from typing import get_args

from agentcli.frontends.commands.registry import built_in_commands, by_use, grouped
from agentcli.frontends.features import FEATURES
from agentcli.program.commands import Group
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS, type_


def test_a_name_of_another_agent_does_the_thing_and_says_our_name_once() -> None:
    context = ScriptedContext()
    commands = built_in_commands(FEATURES)
    assert type_(context, "/hotkeys")[0] == "/hotkeys is /help keys here."
    assert type_(context, "/hotkeys") == type_(context, "/help keys")
    assert commands.acts_at_once("/hotkeys")
    assert not commands.acts_at_once("/thinking high")


def test_help_lists_commands_by_group_and_the_menu_begins_with_the_most_used() -> None:
    each = COMMANDS.all.values()
    assert [*grouped(each)] == [*get_args(Group)]
    assert [one for group in grouped(each).values() for one in group] == [*each]
    assert [one.name for one in by_use(each)][:5] == ["help", "model", "resume", "clear", "context"]
    assert sorted(by_use(each), key=id) == sorted(each, key=id)


def test_at_most_forty_commands_are_listed_and_each_former_name_answers_as_a_part_of_one() -> None:
    commands = built_in_commands(FEATURES)
    assert len(commands.listed) <= 40
    former = {name: one for name, one in commands.all.items() if one.former}
    assert len(former) > 20
    for name, one in former.items():
        meant = commands.meant(f"/{name}", here=True)
        assert (one.now.split()[0] in commands.listed, meant.told) == (True, f"/{name} is now /{one.now}."), name
