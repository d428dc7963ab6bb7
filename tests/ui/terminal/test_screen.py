"""A screen whose size changes while it is laid out."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcli.ui.render.frame import Size
from agentcli.ui.render.pieces import Printed
from agentcli.ui.style import PLAIN, Look
from agentcli.ui.terminal.paint import Painter
from agentcli.ui.terminal.screen import Screen


class ShrinkingDevice:
    """A terminal that changes its size after it has been asked for it `asked` times."""

    def __init__(self, asked: int) -> None:
        self.written: list[str] = []
        self.painter = Painter(self.written.append)
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
