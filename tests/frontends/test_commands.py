from __future__ import annotations

import asyncio
from typing import Any, cast, get_args

import pytest

from agentcli.core.errors import ConfigError, UsageError
from agentcli.frontends.commands.base import Queued
from agentcli.frontends.commands.registry import by_use, grouped
from agentcli.frontends.terminal.input.keys import KEYS, chosen, help_lines, help_rows
from agentcli.frontends.terminal.style import MUTE
from agentcli.program.commands import Group
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS
from tests.tables import each_row

PROMISED = [
    "help",
    "compress",
    "uncompress",
    "prune",
    "context",
    "pin",
    "unpin",
    "undo",
    "redo",
    "rewind",
    "fork",
    "resume",
    "sessions",
    "rename",
    "new",
    "clear",
    "model",
    "mode",
    "permissions",
    "tools",
    "todo",
    "cost",
    "stats",
    "budget",
    "memory",
    "init",
    "diff",
    "copy",
    "export",
    "theme",
    "vim",
    "editor",
    "doctor",
    "quit",
]


@each_row("name", PROMISED)
def test_every_promised_command_is_there_with_a_line_of_help_and_its_usage(name: str) -> None:
    found = COMMANDS.find(name)
    assert len(found.summary) > 10
    assert found.usage.startswith(f"/{name}")


@each_row(
    ("typo", "near"), [("compres", "/compress"), ("modle", "/model"), ("qiut", "/quit"), ("sesions", "/sessions"), ("hlep", "/help"), ("HELP", "/help")]
)  # fmt: skip
def test_a_typo_names_what_was_probably_meant(typo: str, near: str) -> None:
    with pytest.raises(UsageError, match=near):
        COMMANDS.find(typo)


def test_what_is_like_nothing_points_to_the_list() -> None:
    with pytest.raises(UsageError, match="Type /help for the list"):
        COMMANDS.find("zzzzzz")


@each_row(
    ("line", "meant"),
    [
        ("/help", True),
        ("/model x/y", True),
        ("/usr/bin is empty", False),
        ("a /help", False),
        ("/", True),
        ("  /help", True),
        ("/compress\nthe tests", True),
    ],
)
def test_a_path_is_no_command(line: str, meant: bool) -> None:
    assert COMMANDS.is_command(line, ScriptedContext().session) is meant


def test_every_key_has_a_line_of_help() -> None:
    listed = " ".join(key for key, _ in help_lines(KEYS))
    for key in (
        "Ctrl-R",
        "Ctrl-O",
        "Ctrl-T",
        "Ctrl-G",
        "Ctrl-B",
        "Ctrl-L",
        "Ctrl-Z",
        "Ctrl-C",
        "Ctrl-D",
        "Ctrl-J",
        "Alt-Enter",
        "Shift-Tab",
        "Tab",
        "Esc",
        "Up",
        "@",
        "!",
        "/",
    ):
        assert key in listed


def test_keys_can_be_chosen_and_are_listed_as_chosen() -> None:
    keys = chosen({"search": "f5", "output": "escape o"})
    listed = dict(help_lines(keys))
    assert listed["F5"] == "search earlier prompts"
    assert listed["Alt-O"].startswith("transcript")
    assert keys["editor"] == "c-g"


