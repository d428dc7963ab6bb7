"""Reports while a long session is opened."""

from __future__ import annotations

import contextlib
import io

import pytest

from agentcli.core.message import Message, Text
from agentcli.core.record import Record
from agentcli.frontends.terminal.reading import reading, reports_on
from tests.program.command_line.test_printing import Screen

RECORDS = [Record(seq, "", "", "", Message("user", (Text("x"),))) for seq in range(1, 2_001)]


def reports(seconds: float) -> list[str]:
    """The reports while each record takes so many seconds."""
    lines: list[str] = []
    now = 0.0
    through = reading(lines.append, lambda: now)(2_000)
    for _ in through(RECORDS):
        now += seconds
    return lines


def test_the_records_pass_and_how_many_have_is_said_after_a_moment_and_now_and_then() -> None:
    assert list(reading(lambda line: None)(2_000)(RECORDS)) == RECORDS
    lines = reports(0.001)
    assert lines[0] == "opening the session: 501 of 2,000 records"
    assert 10 < len(lines) <= 16


def test_a_session_that_is_read_in_a_moment_is_not_reported() -> None:
    assert reports(0.0001) == []


def test_the_line_is_erased_at_the_end_and_a_pipe_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen, pipe = Screen(), io.StringIO()
    for stream in (screen, pipe):
        with contextlib.suppress(ValueError), reports_on(stream) as report:
            report("opening the session: 1 of 2 records")
            raise ValueError
    assert screen.getvalue() == "\r\x1b[Kopening the session: 1 of 2 records\r\x1b[K"
    assert pipe.getvalue() == ""
