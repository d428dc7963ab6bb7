"""A session in one terminal, listed, followed, answered and steered from another."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.e2e.program import Program

REPLIES = [
    {"text": "Let me make it.", "calls": [{"name": "bash", "input": {"command": "touch made.txt"}, "id": "c1"}]},
    {"text": "All done."},
    {"text": "And more."},
]


def model(program: Program) -> str:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": REPLIES}))
    return f"script:{file}"


@pytest.mark.parametrize("form", [(), pytest.param(("--plain",), marks=pytest.mark.slow)], ids=["terminal", "plain"])
def test_another_terminal_answers_a_question_and_goes_on_with_the_session(program: Program, form: tuple[str]) -> None:
    with program.terminal("-m", model(program), "--mode", "ask", *form, "--set", "ui.remote=true", columns=500) as t:
        t.until("ask ·" if not form else "mode ask")
        t.send("make it\r", until="1. Yes" if not form else "1 yes")
        (row,) = json.loads(program.run("ps", "--json").out)
        assert (row["state"], row["shared"], row["folder"]) == ("waits", True, str(program.work))
        assert "needs your answer" in program.run("ps").out
        with program.terminal("attach", row["session"]) as a:
            a.until("> make it", "7. No, tell it what to do instead")
            a.settle(0.7)
            a.send("1\r", until="All done.")
            t.until("All done.", "Answered by agentcli attach: Yes")
            assert (program.work / "made.txt").exists()
            a.until("The session is idle.")
            a.send("and more\r")
            t.until("And more.")
            a.until("And more.")
            a.send("\x04", until="Detached.")
            assert a.wait() == 0
        assert json.loads(program.run("ps", "--json").out)[0]["state"] == "idle"
        t.send("\x04")
        t.wait()
    assert "No session is open." in program.run("ps").out


@pytest.mark.full
def test_input_from_dev_null_follows_a_session_and_a_file_is_typed_into_it(program: Program) -> None:
    with program.terminal("-m", "script:echo", "--set", "ui.remote=true") as t:
        t.until("ask ·")
        t.send("first words\r", until="first words")
        (row,) = json.loads(program.run("ps", "--json").out)
        assert f" {row['pid']} " in program.run("ps").out, "a process id is no amount: it has no commas"
        follower = program.start("attach", row["session"])
        assert follower.stdout is not None
        while "this only follows the session" not in (line := follower.stdout.readline()):
            assert line, follower.communicate()[1]
        typed = program.base / "typed.txt"
        typed.write_text("second words\n")
        with typed.open() as file:
            typing = program.start("attach", row["session"], stdin=file)
            assert "Detached." in typing.communicate(timeout=60)[0]
        t.until("> second words")
        while "> second words" not in (line := follower.stdout.readline()):
            assert line, follower.communicate()[1]
        follower.send_signal(signal.SIGINT)
        assert "Detached." in follower.communicate(timeout=60)[0]
        assert (typing.returncode, follower.returncode) == (0, 0)


@pytest.mark.slow
def test_a_terminal_that_was_killed_is_waited_for_until_its_session_is_resumed(program: Program) -> None:
    more = ("-m", "script:echo", "--set", "ui.remote=true", "--plain")
    with program.terminal(*more) as t:
        t.until("mode ask")
        t.send("first words\r", until="Finished")
        (row,) = json.loads(program.run("ps", "--json").out)
        with program.terminal("attach", row["session"]) as a:
            a.until("first words")
            t.send("live words\r")
            a.until("live words", "The session is idle.")
            os.kill(row["pid"], signal.SIGKILL)
            a.until("The session has ended.")
            with program.terminal("resume", row["session"], *more) as again:
                again.until("mode ask")
                again.send("second words\r", until="Finished")
                a.until("> second words")
                a.settle()
                assert "\n".join(a.history()).count("> first words") == 1
                assert "\n".join(a.history()).count("> live words") == 1
                assert "\n".join(a.history()).count("> second words") == 1


@pytest.mark.full
def test_nothing_is_shared_unless_the_person_says_so(program: Program) -> None:
    with program.terminal("-m", "script:echo", "--plain") as t:
        t.until("mode ask")
        t.send("hello\r", until="Finished")
        assert not (program.base / "state" / "agentcli" / "live").exists()
        (row,) = json.loads(program.run("ps", "--json").out)
        assert (row["state"], row["shared"], row["last"]) == ("idle", False, "hello")
        with program.terminal("attach", row["session"]) as a:
            a.until("> hello")
            a.send("more\r", until="is not shared")
            t.send("again\r")
            a.until("> again")
        t.send("/remote on\r", until="Shared.")
        assert json.loads(program.run("ps", "--json").out)[0]["shared"]
        t.send("/remote off\r", until="No longer shared.")
        assert not json.loads(program.run("ps", "--json").out)[0]["shared"]


@pytest.mark.slow
def test_another_session_in_the_same_terminal_is_followed_and_a_session_that_is_not_stored_is_not_shared(
    program: Program,
) -> None:
    with program.terminal("-m", "script:echo", "--set", "ui.remote=true") as t:
        t.until("ask ·")
        t.send("first words\r", until="first words")
        (row,) = json.loads(program.run("ps", "--json").out)
        with program.terminal("attach", row["session"]) as a:
            a.until("> first words")
            t.send("/new\r")
            a.until("This is session")
            t.send("second words\r")
            a.until("> second words")
    with program.terminal("-m", "script:echo", "--no-session", "--set", "ui.remote=true", "third words") as t:
        t.until("Only a stored session can be shared.", "third words")
