"""The real program in a real terminal: what a person does in a first hour, read off the screen."""

from __future__ import annotations

import json
import re
import signal
import time
from typing import Any

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Asked, Idle, Loopback
from tests.terminal import Terminal

CLAUDE = "anthropic/claude-sonnet-5"


def terminal(program: Program, *arguments: str, columns: int = 100, rows: int = 30, forked: bool = True) -> Terminal:
    return program.terminal(*arguments, columns=columns, rows=rows, forked=forked)


def leave(t: Terminal) -> str:
    """Ctrl-D, and the id that the last line names."""
    t.settle()
    t.send("\x04")
    assert t.wait() == 0
    [line] = [row for row in t.history() if row.startswith("agentcli resume ")]
    return line.split()[-1]


def model(asked: Asked) -> Any:
    """Reads, edits, and talks for a long time when asked to."""
    said = str(asked.turns)
    if "and now" in said:
        return say("After the resume I still know that mango is the word.")
    if "tell me a long story" in asked.last_text:
        return Idle(say("Once upon a time. " * 20), after=10, seconds=30)
    steps = sum(1 for turn in asked.turns if turn["role"] == "assistant")
    replies = {
        0: say("I read them.", call("read", file_path="fruit.txt"), call("read", file_path="notes.txt")),
        1: say("I change it.", call("edit", file_path="fruit.txt", old_string="apple", new_string="mango")),
    }
    return replies.get(steps, say("It says **mango** now."))


def test_a_first_hour(program: Program) -> None:
    (program.work / "fruit.txt").write_text("apple\n")
    (program.work / "notes.txt").write_text("filler line for the window\n" * 900)
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE, forked=False) as t:
            t.until("/968k")
            t.send("use mango\r", until="1. Yes")
            screen = "\n".join(t.screen())
            assert re.search(r"1 -\s*apple", screen), screen
            assert re.search(r"1 \+\s*mango", screen), screen
            t.send("1", until="It says mango now.")
            assert (program.work / "fruit.txt").read_text().startswith("mango\n")

            t.send("tell me a long story\r", until="Once upon a time.")
            began = time.monotonic()
            t.send("\x1b", until="nterrupted")
            assert time.monotonic() - began < 10
            assert server.requests[-1].gone.wait(5), "the connection stays open"

            t.send("/compress\r", until="tokens · Summarised")
            session = leave(t)

        with terminal(program, "resume", session) as t:
            t.until("/968k")
            t.send("and now?\r", until="mango is the word")
            assert leave(t) == session
    assert not [asked.refused for asked in server.requests if asked.refused]
    assert "state_snapshot" in str(server.requests[-1].json)


def test_wrong_usage_leaves_a_clean_terminal(program: Program) -> None:
    with terminal(program, "--nonsense", columns=200) as t:
        assert t.wait() == 2
        [shown] = [row for row in t.history() if row]
    assert shown.startswith("agentcli: No such option: --nonsense")
    assert shown.endswith(". See `agentcli --help`.")


@pytest.mark.full
def test_no_is_told_to_the_model_with_its_reason(program: Program) -> None:
    (program.work / "fruit.txt").write_text("apple\n")
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE) as t:
            t.until("/968k")
            t.send("use mango\r", until="1. Yes")
            t.send("n")
            t.settle()
            t.send("kiwi is better\r", until="It says mango now.")
            leave(t)
    assert (program.work / "fruit.txt").read_text() == "apple\n"
    assert "kiwi is better" in str(server.requests[-1].json)


def test_what_is_typed_while_the_program_loads_is_not_lost(program: Program) -> None:
    with terminal(program, "--set", "model=script:echo") as t:
        t.send("hello early bird\r", until="k/1")
        ends = time.monotonic() + 20
        while str(t.history()).count("hello early bird") < 2 and time.monotonic() < ends:
            t.settle(0.2, 0.5)
        t.settle(0.5)
        leave(t)
    said = [(r["role"], r["parts"][-1]["text"]) for r in program.records() if r["kind"] == "message"]
    assert said == [("user", "hello early bird"), ("assistant", "hello early bird")]


def test_without_a_key_five_lines_help_and_a_pasted_key_is_kept_unseen(program: Program) -> None:
    program.more = {"HTTPS_PROXY": "http://127.0.0.1:9"}  # nobody is there to try it with
    with terminal(program) as t:
        t.until("Paste a key")
        shown = "\n".join(t.history())
        assert "export ANTHROPIC_API_KEY" in shown
        assert "export GEMINI_API_KEY" in shown
        t.send("sk-ant-pasted-by-a-person\r", until="Stored the key in")
        t.until("k/9")
        leave(t)
        assert b"pasted-by" not in t.raw
    kept = program.base / "config/agentcli/keys.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    others = [path for path in program.base.rglob("*") if path.is_file() and path != kept]
    assert others
    assert not [path for path in others if b"pasted-by" in path.read_bytes()]
    assert "stored key" in program.run("doctor").out
    assert program.run("auth", "remove", "anthropic").code == 0
    with terminal(program) as t:
        t.until("Paste a key")
        t.send("\r")
        assert t.wait() == 41


def test_a_kill_in_the_middle_of_a_reply_leaves_a_session_that_resumes(program: Program) -> None:
    with Loopback(model) as server:
        program.more = server.env
        process = program.start("-p", "tell me a long story", "-m", CLAUDE, "-o", "stream-json")
        assert process.stdout is not None
        seen = ""
        while "Once upon" not in seen:
            seen += process.stdout.readline()
        time.sleep(1.2)  # a streaming reply is saved at least every second
        process.send_signal(signal.SIGKILL)
        process.communicate()
        ran = program.ask("resume", "--last", "-p", "and now?")
    assert ran.code == 0
    assert not [asked.refused for asked in server.requests if asked.refused]
    kinds = [(r["role"], r.get("stop")) for r in program.records() if r["kind"] == "message"]
    assert kinds == [("user", None), ("assistant", "interrupted"), ("user", None), ("assistant", "end_turn")]
    kept = program.records()[2]["parts"][0]["text"]
    assert kept.startswith("Once upon a time.")


