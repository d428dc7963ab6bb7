"""Output of commands."""

from __future__ import annotations

import io

from agentcli.cli.output import Progress


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def lines_of(stream: io.StringIO, things: int, seconds: float, total: int = 0) -> list[str]:
    """The lines that are written while each of so many things takes so many seconds."""
    now = 0.0
    with Progress(stream, lambda: now) as progress:
        for _ in progress.through(range(things), total):
            now += seconds
    return stream.getvalue().split("\r\x1b[K")[1:]


def test_long_work_shows_in_one_line_how_far_it_is_and_leaves_no_trace() -> None:
    assert lines_of(Screen(), 5, 0.2, total=5) == ["4 of 5 done", "5 of 5 done", ""]
    assert lines_of(Screen(), 4, 0.25) == ["3 found", "4 found", ""]


def test_short_work_shows_nothing() -> None:
    assert lines_of(Screen(), 4, 0.1) == []


def test_many_small_steps_do_not_flood_the_terminal() -> None:
    assert len(lines_of(Screen(), 10_000, 0.0002)) < 20


def test_a_pipe_gets_no_progress() -> None:
    assert lines_of(io.StringIO(), 5, 1.0) == []


def test_the_line_is_removed_if_the_work_fails() -> None:
    stream, now = Screen(), 0.0
    try:
        with Progress(stream, lambda: now) as progress:
            for _ in progress.through("ab"):
                now += 1.0
                if stream.getvalue():
                    raise ValueError
    except ValueError:
        pass
    assert stream.getvalue().endswith("\r\x1b[K")
