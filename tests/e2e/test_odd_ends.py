"""Odd terminals, broken pipes and text that is not text: the program says what it can and ends in time, without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from agentcli.permissions.sandbox.choose import detect
from tests.e2e.program import ROOT, Program
from tests.sampling import sampled
from tests.terminal import Terminal

SOON = 40.0
"""Seconds for a run that needs one itself: nothing may wait for an end that never comes."""
ECHO = ("-m", "script:echo")
AGENT = [sys.executable, "-m", "agentcli"]


def terminal(program: Program, *arguments: str, **more: Any) -> Terminal:
    return program.terminal(*arguments, env={**program.env, **more.pop("env", {})}, **more)


def shell(program: Program, script: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run `script` in bash, where $agent is the program."""
    env = {**program.env, "agent": " ".join(AGENT)}
    ran = subprocess.run(["bash", "-c", script], cwd=program.work, env=env, capture_output=True, timeout=SOON, **more)
    assert b"Traceback" not in ran.stderr, ran.stderr.decode()
    assert b"Exception ignored" not in ran.stderr, ran.stderr.decode()
    return ran


@pytest.mark.full
@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_reader_that_leaves_is_no_error(program: Program, form: str) -> None:
    ran = shell(
        program,
        f"$agent -p hello --mode yolo -m script:long-reply:20@0 -o {form} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
    )
    assert ran.stdout.split()[-1] in (b"0", b"141")
    assert ran.stderr == b""
    ran = shell(program, f"$agent -p hello --mode yolo -m script:echo -o {form} | head -c 0")
    assert ran.stderr == b""


@pytest.mark.full
def test_a_reader_that_leaves_in_the_middle_of_a_session_is_no_error(program: Program) -> None:
    shell(program, "printf 'word %.0s' {1..60000} | $agent -p - -m script:echo >/dev/null")
    for command in ("show 2", "export 2 -f md", "export 2 -f atif"):
        ran = shell(program, f"$agent sessions {command} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}")
        assert (command, ran.stdout, ran.stderr) == (command, b"0\n", b"")


@pytest.mark.full
@pytest.mark.parametrize(
    "command", sampled(["--help", "models", "tools", "config show --origin", "sessions list", "doctor"], 2)
)
def test_every_listing_may_be_left_unread(program: Program, command: str) -> None:
    assert shell(program, f"$agent {command} | head -c 0").stderr == b""


@pytest.mark.full
@pytest.mark.parametrize(
    "closed", sampled(["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-", "</dev/null >/dev/full"], 2)
)
def test_closed_descriptors_cost_no_traceback(program: Program, closed: str) -> None:
    shell(program, f"$agent -p hello -m script:echo {closed}")
    assert [r["parts"][-1]["text"] for r in program.records() if r["kind"] == "message"] == ["hello", "hello"]
    shell(program, f"$agent {closed}")
    shell(program, f"$agent --version {closed}")


@pytest.mark.parametrize(
    "command", sampled(["-p hello", "-p hello -o json", "-p hello -o stream-json", "models", "--version"], 2)
)
@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_an_answer_that_cannot_be_written_is_no_success(program: Program, command: str, closed: str) -> None:
    program.more = {"AGENTCLI_MODEL": "script:echo"}
    ran = shell(program, f"$agent {command} {closed}")
    assert ran.returncode == 1
    assert "agentcli: can't write the output: Bad file descriptor." in ran.stderr.decode()


def test_without_a_terminal_a_prompt_is_asked_for(program: Program) -> None:
    ran = program.run(*ECHO, stdin="")
    assert ran.code == 42
    assert "-p" in ran.err


@pytest.mark.full
@pytest.mark.parametrize("term", ["dumb", "", "no-such-terminal", "\0unset"])
def test_any_kind_of_terminal_will_do(program: Program, term: str) -> None:
    with terminal(program, *ECHO, env={"TERM": term}) as t:
        t.until(">")
        t.settle(0.3, 5)
        t.send("hello\r", until="hello")
        t.settle(0.3, 5)
        if term in ("dumb", "", "\0unset"):
            assert b"\x1b" not in t.raw
        t.send("\x04")
        assert t.wait(SOON) == 0
        assert b"Traceback" not in t.raw


