"""Goals as people use them: headless, at a terminal, and over a kill."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.sampling import first
from tests.terminal import Terminal

WAIT = {"name": "bash", "input": {"command": "echo begun; until [ -e go ]; do sleep 0.1; done; echo over"}}
TOUCH = {"name": "bash", "input": {"command": "touch done; echo made"}}
CHECK = "--check 'test -e done' make the file done"


def script(program: Program, *replies: dict[str, Any], name: str = "script") -> tuple[str, ...]:
    file = program.base / f"{name}.json"
    file.write_text(json.dumps({"replies": replies}))
    return ("-m", f"script:{file}", "--mode", "yolo")


def judge(program: Program, **answer: Any) -> None:
    """Let another script judge, always with this answer."""
    file = program.base / "judge.json"
    file.write_text(json.dumps({"replies": [{"text": json.dumps(answer)}]}))
    program.config(f'[models."script/{program.base}/script.json"]\nsummary_model = "script:{file}"\n')


def states(program: Program) -> list[dict[str, Any]]:
    return [record["data"] for record in program.records() if record["kind"] == "feature"]


def test_a_goal_is_reached_over_turns_without_a_terminal(program: Program) -> None:
    asked = script(program, {"text": "Done!"}, {"calls": [TOUCH]}, {"text": "Made it."})
    ran = program.ask("-p", "--goal", CHECK, *asked)
    assert (ran.code, ran.result["subtype"], ran.result["text"]) == (0, "done", "Made it.")
    assert [state["turn"] for state in states(program)] == [1, 2, 2]
    assert any("Goal reached (turn 2 of 25" in line["message"] for line in ran.of("warning"))


@pytest.mark.full
def test_a_goal_beside_a_prompt_begins_with_the_prompt(program: Program) -> None:
    asked = script(program, {"calls": [TOUCH]}, {"text": "Made it."})
    ran = program.run("-p", "Make it.", "--goal", CHECK, *asked)
    assert (ran.code, ran.out) == (0, "Made it.\n")
    [prompt] = [record for record in program.records() if record.get("role") == "user"]
    assert [part["text"] for part in prompt["parts"] if not part["synthetic"]] == ["Make it."]


@pytest.mark.parametrize(
    ("goal", "code", "subtype"),
    first(
        1,
        [
            ("--turns 1 --check false never", 53, "limit"),
            ("--check false never", 1, "failed"),
            ("--turns x y", 2, "usage"),
        ],
    ),
)
def test_a_goal_that_is_not_reached_is_never_exit_0(program: Program, goal: str, code: int, subtype: str) -> None:
    ran = program.ask("-p", f"/goal {goal}", *script(program, {"text": "Done!"}))
    assert (ran.code, ran.result["subtype"]) == (code, subtype)


def test_a_model_judges_by_what_it_quotes(program: Program) -> None:
    asked = script(program, {"text": "Done!"}, {"calls": [WAIT]}, {"text": "Really."})
    (program.work / "go").touch()
    judge(program, verdict="reached", evidence=[{"result": 8, "quote": "begun over"}], reason="it is over")
    ran = program.ask("-p", "/goal it is over", *asked)
    told = [line["message"] for line in ran.of("warning")]
    assert (ran.code, states(program)[-1]["status"]) == (0, "reached"), told
    assert sum("there is no result 8. It does not count." in message for message in told) == 1
    assert any("“begun over” (record 8)" in message for message in told)


@pytest.mark.full
def test_a_goal_survives_a_kill_in_its_second_turn(program: Program) -> None:
    running = program.start("-p", f"/goal {CHECK}", *script(program, {"text": "Done!"}, {"calls": [WAIT]}))
    assert running.stderr is not None
    while "Goal, turn 1 of 25" not in (line := running.stderr.readline()):
        assert line, "it ended early"
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert [state["turn"] for state in states(program)] == [1, 2]
    (program.work / "go").touch()
    noted = program.ask("-c", "-p", "/goal", *script(program, {"text": "x"}))
    assert "Goal (paused): make the file done\nProgress: turn 2 of 25" in noted.result["text"]
    assert any("is not reached (turn 2 of 25" in line["message"] for line in noted.of("warning"))
    plain = program.ask("-c", "-p", "hello", *script(program, {"text": "Hello."}))
    assert (plain.code, plain.result["text"], states(program)[-1]["turn"]) == (0, "Hello.", 2)
    ran = program.ask("-c", "-p", "/goal resume", *script(program, {"calls": [TOUCH]}, {"text": "Made it."}))
    assert (ran.code, ran.result["text"]) == (0, "Made it.")
    assert [state["turn"] for state in states(program)] == [1, 2, 3, 3]
    assert program.run("sessions", "check").code == 0


@pytest.mark.full
def test_a_goal_survives_a_compaction(program: Program) -> None:
    long = {"name": "bash", "input": {"command": "seq 1 3000"}}
    first = program.run("-p", f"/goal --turns 1 {CHECK}", *script(program, {"calls": [long]}, {"text": "Done!"}))
    assert first.code == 53
    asked = script(program, {"calls": [TOUCH]}, {"text": "Made it."})
    assert program.run("-c", "-p", "/compress", *asked).code == 0
    assert any(record["kind"] == "compaction" for record in program.records())
    ran = program.run("-c", "-p", "/goal resume --turns 3", *asked)
    assert (ran.code, ran.out) == (0, "Made it.\n")


@pytest.mark.full
def test_what_a_compaction_in_the_middle_of_a_turn_took_is_still_evidence(program: Program) -> None:
    proof, *long = ("printf '%s passed' 12", "seq 1 9000", "seq 2 9000")
    calls = [{"calls": [{"name": "bash", "input": {"command": command}}]} for command in (proof, *long)]
    asked = script(program, *calls, {"text": "All pass."})
    judge(program, verdict="reached", evidence=[{"result": 5, "quote": "12 passed"}], reason="they pass")
    window = "window = 20_000\n"
    config = program.base / "config/agentcli/config.toml"
    config.write_text(config.read_text() + window)
    ran = program.ask("-p", "/goal the tests pass", *asked)
    assert ran.of("compaction")[-1]["status"] == "compressed"
    [compaction] = [record for record in program.records() if record["kind"] == "compaction" and record["covers"][0]]
    assert compaction["covers"][1] >= 5
    assert (ran.code, states(program)[-1]["status"]) == (0, "reached")
    assert any("“12 passed” (record 5)" in line["message"] for line in ran.of("warning"))


def terminal(program: Program, *replies: dict[str, Any]) -> Terminal:
    return program.terminal(*script(program, *replies))


def test_a_goal_at_a_terminal_shows_its_progress_and_is_paused_by_esc(program: Program) -> None:
    with terminal(program, {"text": "I will."}, {"calls": [WAIT]}, {"calls": [TOUCH]}, {"text": "Made it."}) as t:
        t.until("? keys")
        t.send(f"/goal {CHECK}\r", until="Goal, turn 1 of 25")
        t.until("  begun")
        t.send("/goal\r", until="Goal (active): make the file done")
        t.send("\x1b", until="Goal paused (interrupted)")
        t.send("/goal resume\r", until="Goal reached (turn 3 of 25")
        t.until("Made it.")
        t.send("/goal\r", until="Goal (reached)")


@pytest.mark.full
def test_a_killed_terminal_finds_its_goal_again(program: Program) -> None:
    with terminal(program, {"calls": [WAIT]}) as t:
        t.until("? keys")
        t.send(f"/goal {CHECK}\r", until="  begun")
        t.signal(signal.SIGKILL)
        t.wait()
    (program.work / "go").touch()
    with program.terminal("-c", *script(program, {"calls": [TOUCH]}, {"text": "Made it."})) as t:
        t.until("The goal “make the file done” is not reached (turn 1 of 25")
        t.settle()
        assert "Made it." not in "\n".join(t.history())
        t.send("/goal resume\r", until="Goal reached (turn 2 of 25")