@pytest.mark.parametrize("wrong", [{"serach": "c-r"}, {"search": "ctrl+r"}])
def test_a_key_that_does_not_exist_is_told(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        chosen(wrong)


@each_row("line", ["/undo 3", "/clear now", "/vim\tnormal", "/uncompress x"])
def test_what_takes_no_argument_says_so_and_does_nothing(line: str) -> None:
    with pytest.raises(UsageError, match="takes no argument"):
        asyncio.run(COMMANDS.run(cast(Any, None), line))


@each_row(
    ("line", "at_once"),
    [("/context", True), ("/mode plan", True), ("/exit", True), ("/nosuch", True), ("/", True), ("/compress", False), ("/model x", False), ("/new", False)],
)  # fmt: skip
def test_what_changes_nothing_under_a_running_turn_does_not_wait_for_its_end(line: str, at_once: bool) -> None:
    assert COMMANDS.acts_at_once(line) is at_once


def test_a_command_is_found_by_the_names_that_other_programs_give_it() -> None:
    assert COMMANDS.find("compact") is COMMANDS.find("compress")
    assert not {alias for one in COMMANDS.all.values() for alias in one.aliases} & set(COMMANDS.all)


@each_row(
    ("keys", "told"),
    [
        ({"search": "c-o"}, "ui.keys.search and ui.keys.output are both c-o"),
        ({"search": "f5", "output": "f5"}, "are both f5"),
        ({"search": "enter"}, "needed for typing"),
        ({"search": "c-m"}, "needed for typing"),
        ({"search": "tab"}, "needed for typing"),
        ({"search": "x"}, "needed for typing"),
    ],
)
def test_a_key_with_two_meanings_is_reported(keys: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        chosen(keys)


def test_two_acts_may_change_their_keys_with_each_other() -> None:
    assert chosen({"search": "c-o", "output": "c-r"})["output"] == "c-r"


def test_what_a_key_does_hangs_beside_it_on_a_narrow_screen() -> None:
    rows = help_rows(chosen({}), 39, MUTE)
    assert all(len(row) <= 39 for row in rows)
    at = rows.index("Enter            send; while it works: ")
    assert rows[at + 1].startswith(" " * 17 + "into the ")


def test_enter_and_tab_may_change_their_meaning_while_it_works() -> None:
    turned = dict(help_lines(chosen({"queue": "enter"})))
    assert "queue" in turned["Enter"]
    assert "running turn" in turned["Tab"]
    with pytest.raises(ConfigError, match="is needed for typing"):
        chosen({"search": "enter"})


def test_the_queue_is_edited_reordered_and_deleted() -> None:
    given = [Queued("now", True), Queued("one"), Queued("two")]

    def after(*answers: int, argument: str = "") -> ScriptedContext:
        ctx = ScriptedContext(*answers)
        ctx.queued = list(given)
        asyncio.run(COMMANDS.run(cast(Any, ctx), f"/queue {argument}".strip()))
        return ctx

    assert after(2, 1).queued == [given[0], given[2], given[1]]
    assert after(1, 2).queued == [given[0], given[2], given[1]]
    assert after(1, 1).queued == given  # what goes with the next result stays before the rest
    assert after(0, 3).queued == given[1:]
    assert after(2, 0).drafted == "two"
    assert after(argument="clear").output == ["Deleted 3 from the queue."]
    assert after(0, 3, 0, 3, 0, 3).output == ["Nothing is queued."]


def test_help_has_no_line_breaks_within_a_paragraph() -> None:
    for one in COMMANDS.all.values():
        assert not any("\n" in paragraph for paragraph in one.paragraphs)
    assert COMMANDS.all["rewind"].paragraphs[1].endswith("The prompt returns to the input with the conversation.")


def test_the_sessions_of_subagents_are_not_offered_to_be_resumed() -> None:
    context = ScriptedContext()
    asyncio.run(COMMANDS.run(context, "/resume"))
    assert "Earlier work 29" in context.asked
    assert "A subagent's" not in context.asked


def test_help_lists_commands_by_group_and_the_menu_begins_with_the_most_used() -> None:
    each = COMMANDS.all.values()
    assert [*grouped(each)] == [*get_args(Group)]
    assert [one for group in grouped(each).values() for one in group] == [*each]
    assert [one.name for one in by_use(each)][:5] == ["help", "model", "resume", "clear", "context"]
    assert sorted(by_use(each), key=id) == sorted(each, key=id)


def test_clear_says_what_it_did() -> None:
    ctx = ScriptedContext()
    asyncio.run(COMMANDS.run(cast(Any, ctx), "/clear"))
    assert ctx.output[-1].startswith("New session.")