@pytest.mark.full
@pytest.mark.parametrize("size", sampled([[1, 1], [1, 24], [80, 1], [5, 3], [2, 2]], 3))
def test_the_smallest_terminal_still_works(program: Program, size: tuple[int, int]) -> None:
    columns, rows = size
    with terminal(program, *ECHO, columns=columns, rows=rows) as t:
        t.bytes_until(b"\x1b[?2004h", 20)
        t.settle(0.5, 10)
        t.send("hello\r")
        # Nothing that tells of it fits on such a screen.
        ends = time.monotonic() + 20
        while len(list(program.sessions.glob("*/*/records/*-message.json"))) < 2:
            assert time.monotonic() < ends, t.screen()
            t.settle(0.05, 0.05)
        t.settle(0.5, 10)
        t.send("/help\r")
        t.settle(0.5, 10)
        t.send("\x04")
        assert t.wait(SOON) == 0
        assert b"Traceback" not in t.raw
    assert [r["parts"][-1]["text"] for r in program.records() if r["kind"] == "message"] == ["hello", "hello"]


STRANGE = [
    b"a\0b",
    b"\xed\xa0\x80 lone",
    b"\xff\xfe",
    b"\xc3",
    b"\x1b[2J\x07",
    "\u202e\U000e0041".encode(),
    b"a\r\nb\rc",
]


@pytest.mark.full
@pytest.mark.parametrize("text", sampled(STRANGE, 3))
@pytest.mark.parametrize("form", sampled(["text", "json", "stream-json"], 3))
def test_strange_bytes_on_stdin_are_answered(program: Program, text: bytes, form: str) -> None:
    ran = shell(program, f"$agent -p - -m script:echo -o {form}", input=text + b" end")
    assert ran.returncode == 0, ran.stderr
    assert b"end" in ran.stdout


@pytest.mark.full
@pytest.mark.parametrize("text", sampled([strange for strange in STRANGE if b"\0" not in strange], 2))
def test_strange_bytes_in_the_prompt_are_answered_and_kept(program: Program, text: bytes) -> None:
    ran = _said(program, text)
    assert ran.returncode == 0, ran.stderr
    assert b"end" in ran.stdout
    again = program.ask("resume", "--last", "-p", "go on", *ECHO)
    assert again.code == 0, again.err


def _said(program: Program, text: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [*map(os.fsencode, AGENT), b"-p", text + b" end", b"-m", b"script:echo", b"-o", b"json"]
    ran = subprocess.run(
        command, cwd=program.work, env=program.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SOON
    )
    assert b"Traceback" not in ran.stderr, ran.stderr.decode()
    return ran


@pytest.mark.full
def test_keys_that_are_no_text_are_survived(program: Program) -> None:
    with terminal(program, *ECHO) as t:
        t.until("k/1")
        for strange in STRANGE:
            os.write(t.master, b"\x1b[200~" + strange.replace(b"\x1b", b"") + b"\x1b[201~")
            if b"\x1b" not in strange:
                os.write(t.master, strange)
            t.settle(0.1, 2)
        os.write(t.master, b" end\r")
        t.settle(0.5, 5)
        t.send("\x03")
        t.settle(0.3)
        t.send("\x04")
        assert t.wait(SOON) == 0
        assert b"Traceback" not in t.raw


@pytest.mark.slow
def test_ten_megabytes_are_pasted_sent_and_answered(program: Program) -> None:
    with terminal(program, *ECHO) as t:
        t.until("k/1")
        began = time.monotonic()
        t.send("\x1b[200~" + "0123456789abcde\n" * (10 << 16) + "\x1b[201~", until="[Pasted", seconds=20)
        assert time.monotonic() - began < 20
        t.send("\r")
        t.settle(1.0, 20)
        t.send("\x04")
        assert t.wait(30) == 0
        assert b"Traceback" not in t.raw


@pytest.mark.full
@pytest.mark.skipif(detect().kind != "bubblewrap", reason="needs bubblewrap to make everything read-only")
def test_where_nothing_at_all_can_be_written_one_is_told_and_answered(program: Program) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        box = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--chdir", str(program.work)]
        command = [*box, sys.executable, "-m", "agentcli", *arguments]
        return subprocess.run(
            command, env=program.env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
        )

    answered = run("-p", "hi", "-m", "script:echo")
    assert (answered.returncode, answered.stdout) == (0, "hi\n")
    assert "not being saved" in answered.stderr
    assert "data folder" in run("doctor").stdout
    demo = run("demo")
    assert demo.returncode == 42
    assert "TMPDIR" in demo.stderr
    added = run("mcp", "add", "x", "http://127.0.0.1:1")
    assert added.returncode == 1
    folder = program.base / "config"
    assert added.stderr.startswith(f"agentcli: can't use {folder}: Read-only file system. "), added.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("PermissionError(1, 'Operation not permitted')", "Traceback"),
        (r"PermissionError(13, 'Permission denied', '/a\x1b[31mb')", r"agentcli: can't use /a\x1b[31mb: Permission"),
    ],
)
def test_only_a_refused_file_is_named_in_place_of_a_traceback(program: Program, raised: str, told: str) -> None:
    (program.work / "engine.py").write_text(f"def make(options):\n    raise {raised}\n")
    (program.work / "tasks.jsonl").write_text(json.dumps({"id": "one", "prompt": "hi"}))
    program.more = {"PYTHONPATH": f"{ROOT}{os.pathsep}{program.work}"}
    run = ("batch", "run", "tasks.jsonl", "out", "--isolate", "none", "--engine", "engine:make", *ECHO)
    process = program.start(*run)
    _, err = process.communicate(timeout=SOON)
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith(told) or err.startswith(told), err


