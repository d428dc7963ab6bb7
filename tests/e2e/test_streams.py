"""stdin, stdout, stderr and signals of a run without a person."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import time

import pytest

from tests.e2e.program import Program
from tests.sampling import sampled


@pytest.mark.full
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_run_that_waits_for_its_prompt_ends_by_a_signal_with_a_result(
    program: Program, number: int, code: int
) -> None:
    ended, out, err = ended_by(number, program, "-p", "-", "-m", "script:echo", "-o", "json")
    assert ended == code, err
    assert json.loads(out)["exit_code"] == code
    assert "Traceback" not in err


@pytest.mark.full
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_command_that_a_signal_ends_has_the_code_of_the_signal(program: Program, number: int, code: int) -> None:
    ended, _, err = ended_by(number, program, "auth", "set", "anthropic")
    assert (ended, "Traceback" in err) == (code, False), err


def ended_by(number: int, program: Program, *arguments: str) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a program that a signal ends once it has read a part of its stdin and waits for more."""
    reading, writing = os.pipe()
    process = program.start(*arguments, stdin=reading)
    os.write(writing, b"half of it")
    while unread(reading):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    os.close(reading)
    os.close(writing)
    return process.returncode, out, err


def unread(pipe: int) -> int:
    """Bytes in a pipe that nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4), sys.byteorder)


@pytest.mark.full
def test_a_stdin_that_nothing_can_be_read_from_is_an_empty_one(program: Program) -> None:
    with open(os.devnull, "wb") as write_only:
        process = program.start("-p", "hi", "-m", "script:echo", "--mode", "yolo", stdin=write_only)
        assert process.communicate(timeout=60) == ("hi\n", "")


@pytest.mark.full
@pytest.mark.parametrize(
    ("form", "number", "code"),
    sampled(
        [("text", signal.SIGTERM, 143), ("stream-json", signal.SIGINT, 130), ("stream-json", signal.SIGHUP, 129)], 3
    ),
)
def test_a_signal_ends_a_run_that_nobody_reads(program: Program, form: str, number: int, code: int) -> None:
    process = program.start("-p", "go", "-m", "script:long-reply:14000@0", "-o", form)
    assert process.stdout is not None
    deadline = time.monotonic() + 100
    while unread(process.stdout.fileno()) < 60_000:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(10) == code
    process.communicate()


@pytest.mark.full
@pytest.mark.parametrize("unread", ["2>/dev/full", "2> >(true)"])
def test_a_run_goes_on_where_nobody_takes_its_warnings(program: Program, unread: str) -> None:
    command = f"sleep 0.5; {sys.executable} -m agentcli -p hi -m script:echo"
    script = f"{{ {command}; }} {unread}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=program.work, env=program.env, stdout=subprocess.PIPE, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b"hi\n")


@pytest.mark.slow
def test_pipes_that_do_not_block_lose_nothing(program: Program) -> None:
    (stdin, prompt), (answer, stdout) = os.pipe(), os.pipe()
    for end in (stdin, stdout):
        os.set_blocking(end, False)
    process = program.start("-p", "-", "-m", "script:long-reply:14000@0", stdin=stdin, stdout=stdout)
    for end in (stdin, stdout):
        os.close(end)
    time.sleep(0.5)
    os.write(prompt, b"go")
    os.close(prompt)
    with open(answer, "rb") as reading:
        while process.poll() is None and unread(answer) < 65_536:
            time.sleep(0.01)
        said = reading.read().decode()
    _, err = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in err) == (0, False), err
    assert said == program.records()[-1]["parts"][-1]["text"] + "\n"
    assert len(said) > 65_536


@pytest.mark.full
def test_a_pipe_is_read_for_as_long_as_a_program_holds_it_which_is_said_after_three_seconds(program: Program) -> None:
    reading, writing = os.pipe()
    process = program.start("-p", "what is wrong?", "-m", "script:echo", "--mode", "yolo", stdin=reading)
    os.close(reading)
    assert process.stderr is not None
    assert process.stderr.readline() == "agentcli: waiting for piped input. To run without it, add </dev/null.\n"
    os.write(writing, b"error: 3 tests failed\n")
    os.close(writing)
    assert process.communicate(timeout=60) == ("error: 3 tests failed\n\nwhat is wrong?\n", "")
    assert process.returncode == 0


@pytest.mark.full
def test_a_socket_that_is_only_held_open_counts_as_empty(program: Program) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = program.start("-p", "hi", "-m", "script:echo", "--mode", "yolo", stdin=theirs)
        out, err = process.communicate(timeout=60)
    assert (out, err) == ("hi\n", "agentcli: no input on stdin, continuing without it.\n")


@pytest.mark.full
def test_a_stdin_without_end_is_refused(program: Program) -> None:
    with open("/dev/zero", "rb") as endless:
        process = program.start("-p", "hi", "-m", "script:echo", stdin=endless)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 42
    assert "more than 100 MB on stdin" in err


@pytest.mark.full
def test_a_signal_that_is_ignored_stays_ignored(program: Program) -> None:
    process = program.start(
        "-p", "go", "-m", "script:long-reply:20@4000", "-o", "stream-json",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    assert process.stdout is not None
    while '"delta": true' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_warnings_and_errors_are_on_stderr_in_every_format(program: Program, form: str) -> None:
    program.more = {"AGENTCLI_CONTXT__SOFT": "1"}
    ran = program.run("-p", "hi", "-m", "script:echo", "--mode", "yolo", "-o", form)
    assert "context.soft" in ran.err
    assert ran.err.count("\n") == 1
    assert "Unknown session 'gone'" in program.run("resume", "gone", "-p", "hi", "-o", form).err


@pytest.mark.full
def test_what_programs_read_is_utf8_whatever_the_locale(program: Program) -> None:
    program.more = {"PYTHONIOENCODING": "ascii"}
    assert program.run("-p", "über ✓ 😀", "-m", "script:echo").out == "über ✓ 😀\n"
    assert json.loads(program.run("sessions", "list", "--json").out)[0]["title"] == "über ✓ 😀"


def test_numbers_that_json_has_not_are_text(program: Program) -> None:
    script = program.base / "script.json"
    script.write_text('{"replies": [{"calls": [{"name": "read", "input": {"offset": NaN}}]}, {"text": "Done."}]}')
    ran = program.ask("-p", "go", "-m", f"script:{script}")
    assert ran.code == 0, ran.err
    assert "NaN" not in ran.out
    assert ran.of("tool_call")[0]["input"] == {"offset": "nan"}
