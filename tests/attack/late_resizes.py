"""Paints that reach tmux after a resize that it has not reported yet: `python -m tests.attack.late_resizes [count]`.

The screen runs in this process, so that the order is chosen and not left to chance: text comes, the window is resized once or twice,
more paints are made for the old size, and a new one is known only then. So the live part may also be erased for a size that the
window no longer has. `fixed` as a second argument takes a terminal that reflows nothing and tells of its size at once: what goes
wrong there is this program's own fault.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyte

from agentcli.core.event import TextDelta
from agentcli.frontends.terminal.input.attachments import Pastes
from agentcli.frontends.terminal.paint import Painter, Write
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.screen import Screen
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.frontends.terminal.style import looks
from tests.frontends.terminal.preview import long_reply

COLUMNS, ROWS = (60, 160), (18, 50)
"""Sizes that the window takes."""
BLOCKS = 4
"""Blocks of the reply between two resizes."""
ANSWERED, TOLD = 0.5, 0.7
"""Chances that the answers, and the new size, arrive before the next of several resizes in a row."""
_DONE = b"\x1b[0n"
_RELAY = r"""
import os, select, socket, sys, tty
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
tty.setraw(0)
while True:
    ready = select.select([0, peer], [], [])[0]
    if peer in ready:
        data = peer.recv(65536)
        if not data:
            break
        while data:
            data = data[os.write(1, data):]
    if 0 in ready:
        peer.sendall(os.read(0, 65536))
"""


class Pane:
    """A pane of a tmux server of its own, written to from here."""

    def __init__(self, folder: Path) -> None:
        self._socket, self._config = folder / "tmux", folder / "tmux.conf"
        self._config.write_text("set -g history-limit 200000\n")
        relay = folder / "relay.py"
        relay.write_text(_RELAY)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(folder / "relay"))
            server.listen()
            command = f"exec {sys.executable} {relay} {folder / 'relay'}"
            self.run("new-session", "-d", "-x", "80", "-y", "24", command)
            self._peer, _ = server.accept()

    def run(self, *words: str) -> str:
        """The output of a tmux command."""
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"} | {"LC_ALL": "C.UTF-8"}
        command = ["tmux", "-S", str(self._socket), "-f", str(self._config), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60).stdout

    def write(self, text: str) -> None:
        """Write to the pane."""
        self._peer.sendall(text.encode())

    def widths(self) -> list[int]:
        """Wait until tmux has processed everything; the widths that it has answered with."""
        self.write("\x1b[5n")
        answers = b""
        while _DONE not in answers:
            answers += self._peer.recv(65536)
        return [int(columns) for columns in re.findall(rb"\x1b\[\d+;(\d+)R", answers)]

    def resize(self, size: Size) -> None:
        """Resize the window."""
        self.run("resize-window", "-x", str(size.columns), "-y", str(size.rows))

    def shown(self) -> str:
        """Scrollback and screen."""
        return self.run("capture-pane", "-p", "-J", "-S", "-")

    def close(self) -> None:
        """End the server."""
        self.run("kill-server")
        self._peer.close()


class FixedRows(pyte.HistoryScreen):
    """Terminal that cuts its lines where it becomes narrower; rows that it has no room for go into the scrollback."""

    def __init__(self) -> None:
        super().__init__(80, 24, history=1_000_000)
        self.write = pyte.Stream(self).feed

    def resize_to(self, size: Size) -> None:
        """Take another size."""
        for _ in range(max(self.cursor.y - size.rows + 1, 0)):
            self.history.top.append(self.buffer[0])
            for row in range(self.lines):
                self.buffer[row] = self.buffer[row + 1]
            self.cursor.y -= 1
        self.lines, self.columns = size.rows, size.columns
        self.set_margins()
        for row in [row for row in self.buffer if row >= size.rows]:
            del self.buffer[row]


class Pyte:
    """Emulator in this process, with the same methods as a pane."""

    def __init__(self) -> None:
        self._screen = FixedRows()
        self.write = self._screen.write

    def widths(self) -> list[int]:
        """Nothing: it is not asked."""
        return []

    def resize(self, size: Size) -> None:
        """Resize the window."""
        self._screen.resize_to(size)

    def shown(self) -> str:
        """Scrollback and screen."""
        rows = [*self._screen.history.top, *(self._screen.buffer[n] for n in range(self._screen.lines))]
        return "\n".join("".join(row[n].data for n in range(COLUMNS[1])) for row in rows)


class Device:
    """Terminal whose new size is known only when it is told, and whose keys are never pressed."""

    keys_wait = False

    def __init__(self, write: Write) -> None:
        self.size = Size(80, 24)
        self.painter = Painter(write)
        self.editor = SimpleNamespace(edit=Edit("typed words", 5), pastes=Pastes())


def faults(count: int, seed: int = 7) -> list[str]:
    """What is wrong after so many late resizes; empty if nothing is."""
    with _pane() as pane:
        return asyncio.run(_resize(pane, count, random.Random(seed)))


def faults_without_reflow(count: int, seed: int = 7) -> list[str]:
    """What is wrong after so many resizes of a terminal that reflows nothing."""
    return asyncio.run(_resize(Pyte(), count, random.Random(seed)))


@contextmanager
def _pane() -> Iterator[Pane]:
    with tempfile.TemporaryDirectory() as folder:
        pane = Pane(Path(folder))
        try:
            yield pane
        finally:
            pane.close()


async def _resize(pane: Pane | Pyte, count: int, chance: random.Random) -> list[str]:
    device: Any = Device(pane.write)
    late = isinstance(pane, Pane)
    if late:
        device.painter.check()
    screen = Screen(device, looks(UiSettings()), still=0, environment={"TMUX": "here"} if late else {})
    screen.change(screen.state.begin("Working", time.monotonic()))
    text = long_reply(count * BLOCKS)
    parts = [text[place : place + 24] for place in range(0, len(text), 24)][::-1]
    few = len(parts) // count // 2

    def tick(most: int) -> None:
        for _ in range(min(most, len(parts))):
            screen.apply(TextDelta(parts.pop()))
        screen.tick()

    async def settle() -> None:
        for columns in pane.widths():
            screen.answered(columns)
        await asyncio.sleep(0)
        screen.tick()

    for _ in range(count):
        tick(chance.randint(1, few))
        tick(chance.randint(1, few))
        await settle()
        for _ in range(chance.randint(1, 2) if late else 1):
            size = Size(chance.randint(*COLUMNS), chance.randint(*ROWS))
            pane.resize(size)
            for _ in range(chance.randint(0, 2) if late else 0):
                tick(chance.randint(0, few))
            if chance.random() < ANSWERED:
                await settle()
            if chance.random() < TOLD or not late:
                device.size = size
        device.size = size
        for _ in range(4):
            await settle()
    while parts:
        tick(few)
    screen.change(screen.state.end())
    while screen.state.finished:
        screen.tick()
    pane.widths()
    return _wrong(pane.shown(), count * BLOCKS)


def _wrong(shown: str, blocks: int) -> list[str]:
    found = Counter(re.findall(r"#\d{4}", shown))
    wrong = [f"#{n:04} stands {found[f'#{n:04}']} times" for n in range(blocks) if found[f"#{n:04}"] != 1]
    left = shown.count("Esc to interrupt")
    return wrong + [f"{left} copies of the live part are left"] * bool(left)


def main() -> None:
    """Resize as often as wanted, 1,000 times by default, and print what went wrong."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    found = (faults_without_reflow if "fixed" in sys.argv else faults)(count)
    print("\n".join(found[:20]) or f"{count:,} resizes, nothing lost, nothing twice.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
