"""The program in tmux, which reflows its screen and history whenever its size changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.frontends.terminal.preview import long_reply
from tests.terminal import READING

REPOSITORY = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

Tmux = Callable[..., str]


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    """Runs a tmux command against a server of its own, in which the preview runs at 80x24."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    environment.pop("TMUX", None)

    def run(*words: str) -> str:
        command = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=20).stdout

    run(
        "new-session",
        "-d",
        "-x",
        "80",
        "-y",
        "24",
        "-c",
        str(REPOSITORY),
        f"exec {sys.executable} -m tests.frontends.terminal.preview",
    )
    try:
        until(run, "ask · demo")
        yield run
    finally:
        run("kill-server")


def until(tmux: Tmux, text: str, seconds: float = 30.0) -> str:
    ends = time.monotonic() + seconds
    while text not in (shown := tmux("capture-pane", "-p", "-J", "-S", "-")):
        assert time.monotonic() < ends, f"{text!r} never came:\n{shown}"
        time.sleep(0.05)
    return shown


def tags(shown: str) -> Counter[str]:
    return Counter(re.findall(r"#\d{4}", shown))


@pytest.mark.full
def test_every_block_reaches_the_scrollback_once(tmux: Tmux) -> None:
    tmux("send-keys", "long 60 2000", "Enter")
    until(tmux, "all done")
    time.sleep(0.2)
    assert tags(tmux("capture-pane", "-p", "-J", "-S", "-")) == Counter(f"#{n:04}" for n in range(60))


@pytest.mark.slow
def test_a_resize_loses_no_block(tmux: Tmux) -> None:
    tmux("send-keys", "long 150 1500", "Enter")
    for columns, rows in ((60, 24), (120, 40), (50, 15), (80, 24)):
        time.sleep(0.3)
        tmux("resize-window", "-x", str(columns), "-y", str(rows))
    until(tmux, "all done")
    time.sleep(0.2)
    found = tags(tmux("capture-pane", "-p", "-J", "-S", "-"))
    assert set(found) == {f"#{n:04}" for n in range(150)}
    assert sum(count - 1 for count in found.values()) <= 4


@pytest.mark.full
def test_every_block_stands_in_the_history_once_however_the_window_changes(tmux: Tmux) -> None:
    tmux("set-option", "-g", "history-limit", "10000")
    tmux("send-keys", "long 60 500", "Enter")
    until(tmux, "#0003")
    tmux("send-keys", "дом")
    for n, (columns, rows) in enumerate([(50, 24), (120, 30), (40, 20), (90, 12), (33, 26), (80, 24)]):
        for step in range(4):  # the corner is dragged
            tmux("resize-window", "-x", str(columns + 3 - step), "-y", str(rows))
        until(tmux, f"#{8 * (n + 1):04}")
    until(tmux, "all done")
    shown = until(tmux, "\nask · demo")  # the status line is painted last
    found = tags(shown)
    assert found == Counter(set(re.findall(r"#\d{4}", long_reply(60))))
    assert shown.count("ask · demo") == 1
    assert "Esc to interrupt" not in shown
    assert [row for row in shown.split("\n") if row.strip()][-2] == "> дом"


def test_joined_emoji_are_shown_as_one_and_the_cursor_stands_behind_them(tmux: Tmux) -> None:
    typed = "a 👩\u200d💻 👨\u200d👩\u200d👧 👍🏽 ❤\ufe0f bc"
    tmux("send-keys", "-l", typed)
    until(tmux, f"> {typed}")
    end = int(tmux("display", "-p", "#{cursor_x}"))
    tmux("send-keys", "-l", "d")
    until(tmux, f"> {typed}d")
    assert int(tmux("display", "-p", "#{cursor_x}")) == end + 1
    # As wide as tmux has made what stands before it, whatever that is.
    tmux("send-keys", "Home")
    tmux("send-keys", "-l", "x")
    until(tmux, f"> x{typed}d")
    assert int(tmux("display", "-p", "#{cursor_x}")) == 3
    tmux("send-keys", *["Right"] * 3)
    tmux("send-keys", "-l", "y")
    until(tmux, "💻y 👨")
    assert int(tmux("display", "-p", "#{cursor_x}")) == 8


@pytest.mark.full
def test_a_question_is_laid_out_anew_when_the_window_changes(tmux: Tmux) -> None:
    tmux("send-keys", "edit", "Enter")
    until(tmux, "4. No, tell")
    tmux("resize-window", "-x", "40", "-y", "20")
    until(tmux, "─" * 18)
    tmux("resize-window", "-x", "100", "-y", "30")
    shown = until(tmux, "prices = [item.price for item in self.items]")
    assert shown.count("1. Yes") == 1
    assert shown.count("prices = [item.price for item in self.items]") == 1
    time.sleep(READING)
    tmux("send-keys", "1")
    until(tmux, "answer once")
