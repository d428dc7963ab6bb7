"""Progress of long work."""

from __future__ import annotations

import contextlib
import io

from agentcli.program.command_line.progress import Progress
from agentcli.system.cells import ESCAPE
from tests.program.command_line.test_printing import Screen


def written(stream: io.StringIO, things: int, seconds: float, total: int = 0) -> str:
    """The output while each of so many things takes so many seconds."""
    now = 0.0
    with Progress("Checking", stream, lambda: now, cells=80) as progress:
        for _ in progress.through(range(things), total):
            now += seconds
    return stream.getvalue()


def test_long_work_shows_how_far_it_is_and_leaves_no_trace() -> None:
    text = ESCAPE.sub("", written(Screen(), 5, 0.2, total=5))
    assert "Checking" in text
    assert "4/5" in text
    assert "3/5" not in text  # that soon nothing is shown
    assert text.endswith("\x1b[1A\x1b[2K")
    assert "4/?" in ESCAPE.sub("", written(Screen(), 4, 0.25))


def test_work_in_several_parts_is_counted_through() -> None:
    stream, now = Screen(), 0.0
    with Progress("Searching", stream, lambda: now, cells=80) as progress:
        through = progress.of(6)
        for part in ("ab", "cd", "ef"):
            for _ in through(part):
                now += 0.3
    text = ESCAPE.sub("", stream.getvalue())
    assert [f"{number}/6" in text for number in range(1, 7)] == [False, False, True, True, True, True]


def test_short_work_shows_nothing() -> None:
    assert not written(Screen(), 4, 0.1)


def test_many_small_steps_do_not_flood_the_terminal() -> None:
    assert written(Screen(), 10_000, 0.0002).count("Checking") < 50


def test_a_pipe_gets_no_progress() -> None:
    assert not written(io.StringIO(), 5, 1.0)


def test_the_line_is_removed_if_the_work_fails() -> None:
    stream, now = Screen(), 0.0
    with contextlib.suppress(ValueError), Progress("Checking", stream, lambda: now, cells=80) as progress:
        for _ in progress.through("ab"):
            now += 1.0
            if stream.getvalue():
                raise ValueError
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K")


def test_work_that_cannot_be_counted_is_named_once_the_work_before_it_was_shown() -> None:
    stream, now = Screen(), 0.0
    with Progress("Reading", stream, lambda: now, cells=80) as progress:
        progress.next("Guessing")
        assert not stream.getvalue()  # that soon nothing is shown
        for _ in progress.of(9)(range(9)):
            now += 0.1
        progress.next("Counting")
    text = ESCAPE.sub("", stream.getvalue())
    assert "Guessing" in text
    assert "8/9" in text
    assert text.rpartition("Counting")[0]
    assert "/" not in text.rpartition("Counting")[2]
    assert text.endswith("\x1b[1A\x1b[2K")
