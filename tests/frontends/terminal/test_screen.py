"""A screen whose size changes while it is laid out."""

from __future__ import annotations

import asyncio
import re
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentcli.core.event import TextDelta, Warned
from agentcli.core.message import Pieces
from agentcli.frontends.terminal.dialogs.dialogs import Dialog
from agentcli.frontends.terminal.input.attachments import Pastes
from agentcli.frontends.terminal.paint import Painter
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.pieces import Printed
from agentcli.frontends.terminal.render.state import State
from agentcli.frontends.terminal.screen import Screen, Tab, shows_progress
from agentcli.frontends.terminal.style import PLAIN, Look
from agentcli.program.commands import Choice
from tests.e2e.program import Program
from tests.tables import each_row


class ShrinkingDevice:
    """A terminal that changes its size after it has been asked for it `asked` times."""

    def __init__(self, asked: int) -> None:
        self.written: list[str] = []
        self.painter = Painter(self.written.append)
        self.editor = SimpleNamespace(edit=Edit(), pastes=Pastes())
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


def test_a_reply_that_comes_faster_than_it_is_printed_waits_as_text_and_is_printed_once() -> None:
    async def run() -> str:
        device: Any = ShrinkingDevice(1_000_000)
        screen = Screen(device, Look(PLAIN))
        screen.here.clear()
        for n in range(4_000):
            screen.apply(TextDelta(f"paragraph {n}, which is not long.\n\n"))
        assert len(screen.state.finished) == 1
        screen.apply(Warned("beware"))
        screen.here.set()
        screen.tick()
        assert 1 < len(screen.state.finished) < 400
        screen.flush()
        return "".join(device.written)

    written = asyncio.run(run())
    found = [int(number) for number in re.findall(r"paragraph (\d+),", written)]
    assert found == list(range(4_000))
    assert written.index("beware") > written.index("paragraph 3999,")


@pytest.mark.parametrize("escape", ["", "\x1b[31m"])
def test_a_reply_that_waits_is_a_part_of_the_text_that_it_shares(escape: str) -> None:
    async def run() -> tuple[str, float]:
        device: Any = ShrinkingDevice(1_000_000)
        screen = Screen(device, Look(PLAIN))
        screen.here.clear()
        tracemalloc.start()
        size, wholes = 0, (Pieces(), Pieces())
        for reply, whole in enumerate(wholes):
            for n in range(5_000):
                piece = f"{escape}paragraph {n}, in reply {reply}, which is not as short as others are.\n\n"
                whole.append(piece)
                size += len(piece)
                screen.apply(TextDelta(piece, whole))
            whole.append("This is not shown yet.")
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        screen.here.set()
        screen.flush()
        return "".join(device.written), held / size

    written, held = asyncio.run(run())
    found = [(int(reply), int(number)) for number, reply in re.findall(r"paragraph (\d+), in reply (\d),", written)]
    assert found == [(reply, n) for reply in range(2) for n in range(5_000)]
    assert "not shown" not in written
    assert (held < 1.6) == (not escape), held


PUSHED, RESTORED = "\x1b[22;2t", "\x1b[23;2t"
GHOSTTY = {"TERM_PROGRAM": "ghostty"}


def titles(raw: str) -> list[str]:
    return re.findall(r"\x1b\]0;(.*?)\a", raw)


def test_a_tab_says_once_whether_the_session_works_or_waits_and_is_restored() -> None:
    written: list[str] = []
    tab = Tab(written.append, GHOSTTY)
    idle, asking = State(), replace(State(), dialog=Dialog("Run it?", choices=(Choice("yes"),)))
    works = State().begin("Thinking", 0)
    tab.show(idle, "")
    assert written == []
    for state in (idle, idle, works, works, asking, works, idle):
        tab.show(state, "shop\x1b[31m")
    tab.close()
    raw = "".join(written)
    assert raw.startswith(PUSHED)
    assert [title[0] for title in titles(raw)] == ["s", "●", "?", "●", "s"]
    assert "\x1b[31m" not in raw
    assert re.findall(r"9;4;(\d);0\a", raw) == ["3", "4", "3", "0"]
    assert raw.endswith(RESTORED)
    tab.close()
    assert "".join(written) == raw


@each_row(
    ("environment", "shown"),
    [({}, False), (GHOSTTY, True), ({"WT_SESSION": "x"}, True), (GHOSTTY | {"TMUX": "x"}, False)],
)
def test_only_terminals_that_know_the_mark_get_it(environment: Mapping[str, str], shown: bool) -> None:
    assert shows_progress(environment) is shown


@pytest.mark.full
@pytest.mark.parametrize("notify", ["auto", "off"])
def test_the_tab_of_a_session_has_the_name_of_its_folder(tmp_path: Path, notify: str) -> None:
    program = Program(tmp_path)
    # A reply that takes about a second: a turn that ends before the first frame never shows that it works.
    with program.terminal("-m", "script:long-reply:30@3000", "--set", f"ui.notify={notify}", "hello") as t:
        t.until("#0029")
        t.settle()
        t.send("/quit\r")
        t.wait()
        raw = t.raw.decode(errors="replace")
    assert ("● work" in titles(raw), "work" in titles(raw), RESTORED in raw) == (3 * (notify == "auto",))
