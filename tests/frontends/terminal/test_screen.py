"""A screen whose size changes while it is laid out."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from agentcli.frontends.terminal.paint import Painter
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.pieces import Printed
from agentcli.frontends.terminal.screen import Screen
from agentcli.frontends.terminal.style import PLAIN, Look


class ShrinkingDevice:
    """A terminal that changes its size after it has been asked for it `asked` times."""

    def __init__(self, asked: int) -> None:
        self.written: list[str] = []
        self.painter = Painter(self.written.append)
        self.editor = SimpleNamespace(edit=Edit())
        self.keys_wait = False
        self._left = asked

    @property
    def size(self) -> Size:
        self._left -= 1
        return Size(80, 24) if self._left >= 0 else Size(40, 24)


def test_a_piece_laid_out_for_another_size_is_printed_later_and_once() -> None:
    async def run(asked: int) -> int:
        device: Any = ShrinkingDevice(asked)
        screen = Screen(device, Look(PLAIN))
        screen.print(Printed(("the piece",)))
        screen.tick()
        before = "".join(device.written).count("the piece")
        screen.flush()
        assert "".join(device.written).count("the piece") == 1
        return before

    printed = [asyncio.run(run(asked)) for asked in range(1, 6)]
    assert printed[0] == 0
    assert printed[-1] == 1


def test_keys_that_wait_come_before_the_pieces_still_to_be_printed() -> None:
    async def run() -> list[int]:
        device: Any = ShrinkingDevice(1_000)
        screen = Screen(device, Look(PLAIN))
        device.keys_wait = True
        screen.print(*(Printed((f"piece {n}",)) for n in range(3)))
        printed = []
        for _ in range(3):
            screen.tick()
            printed.append("".join(device.written).count("piece"))
        return printed

    assert asyncio.run(run()) == [1, 2, 3]
