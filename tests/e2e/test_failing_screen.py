"""What the screen is drawn with fails: the program ends, loudly and in good order, where it could stand still for ever."""

from __future__ import annotations

import termios

import pytest

from tests.e2e.program import Program
from tests.terminal import Terminal

FAILING = """
import markdown_it, wcwidth
def fails(call, on):
    def wrapped(text, *more, **named):
        if on in text:
            raise RuntimeError("the drawing has failed")
        return call(text, *more, **named)
    return wrapped
parse, one = markdown_it.MarkdownIt.parse, wcwidth.wcwidth
markdown_it.MarkdownIt.parse = lambda self, text, *more: fails(lambda text, *more: parse(self, text, *more), "undrawable")(text, *more)
wcwidth.wcwidth = fails(one, "\\u0bf5")
wcwidth.wcswidth = fails(wcwidth.wcswidth, "\\u0bf5")
"""
"""Faults of the libraries that the screen is drawn with: one that parses a reply, one that measures what is typed."""


@pytest.fixture
def failing(program: Program) -> Program:
    """The program whose drawing fails at some texts."""
    (program.base / "faults").mkdir()
    (program.base / "faults/sitecustomize.py").write_text(FAILING)
    program.more = {"PYTHONPATH": str(program.base / "faults")}
    return program


def is_restored(t: Terminal) -> bool:
    """True if the terminal echoes and reads lines, as a shell wants it."""
    flags = termios.tcgetattr(t.master)[3]
    return bool(flags & termios.ECHO and flags & termios.ICANON)


def ends_loudly(program: Program, t: Terminal) -> None:
    assert t.wait() == 1
    assert is_restored(t)
    screen = "\n".join(t.history())
    assert "RuntimeError: the drawing has failed" in screen
    assert "agentcli has ended because of this error, which is a bug." in screen
    log = (program.base / "state/agentcli/agentcli.log").read_text()
    assert "RuntimeError: the drawing has failed" in log


@pytest.mark.full
@pytest.mark.parametrize("text", ["undrawable", "a reply that is **undrawable**"])
def test_a_reply_that_cannot_be_drawn_ends_the_program_and_keeps_the_session(failing: Program, text: str) -> None:
    with failing.terminal("-m", "script:echo", columns=200) as t:
        t.until("Shift-Tab mode")
        t.send(f"{text}\r")
        ends_loudly(failing, t)
        assert "agentcli resume " in "\n".join(t.history())
    failing.more = {}
    ran = failing.run("resume", "--last", "-p", "go on", "-m", "script:echo")
    assert (ran.code, ran.out) == (0, "go on\n")
    said = [part["text"] for record in failing.records() if record["kind"] == "message" for part in record["parts"]]
    assert said.count(text) == 2, "the prompt and the reply"
    assert failing.run("sessions", "check").code == 0


@pytest.mark.full
def test_a_key_whose_character_cannot_be_drawn_ends_the_program_and_keeps_the_draft(failing: Program) -> None:
    with failing.terminal("-m", "script:echo", columns=200) as t:
        t.until("Shift-Tab mode")
        t.send("hello\r", until="9 out")
        t.send("precious words \u0bf5")
        ends_loudly(failing, t)
    failing.more = {}
    with failing.terminal("-m", "script:echo", columns=200) as t:
        t.until("Shift-Tab mode")
        t.send("\x1b[A", until="precious words")
        t.send("\x15\x04")
        assert t.wait() == 0


@pytest.mark.full
def test_a_view_that_cannot_be_drawn_ends_the_program(failing: Program) -> None:
    program = failing
    program.run("-p", "it is undrawable", "-m", "script:echo")
    program.config("[ui]\nreplay = 0\n")
    with program.terminal("resume", "--last", "-m", "script:echo", columns=200) as t:
        t.until("Shift-Tab mode")
        t.settle()
        t.send("\x0f")
        ends_loudly(program, t)
