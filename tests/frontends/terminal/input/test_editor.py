"""The editor at a terminal of its own, without the program around it."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import Callable
from typing import Any

from agentcli.frontends.terminal.input.completion import Menu
from agentcli.frontends.terminal.input.editor import Editor
from agentcli.frontends.terminal.input.keys import bind

UP, DOWN = "\x1b[A", "\x1b[B"


class Sent:
    """Input handler that keeps the prompts it is sent."""

    working, asking = False, ""

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
