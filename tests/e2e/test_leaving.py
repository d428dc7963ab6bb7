"""Whatever goes on, a signal ends the program in time, with its exit code, no process left, and a session that goes on."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time

import pytest

from tests.e2e.activities import ACTIVITIES, CODES, PATIENCE, begun, doing, gone, interrupt, is_resumable
from tests.e2e.program import Program
from tests.processes import fresh_mark, living
from tests.sampling import sampled
from tests.terminal import Terminal

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def mark() -> str:
    return fresh_mark()


SAMPLE = {
    *(("plain", what, "SIGTERM") for what in ("stubborn", "stream", "approval", "nothing")),
    *(("plain", "command", "SIGINT"), ("plain", "nothing", "SIGHUP"), ("full", "stubborn", "SIGTERM")),
}
"""The cases tried with the marker `full`; the rest takes minutes."""
QUICK = {("plain", "stubborn", "SIGTERM"), ("plain", "command", "SIGINT")}


@linux
def _marks(*case: str) -> list[pytest.MarkDecorator]:
    return [] if case in QUICK else [pytest.mark.full if case in SAMPLE else pytest.mark.slow]


@pytest.mark.parametrize(
    ("front", "what", "number"),
    [
        pytest.param(front, what, number, marks=_marks(front, what, number.name))
        for front in ("full", "plain")
        for what in ACTIVITIES
        for number in CODES
    ],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else value,
)
def test_a_signal_ends_it_whatever_goes_on(
    program: Program, mark: str, front: str, what: str, number: signal.Signals
) -> None:
    arguments, prompt = doing(program, what, mark)
    command = [sys.executable, "-m", "agentcli", *arguments]
    env = {**program.env, "TERM": "dumb" if front == "plain" else "xterm-256color", "SHELL": "/bin/bash"}
    with Terminal(command, columns=200, env=env, cwd=str(program.work)) as t:
        t.until("lists the commands" if front == "plain" else "k/1")
        if what == "hook":
            t.send("fill the window\r", until="word word")
            t.settle(0.3, 5)
            t.send("and now?\r", until="Enough.")
            t.settle(0.3, 5)
        if prompt:
            t.send(f"{prompt}\r")
        begun(t, what, mark)
        interrupt(t, number)
        assert t.wait(PATIENCE) == CODES[number], "\n".join(t.history())
        assert b"Traceback" not in t.raw, t.raw.decode(errors="replace")
        assert b"Exception" not in t.raw, t.raw.decode(errors="replace")
        if what != "nothing":
            assert b"agentcli resume" in t.raw
    assert gone(mark), living(mark)
    is_resumable(program)


@linux
@pytest.mark.parametrize("number", sampled(CODES, 3), ids=lambda number: number.name)
@pytest.mark.parametrize(
    "what",
    [
        "command",
        "stubborn",
        "background",
        *(pytest.param(w, marks=pytest.mark.slow) for w in ("daemon", "stream", "retry")),
    ],
)
def test_without_a_terminal_the_result_still_comes_last(
    program: Program, mark: str, what: str, number: signal.Signals
) -> None:
    arguments, prompt = doing(program, what, mark)
    running = program.start("-p", prompt, "-o", "stream-json", *arguments)
    assert running.stdout
    lines = []
    sign = {"stream": '"delta": true', "retry": '"retry"'}.get(what)
    while sign and not any(sign in line for line in lines):
        lines.append(running.stdout.readline())
    ends = time.monotonic() + 20
    while not sign and not living(mark):
        assert time.monotonic() < ends
        time.sleep(0.02)
    running.send_signal(number)
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == CODES[number]
    assert "Traceback" not in err
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["exit_code"]) == ("result", CODES[number])
    assert gone(mark), living(mark)
    is_resumable(program)


@pytest.mark.full
@pytest.mark.parametrize("what", ["nothing", "stream"])
def test_a_window_that_is_closed_ends_the_plain_program_too(program: Program, mark: str, what: str) -> None:
    arguments, prompt = doing(program, what, mark)
    err = program.base / "stderr"
    agent = f"exec {sys.executable} -m agentcli {' '.join(arguments)} 2>{err}"
    with Terminal(["bash", "-c", agent], env={**program.env, "TERM": "dumb"}, cwd=str(program.work)) as t:
        t.until("lists the commands")
        if prompt:
            t.send(f"{prompt}\r")
        begun(t, what, mark)
        t.hang_up()
        assert t.wait(PATIENCE) == 129
    assert err.read_text() == ""
    is_resumable(program)


@pytest.mark.full
@linux
@pytest.mark.parametrize("number", sampled([signal.SIGINT, signal.SIGTERM], 2), ids=lambda number: number.name)
@pytest.mark.parametrize("front", ["full", "plain"])
def test_a_signal_that_comes_again_and_again_changes_nothing_of_the_end(
    program: Program, front: str, number: signal.Signals
) -> None:
    arguments, _ = doing(program, "nothing", "")
    env = {**program.env, "TERM": "dumb" if front == "plain" else "xterm-256color"}
    with Terminal([sys.executable, "-m", "agentcli", *arguments], columns=200, env=env, cwd=str(program.work)) as t:
        t.until("lists the commands" if front == "plain" else "k/1")
        ends = time.monotonic() + PATIENCE
        with contextlib.suppress(ProcessLookupError):
            while t.code is None and time.monotonic() < ends:
                t.signal(number)
                with contextlib.suppress(AssertionError):
                    t.wait(0.005)
        assert t.wait() == CODES[number]
        assert b"Traceback" not in t.raw, t.raw.decode(errors="replace")


@pytest.mark.parametrize("front", [(), ("--plain",)])
def test_a_session_of_which_the_disk_took_nothing_is_not_offered_to_be_resumed(
    program: Program, front: tuple[str, ...]
) -> None:
    program.more = {"XDG_DATA_HOME": "/dev/null"}
    with program.terminal("-m", "script:echo", *front) as t:
        t.until("lists the commands" if front else "k/1")
        t.send("hello\r", until="not being saved")
        t.settle()
        t.send("\x04")
        assert t.wait(PATIENCE) == 0
    shown = "\n".join(t.history())
    assert shown.count("The session is not being saved: Not a directory") == 2
    assert "agentcli resume" not in shown
