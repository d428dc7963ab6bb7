"""Random resizes while a reply streams: `python -m tests.attack.resizes [count]`.

tmux reflows its screen and history whenever its size changes, and tells the program later. Whatever it does, each block of the
reply stands once in the history, and no copy of the live part is left there.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
COLUMNS, ROWS = (60, 160), (18, 50)
"""Sizes that the window takes."""
PAUSE = 0.35
"""Mean seconds between two resizes: tmux reports one up to 0.25 s late, so that some come before the last was seen."""
BLOCKS, TOKENS = 6, 14
"""Blocks of the reply a second, and tokens of a block in the mean."""
LIVE = {"Esc to interrupt": 0, "ask · demo": 1}
"""Texts of the live part, and how often they may stand there in the end."""


class Window:
    """The preview in a tmux server of its own."""

    def __init__(self, folder: Path) -> None:
        self._socket, self._config = folder / "socket", folder / "tmux.conf"
        self._config.write_text("set -g history-limit 200000\n")
        self._environment = {**os.environ, "XDG_STATE_HOME": str(folder), "LC_ALL": "C.UTF-8"}
        self._environment.pop("TMUX", None)
        program = f"exec {sys.executable} -m tests.frontends.terminal.preview"
        self.run("new-session", "-d", "-x", "80", "-y", "24", "-c", str(REPOSITORY), program)

    def run(self, *words: str) -> str:
        """The output of a tmux command."""
        command = ["tmux", "-S", str(self._socket), "-f", str(self._config), *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=self._environment, timeout=60
        ).stdout

    def shown(self) -> str:
        """History and screen, wrapped lines joined."""
        return self.run("capture-pane", "-p", "-J", "-S", "-")

    def until(self, text: str, seconds: float = 60.0) -> str:
        """Wait for a text; what is shown then."""
        ends = time.monotonic() + seconds
        while text not in (shown := self.shown()):
            assert time.monotonic() < ends, f"{text!r} never came:\n{shown[-3000:]}"
            time.sleep(0.2)
        return shown


def faults(count: int, seed: int = 7) -> list[str]:
    """What is wrong after so many resizes; empty if nothing is."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        window = Window(Path(folder))
        try:
            window.until("ask · demo")
            blocks = max(int(count * PAUSE * BLOCKS), 60)
            window.run("send-keys", f"long {blocks} {TOKENS * BLOCKS}", "Enter")
            window.until("#0003")
            for _ in range(count):
                window.run("resize-window", "-x", str(chance.randint(*COLUMNS)), "-y", str(chance.randint(*ROWS)))
                time.sleep(PAUSE * chance.random() * 2)
            window.until("all done", 60 + blocks)
            time.sleep(3 * PAUSE)
            shown = window.shown()
        finally:
            window.run("kill-server")
    return _wrong(shown, blocks)


def _wrong(shown: str, blocks: int) -> list[str]:
    found = Counter(re.findall(r"#\d{4}", shown))
    wanted = {f"#{n:04}" for n in range(blocks)}
    wrong = [f"{tag} stands {found[tag]} times" for tag in sorted(wanted) if found[tag] != 1]
    left = [f"{text!r} stands {shown.count(text)} times" for text, times in LIVE.items() if shown.count(text) != times]
    return [*wrong, *left]


def main() -> None:
    """Resize as often as wanted, 1,000 times by default, and print what went wrong."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    found = faults(count)
    print("\n".join(found[:20]) or f"{count:,} resizes, nothing lost, nothing twice.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