@pytest.mark.full
def test_a_kill_in_the_middle_of_a_tool_leaves_a_session_that_resumes_and_runs_nothing_twice(program: Program) -> None:
    def slow(asked: Asked) -> Any:
        if "and now" in str(asked.turns):
            return say("I see that it was interrupted.")
        return say("I run it.", call("bash", command="echo x >> ran.txt; sleep 60"))

    with Loopback(slow) as server:
        program.more = server.env
        process = program.start("-p", "run it", "-m", CLAUDE, "--mode", "yolo", "-o", "stream-json")
        while not (program.work / "ran.txt").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        ran = program.ask("resume", "--last", "-p", "and now?")
    assert ran.code == 0, ran
    assert not [asked.refused for asked in server.requests if asked.refused]
    assert (program.work / "ran.txt").read_text() == "x\n"
    [result] = [r for r in program.records() if r["kind"] == "tool_result"]
    assert result["status"] == "interrupted"
    assert "may or may not" in result["output"]


@pytest.mark.full
def test_past_sessions_can_be_chosen_from_without_a_key(program: Program) -> None:
    assert program.run("-p", "the mango session", "-m", "script:echo").code == 0
    with terminal(program, "resume") as t:
        t.until("the mango session")
        t.send("\r", until="ask · echo")
        leave(t)


@pytest.mark.full
@pytest.mark.parametrize(("front", "key", "code"), [([], "\x1b", 0), ([], "\x03", 130), (["--plain"], "\r", 0)])
def test_no_session_is_opened_where_none_is_chosen(program: Program, front: list[str], key: str, code: int) -> None:
    assert program.run("-p", "the mango session", "-m", "script:echo").code == 0
    with terminal(program, "resume", *front) as t:
        t.until("nothing to keep it" if front else "the mango session")
        t.send(key)
        assert t.wait(20) == code
        shown = "\n".join(t.history())
    assert "No session chosen." in shown
    assert "agentcli resume" not in shown
    assert "/resume" not in shown, "nobody typed it"
    assert len([*program.sessions.glob("*/*")]) == 1


@pytest.mark.full
@pytest.mark.parametrize("typed", ["hello", "/resume nosuch"])
def test_what_was_typed_ahead_is_not_run_where_no_session_is_chosen(program: Program, typed: str) -> None:
    assert program.run("-p", "the mango session", "-m", "script:echo").code == 0
    with terminal(program, "resume", "-m", "script:echo") as t:
        t.send(f"{typed}\r", until="the mango session")
        t.send("\x1b")
        assert t.wait(20) == 0
    assert len([*program.sessions.glob("*/*")]) == 1


@pytest.mark.full
def test_a_copy_of_the_chosen_session_is_opened_where_one_is_asked_for(program: Program) -> None:
    assert program.run("-p", "the mango session", "-m", "script:echo").code == 0
    with terminal(program, "resume", "--fork") as t:
        t.until("the mango session")
        t.send("\r", until="ask · echo")
        leave(t)
    assert len([*program.sessions.glob("*/*/records")]) == 2


@pytest.mark.full
def test_another_session_is_chosen_where_the_first_one_cannot_be_opened(program: Program) -> None:
    assert program.run("-p", "the mango session", "-m", "script:echo").code == 0
    assert program.run("-p", "the lemon session", "-m", "script:echo").code == 0
    with terminal(program, "resume", "--last") as other, terminal(program, "resume") as t:
        other.until("ask · echo")
        t.until("the lemon session")
        t.send("\r", until="is open for writing in another agentcli")
        t.until("Resume which session?")
        t.send("mango\r", until="ask · echo")
        leave(t)
        leave(other)


def test_with_no_session_to_choose_from_none_is_opened(program: Program) -> None:
    with terminal(program, "resume", "-m", "script:echo") as t:
        assert t.wait(20) == 42
        assert "This project has no session yet." in "\n".join(t.history())
    assert not [*program.sessions.glob("*/*")]


@pytest.mark.full
@pytest.mark.parametrize(("key", "told"), [("\x03", "Interrupted."), ("\x1b", "It goes on.")])
def test_ctrl_c_in_an_answer_of_ones_own_interrupts_the_turn_and_esc_declines(
    program: Program, key: str, told: str
) -> None:
    choices = [{"label": "red", "description": ""}, {"label": "green", "description": ""}]
    asked = {"questions": [{"question": "Which colour?", "header": "Colour", "options": choices}]}
    replies = [{"calls": [{"name": "ask_user", "input": asked}]}, {"text": "It goes on."}]
    script = program.work / "ask.json"
    script.write_text(json.dumps({"replies": replies}))
    with terminal(program, "-m", f"script:{script}", "go") as t:
        t.until("Something else")
        t.send("3", until="Enter send")
        t.send(key, until=told)
        leave(t)
        assert ("It goes on." in "\n".join(t.history())) == (key == "\x1b")


def test_a_new_session_names_the_jobs_that_end_with_the_old_one(program: Program) -> None:
    job = {"name": "bash", "input": {"command": "sleep 30", "run_in_background": True}}
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [{"calls": [job]}, {"text": "It runs."}]}))
    with terminal(program, "--mode", "yolo", "-m", f"script:{script}") as t:
        t.until("k/1")
        t.send("go\r", until="It runs.")
        t.until("1 job")
        t.send("/new\r", until="Ended job-1: sleep 30")
        t.until("── session ")
        leave(t)