COMMANDS = [
    "", "--plain", "hello", "-p hi -o text", "-p hi -o json", "-p hi -o stream-json", "-p -", "-p hi -m nonsense -o json",
    "resume", "resume --last -p hi", "-c", "sessions list", "sessions list --json", "sessions show", "sessions search words",
    "sessions check", "sessions export", "models", "tools --json", "doctor", "config show --origin", "permissions show",
    "permissions explain ls", "permissions explain --json -", "context show", "stats", "--help", "--version", "demo -p x -o json",
    "nonsense --flag",
]  # fmt: skip
ENDS = [
    "<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-", "</dev/null", "</dev/null >/dev/full", "</dev/null 2>/dev/full",
    "</dev/null | head -c 0", "</dev/null | head -n 1", r"< <(printf 'a\0b\n\xed\xa0\x80\xff')",
]  # fmt: skip
SAMPLE = {
    *(("-p hi -o json", end) for end in ("2>&-", "<&- >&- 2>&-", "</dev/null 2>/dev/full")),
    *(("sessions list", end) for end in (">&-", "</dev/null | head -n 1", "</dev/null >/dev/full")),
    *(("--plain", end) for end in ("<&-", "</dev/null | head -c 0")),
    ("models", ">&-"),
    ("permissions explain --json -", ENDS[-1]),
}


@pytest.mark.parametrize(
    ("command", "end"),
    [
        pytest.param(command, end, marks=[] if (command, end) in SAMPLE else [pytest.mark.slow])
        for command in COMMANDS
        for end in ENDS
    ],
)
def test_no_command_waits_or_breaks_at_any_kind_of_end(program: Program, command: str, end: str) -> None:
    program.more = {"AGENTCLI_MODEL": "script:echo"}
    ran = shell(program, f"$agent {command} {end}; exit ${{PIPESTATUS[0]}}", stdin=subprocess.DEVNULL)
    assert 0 <= ran.returncode < 128, ran.stderr.decode()


@pytest.mark.full
def test_calls_with_text_that_no_system_call_takes_are_refused_and_the_run_goes_on(program: Program) -> None:
    odd = {"write": {"file_path": "v\udfff", "content": "x"}, "read": {"file_path": "a\0"}, "list": {"path": "\ud800"}}
    odd |= {"bash": {"command": "cat \udfff"}, "glob": {"pattern": "\udfff*"}, "grep": {"pattern": "\udfff"}}
    calls = [{"name": name, "input": given} for name, given in odd.items()]
    (program.base / "s.json").write_text(json.dumps({"replies": [{"calls": calls}, {"text": "Done."}]}))
    for mode in ("yolo", "ask"):
        ran = program.ask("-p", "go", "--mode", mode, "-m", f"script:{program.base / 's.json'}")
        assert (ran.code, ran.result["text"]) == (0, "Done.")
        assert len(ran.of("tool_result")) == len(calls)


@pytest.mark.parametrize(("script", "printed", "code"), [("return 3", ["left"], 3), ("1 / 0", ["left", "cleared"], 1)])
def test_a_process_cleans_up_and_ends_with_its_code_before_python_clears_memory(
    program: Program, script: str, printed: list[str], code: int
) -> None:
    text = f"""
import atexit
from agentcli.__main__ import process
class Kept:
    def __del__(self):
        print("cleared")
kept = Kept()
def run():
    atexit.register(print, "left")
    {script}
process(run)
"""
    ran = subprocess.run([sys.executable, "-c", text], env=program.env, capture_output=True, text=True, timeout=SOON)
    assert (ran.stdout.splitlines(), ran.returncode) == (printed, code), ran.stderr
    assert ("ZeroDivisionError" in ran.stderr) is (code == 1)
