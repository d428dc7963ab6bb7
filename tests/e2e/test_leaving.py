"""Whatever goes on, a signal ends the program in time, with its exit code, no process left, and a session that goes on."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.processes import fresh_mark, living
from tests.terminal import Terminal

SOON = 2.0
"""Seconds that a program has to end; more where other tests have the processor as well."""
PATIENCE = SOON * 4
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def mark() -> str:
    return fresh_mark()


def gone(mark: str, seconds: float = PATIENCE) -> bool:
    """True if no process with the mark is left, or soon will be."""
    ends = time.monotonic() + seconds
    while living(mark) and time.monotonic() < ends:
        time.sleep(0.02)
    return not living(mark)


COMMANDS = {
    "command": "sleep {mark}",
    "stubborn": "trap '' TERM INT HUP; (setsid sleep {mark} &) ; while :; do sleep {mark}; done",
    "daemon": "(setsid setsid sleep {mark} >/dev/null 2>&1 &) ; sleep {mark}",
}
ACTIVITIES = [*COMMANDS, "background", "stream", "retry", "approval", "shell", "hook", "nothing"]


def doing(program: Program, what: str, mark: str) -> tuple[list[str], str]:
    """The arguments that have the program do this, and the prompt that makes it begin."""
    script = program.base / "script.json"
    reply: dict[str, Any] = {"text": "Hello."}
    options, prompt = ["--mode", "yolo"], "go on"
    match what:
        case "background":
            command = {"command": f"sleep {mark}", "run_in_background": True}
            reply = {"calls": [{"name": "bash", "input": command}]}
            waiting = {"calls": [{"name": "bash", "input": {"command": f"sleep 1{mark}"}}]}
            script.write_text(json.dumps({"replies": [reply, waiting]}))
            return [*options, "-m", f"script:{script}"], prompt
        case "stream":
            return ["-m", "script:long-reply:400@200"], prompt
        case "retry":
            reply = {"text": "never", "fault": {"cause": "overloaded", "message": "Busy.", "retry_after": 50}}
        case "approval":
            options = []
            reply = {"calls": [{"name": "bash", "input": {"command": f"touch {mark}"}}]}
        case "shell":
            prompt = f"!sleep {mark}"
        case "hook":
            program.config(f'[hooks]\npre_compress = "sleep {mark}"\n')
            reply, prompt = {"text": "word " * 3000}, "/compress"
        case "nothing":
            prompt = ""
        case _:
            reply = {"calls": [{"name": "bash", "input": {"command": COMMANDS[what].format(mark=mark)}}]}
    script.write_text(json.dumps({"replies": [reply]}))
    return [*options, "-m", f"script:{script}"], prompt


def begun(t: Terminal, what: str, mark: str) -> None:
    """Wait until it is at it."""
    ends = time.monotonic() + 20
    match what:
        case "stream":
            t.until("#0001")
        case "retry":
            t.until("Busy.")
        case "approval":
            t.until("touch")
        case "nothing":
            t.settle(0.2)
        case _:
            while not living(mark):
                assert time.monotonic() < ends, t.screen()
                t.settle(0.05, 0.05)
            t.settle(0.2, 0.2)


def arrived(pid: int, number: int) -> None:
    """Wait until a signal has reached the process: while one waits to be delivered, another of its kind is lost."""
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        try:
            told = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        waiting = [int(line.split()[1], 16) for line in told.splitlines() if line.startswith(("SigPnd:", "ShdPnd:"))]
        if not any(mask >> (number - 1) & 1 for mask in waiting):
            return
        time.sleep(0.01)


def is_resumable(program: Program) -> None:
    if not any(program.sessions.glob("*/*/records/*.json")):
        return
    ran = program.ask("resume", "--last", "-p", "still there?", "-m", "script:echo")
    assert ran.code == 0, (ran.out, ran.err)
    assert program.run("sessions", "check").code == 0


SAMPLE = {
    *(("plain", what, "SIGTERM") for what in ("stubborn", "stream", "approval", "nothing")),
    *(("plain", "command", "SIGINT"), ("plain", "nothing", "SIGHUP"), ("full", "stubborn", "SIGTERM")),
}
"""The cases tried on every run of the tests; the rest takes minutes."""


@linux
@pytest.mark.parametrize(
    ("front", "what", "number"),
    [
        pytest.param(front, what, number, marks=[] if (front, what, number.name) in SAMPLE else [pytest.mark.slow])
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
        t.until("lists the commands" if front == "plain" else "ctx")
        if what == "hook":
            t.send("fill the window\r")
            t.until("word word")
            t.settle(0.3, 5)
        if prompt:
            t.send(f"{prompt}\r")
        begun(t, what, mark)
        t.signal(number)
        if number == signal.SIGINT:
            arrived(t.pid, number)
            t.settle(0.2, 0.2)
            with contextlib.suppress(ProcessLookupError):
                t.signal(number)
        assert t.wait(PATIENCE) == CODES[number], "\n".join(t.history())
        assert b"Traceback" not in t.raw, t.raw.decode(errors="replace")
        assert b"Exception" not in t.raw, t.raw.decode(errors="replace")
        if what != "nothing":
            assert b"agentcli resume" in t.raw
    assert gone(mark), living(mark)
    is_resumable(program)


@linux
@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
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


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("front", ["full", "plain"])
def test_a_signal_that_comes_again_and_again_changes_nothing_of_the_end(
    program: Program, front: str, number: signal.Signals
) -> None:
    arguments, _ = doing(program, "nothing", "")
    env = {**program.env, "TERM": "dumb" if front == "plain" else "xterm-256color"}
    with Terminal([sys.executable, "-m", "agentcli", *arguments], columns=200, env=env, cwd=str(program.work)) as t:
        t.until("lists the commands" if front == "plain" else "ctx")
        ends = time.monotonic() + PATIENCE
        with contextlib.suppress(ProcessLookupError):
            while t.code is None and time.monotonic() < ends:
                t.signal(number)
                with contextlib.suppress(AssertionError):
                    t.wait(0.005)
        assert t.wait() == CODES[number]
        assert b"Traceback" not in t.raw, t.raw.decode(errors="replace")
