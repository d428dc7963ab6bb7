"""Timers as people use them: at a terminal, line by line, without one, and over a kill."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest

from tests.e2e.program import Program


def script(program: Program, *replies: dict[str, Any]) -> tuple[str, str]:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return ("-m", f"script:{file}")


def prompts(program: Program) -> list[str]:
    said = [record for record in program.records() if record.get("role") == "user"]
    return [part["text"] for record in said for part in record["parts"] if not part["synthetic"]]


@pytest.mark.full
def test_a_loop_runs_while_nothing_else_does_and_waits_for_an_approval(program: Program) -> None:
    touch = {"name": "bash", "input": {"command": "touch asked"}}
    with program.terminal(
        *script(program, {"text": "First."}, {"calls": [touch]}, {"text": "Allowed."}, {"text": "Last."})
    ) as t:
        t.until("? keys")
        t.send("/loop 1s --times 3 look\r", until="Timer 1. every 1 s, 3 left")
        t.until("First.", "touch asked", "❯ 1.")
        time.sleep(2.5)  # the third run is due meanwhile
        assert prompts(program) == ["look", "look"]
        t.send("1", until="Allowed.")
        t.until("Last.")
        t.send("/loop\r", until="No timers.")
    assert prompts(program) == ["look", "look", "look"]


@pytest.mark.full
def test_a_loop_at_a_plain_terminal_leaves_the_line_to_the_person(program: Program) -> None:
    with program.terminal(
        "--plain", *script(program, {"text": "First."}, {"text": "Second."}, {"text": "Third."})
    ) as t:
        t.until("> ")
        t.send("/loop 1s --times 2 look\r", until="First.")
        t.until("Second.")
        t.send("mine\r", until="Third.")
    assert prompts(program) == ["look", "look", "mine"]


@pytest.mark.full
def test_timers_survive_a_kill_and_wait_for_resume(program: Program) -> None:
    with program.terminal(*script(program, {"text": "First."})) as t:
        t.until("? keys")
        t.send("/every 1s look\r", until="First.")
        t.signal(signal.SIGKILL)
        t.wait()
    before = len(prompts(program))
    with program.terminal("-c", *script(program, {"text": "Again."})) as t:
        t.until("A timer waits: /loop resume continues")
        t.settle(2.0)
        assert len(prompts(program)) == before
        t.send("/loop resume\r", until="Again.")
        t.send("/loop cancel\r", until="Cancelled timer 1.")
    assert program.run("sessions", "check").code == 0


@pytest.mark.full
def test_a_run_without_a_terminal_ends_with_its_timers_and_is_resumed_after_a_kill(program: Program) -> None:
    running = program.start("-p", "/loop 2s --times 50 look", *script(program, {"text": "Hello."}), "-o", "stream-json")
    assert running.stdout is not None
    while "Waiting for timer 1" not in (line := running.stdout.readline()):
        assert line, "it ended early"
    running.send_signal(signal.SIGKILL)
    running.communicate()
    noted = program.ask("-c", "-p", "/loop", *script(program, {"text": "x"}))
    assert "49 left" in noted.result["text"]
    plain = program.ask("-c", "-p", "hello", *script(program, {"text": "Hello."}))
    assert plain.code == 0, "it does not wait for timers that were not resumed"
    before = len(prompts(program))
    again = program.start("-c", "-p", "/loop resume", *script(program, {"text": "Again."}), "-o", "stream-json")
    assert again.stdout is not None
    while "Waiting for timer 1" not in (line := again.stdout.readline()):
        assert line, "it ended early"
    again.send_signal(signal.SIGKILL)
    again.communicate()
    assert prompts(program)[before:] == ["look"]


@pytest.mark.parametrize("word", ["loop", "every"])
def test_the_command_that_ends_a_timer_is_asked_before_its_first_prompt(program: Program, word: str) -> None:
    (program.work / "done").write_text("")
    ended = program.ask("-p", f"/{word} 1s --until 'test -e done' look", *script(program, {"text": "never sent"}))
    assert (ended.code, ended.of("message")) == (0, [])
