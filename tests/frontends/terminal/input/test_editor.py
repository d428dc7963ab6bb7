"""The editor at a terminal of its own, without the program around it."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import Callable
from typing import Any

from prompt_toolkit.document import Document

from agentcli.frontends.terminal.input.completion import Menu
from agentcli.frontends.terminal.input.editor import ClusterBuffer, Editor
from agentcli.frontends.terminal.input.keys import bind
from tests.tables import each_row

UP, DOWN = "\x1b[A", "\x1b[B"


class Sent:
    """Input handler that keeps the prompts it is sent."""

    working, asking, tabbed = False, "", False

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def submit(self, text: str) -> None:
        self.prompts.append(text)

    def recall(self) -> None: ...

    def complete(self, before: str) -> Menu:
        return Menu()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the editor sets no event
            await asyncio.sleep(0.001)


def play(before: list[str], *steps: tuple[str, str]) -> list[str]:
    """Type each text and wait until the draft is the one that goes with it; the prompts that were sent."""

    async def story() -> list[str]:
        handler: Any = Sent()
        master, slave = pty.openpty()
        with os.fdopen(slave) as stdin:
            editor = Editor(handler, stdin)
            bind(editor)
            running = asyncio.create_task(editor.run())
            await until(lambda: editor.application.is_running)
            editor.remember(before)
            for typed, draft in steps:
                sent = len(handler.prompts) + typed.endswith("\r")
                os.write(master, typed.encode())
                await until(lambda: editor.draft.text == draft and len(handler.prompts) == sent)  # noqa: B023 - awaited
            editor.leave(0)
            await running
        os.close(master)
        return handler.prompts

    return asyncio.run(story())


def test_up_recalls_the_prompts_of_this_session_and_of_earlier_ones_after_each_that_is_sent() -> None:
    steps = [
        ("one\r", ""),
        (UP, "one"),
        ("\x15", ""),
        ("two\r", ""),
        (UP, "two"),
        (UP, "one"),
        (UP, "earlier"),
        (DOWN, "one"),
    ]
    assert play(["earlier"], *steps) == ["one", "two"]


LETTERS = ["a", "é", "e\u0301", "👍🏽", "👨‍👩‍👧", "🇩🇪", "1️⃣", "한", "\u1112\u1161\u11ab", "नि"]


@each_row("letter", LETTERS)
def test_backspace_and_delete_take_the_whole_letter(letter: str) -> None:
    buffer = ClusterBuffer(document=Document(f"x{letter}y", 1 + len(letter)))
    buffer.delete_before_cursor()
    assert (buffer.text, buffer.cursor_position) == ("xy", 1)
    buffer.document = Document(f"x{letter}y", 1)
    buffer.delete()
    assert (buffer.text, buffer.cursor_position) == ("xy", 1)


@each_row("letter", LETTERS)
def test_the_cursor_steps_over_the_whole_letter(letter: str) -> None:
    buffer = ClusterBuffer(document=Document(f"x{letter}y", 1 + len(letter)))
    buffer.cursor_position += buffer.document.get_cursor_left_position()
    assert buffer.cursor_position == 1
    buffer.cursor_position += buffer.document.get_cursor_right_position()
    assert buffer.cursor_position == 1 + len(letter)


def test_a_number_of_characters_is_deleted_as_given() -> None:
    buffer = ClusterBuffer(document=Document("@src/app", 8))
    assert buffer.delete_before_cursor(4) == "/app"
