"""One definition of a slash command, and what each front end makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentcli.core.errors import InputError, UsageError
from agentcli.core.event import Emit, Event, Noticed, TurnEnded
from agentcli.frontends.commands.outputs import Answer, Drawn, framed, perform
from agentcli.frontends.terminal.style import MUTE, Look
from agentcli.program.commands import Acted, Context, Framed, Output, OutputCommand, Said, Sent, Work, command
from agentcli.providers.scripted.model import say
from tests.agent.open_session import open_session
from tests.frontends.commands.as_turn import events_of
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS


@command("Work", values=("", "all"))
async def greet(context: Context, whom: str) -> AsyncIterator[Output]:
    """Greet somebody: /greet [all]"""
    yield Drawn(
        [f"Hello {whom or 'you'} from {context.session.core.model.id}"], draw=lambda columns, _: [f"drawn in {columns}"]
    )
    yield Said(["Bye."])


@command("Work")
async def mend(context: Context, _: str) -> AsyncIterator[Output]:
    """Mend a file: /mend"""
    yield Acted([Noticed("Mended.")], "Mended")


@command("Work")
async def ask(_: Context, text: str) -> AsyncIterator[Output]:
    """Ask the model: /ask TEXT"""
    yield Work("Thinking", _thinking)
    yield Sent(text)


async def _thinking(_: asyncio.Event, emit: Emit) -> None:
    await emit(Noticed("Thought."))


def turn(folder: Path, command: OutputCommand, argument: str = "") -> list[Event]:
    """The events of a command in a front end without a terminal; the text of the TurnEnded is the answer."""

    def text_of(answer: Answer) -> str:
        return "|".join((*answer.lines, *answer.notices, answer.window.partition(" has ")[0]))

    async def events() -> list[Event]:
        session = open_session(folder, [say("42")])
        outputs = command.yields(Context(session, ScriptedContext(session=session).program), argument)
        return await events_of(outputs, session, text_of)

    return asyncio.run(events())


def test_a_report_is_drawn_at_a_terminal_and_is_the_answer_elsewhere(tmp_path: Path) -> None:
    context = ScriptedContext(session=open_session(tmp_path, [say("ok")]))
    asyncio.run(perform(greet, context, ""))
    assert context.output[-2:] == [f"drawn in {context.columns}", "Bye."]
    assert turn(tmp_path, greet, "all") == [TurnEnded("done", f"Hello all from {context.session.core.model.id}|Bye.|")]


def test_an_act_answers_with_its_messages_and_the_window(tmp_path: Path) -> None:
    assert turn(tmp_path, mend) == [Noticed("Mended."), TurnEnded("done", "Mended.|The context")]


def test_a_prompt_for_the_model_ends_with_its_turn(tmp_path: Path) -> None:
    first, *_, last = turn(tmp_path, ask, "What is it?")
    assert first == Noticed("Thought.")
    assert isinstance(last, TurnEnded)
    assert last.text == "42"


def test_an_argument_that_is_none_of_the_few_is_refused_with_those(tmp_path: Path) -> None:
    greet.check("all", "greet")
    with pytest.raises(UsageError, match=r"^Use /greet, or /greet all\.$"):
        greet.check("nobody", "greet")
    with pytest.raises(UsageError, match=r"^/mended takes no argument\. See /help mend\.$"):
        mend.check("x", "mended")


def test_what_needs_a_terminal_says_so_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/permissions remove works only in the terminal"):
        turn(tmp_path, COMMANDS.everywhere["permissions"], "remove x")


def test_help_lists_elsewhere_what_works_there(tmp_path: Path) -> None:
    [ended] = turn(tmp_path, COMMANDS.everywhere["help"])
    assert isinstance(ended, TurnEnded)
    assert all(f"/{name} " in ended.text for name in COMMANDS.everywhere.keys() & COMMANDS.listed.keys())
    assert "/editor" not in ended.text
    [ended] = turn(tmp_path, COMMANDS.everywhere["help"], "compact")
    assert isinstance(ended, TurnEnded)
    assert ended.text.startswith("Replace the older part of the conversation with a summary: /compress")
    [ended] = turn(tmp_path, COMMANDS.everywhere["help"], "scripting")
    assert isinstance(ended, TurnEnded)
    assert "--max-cost" in ended.text


def test_text_in_a_frame_has_nothing_that_a_terminal_would_obey() -> None:
    output = Framed((), True, "Aside", "\x1b]0;owned\a\x1b[2Jred", ("\x1b[31m",), "$0")
    assert "\x1b" not in "".join(framed(output, 40, Look(MUTE)))
