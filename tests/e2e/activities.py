"""Activities of the program that a signal may interrupt, and the state in which it must leave things."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from pathlib import Path
from typing import Any

from tests.e2e.program import Program
from tests.processes import living
from tests.terminal import Terminal

SOON = 2.0
"""Seconds that a program has to end; more where other tests have the processor as well."""
PATIENCE = SOON * 4
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def gone(mark: str, seconds: float = PATIENCE) -> bool:
    """True if no process with the mark is left within so many seconds."""
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
            # The newest exchange is kept, so something has to stand before it.
            script.write_text(json.dumps({"replies": [{"text": "word " * 3000}, {"text": "Enough."}]}))
            return [*options, "-m", f"script:{script}"], "/compress"
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


def interrupt(t: Terminal, number: signal.Signals) -> None:
    """Send the signal; SIGINT twice, since the first one only ends the turn."""
    t.signal(number)
    if number == signal.SIGINT:
        arrived(t.pid, number)
        t.settle(0.2, 0.2)
        with contextlib.suppress(ProcessLookupError):
            t.signal(number)


def is_resumable(program: Program) -> None:
    """Sessions that were begun are whole: the store finds nothing wrong, and the newest goes on."""
    if not any(program.sessions.glob("*/*/records/*.json")):
        return
    ran = program.ask("resume", "--last", "-p", "still there?", "-m", "script:echo")
    assert ran.code == 0, (ran.out, ran.err)
    assert ran.result["text"].endswith("still there?")
    assert program.run("sessions", "check").code == 0
