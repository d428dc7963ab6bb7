from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from agentcli.core.errors import UsageError
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
    assert found.usage.startswith(f"/{found.now}")
    assert found.former == name or name in (found.now, *found.aliases)


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


def test_help_has_no_line_breaks_within_a_paragraph() -> None:
    for one in COMMANDS.all.values():
        assert not any("\n" in paragraph for paragraph in one.paragraphs)
    assert COMMANDS.all["rewind"].paragraphs[1].endswith("The prompt returns to the input with the conversation.")


def test_the_sessions_of_subagents_are_not_offered_to_be_resumed() -> None:
    context = ScriptedContext()
    asyncio.run(COMMANDS.run(context, "/resume"))
    assert "Earlier work 29" in context.asked
    assert "A subagent's" not in context.asked


def test_clear_says_what_it_did() -> None:
    ctx = ScriptedContext()
    asyncio.run(COMMANDS.run(cast(Any, ctx), "/clear"))
    assert ctx.output[-1].startswith("New session.")
