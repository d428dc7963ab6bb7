"""Mode auto with the real sandbox: what runs in it, what runs outside, and what the model hears of its limits."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")


def ran(
    program: Program, calls: Sequence[tuple[str, dict[str, object]]], *options: str, mode: str = "auto"
) -> list[tuple[str, str]]:
    """The status and output of each call of a run."""
    replies = [{"calls": [{"name": name, "input": given}]} for name, given in calls]
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [*replies, {"text": "Done."}]}))
    run = program.ask("-p", "go", "-m", f"script:{script}", "--mode", mode, "-o", "stream-json", *options)
    assert run.code == 0, run.err
    return [(line["status"], line["output"]) for line in run.of("tool_result")]


def sh(command: str, **more: object) -> tuple[str, dict[str, object]]:
    return "bash", {"command": command, **more}


def test_tmp_lasts_for_commands_and_file_tools_alike(program: Program) -> None:
    own = f"/tmp/{program.base.name}.md"
    results = ran(
        program,
        [
            sh(f"echo one > {own}"),
            sh(f"cat {own}"),
            ("read", {"file_path": own}),
            ("write", {"file_path": f"{own}.2", "content": "two\n"}),
            sh(f"cat {own}.2"),
            sh("mkdir -p /tmp/r && cd /tmp/r && git init -q . && touch a && git add a && git status --short"),
        ],
    )
    assert [status for status, _ in results] == ["success"] * 6
    assert [results[n][1].strip() for n in (1, 2, 4)] == ["one", "one", "two"]
    assert results[5][1].startswith("A  a\n")
    assert not Path(own).exists()


@pytest.mark.full
def test_a_server_of_the_model_is_reached_by_its_later_commands(program: Program) -> None:
    (program.work / "a.txt").write_text("hello\n")
    serve = "python3 -c \"import http.server as h; s = h.ThreadingHTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
    serve += "open('port', 'w').write(str(s.server_port)); s.serve_forever()\""
    ask = "for n in 1 2 3 4 5 6 7 8 9; do test -s port && break; sleep 0.5; done; curl -sS http://localhost:$(cat port)/a.txt"
    assert ran(program, [sh(serve, run_in_background=True), sh(ask)])[1] == ("success", "hello\n")


def test_what_a_rule_allows_runs_outside_and_shares_tmp(program: Program) -> None:
    own = f"/tmp/{program.base.name}.md"
    with TemporaryDirectory(dir="/var/tmp") as outside:
        calls = [sh(f"echo body > {own}"), sh(f"cp {own} {outside}/a"), sh(f"touch {outside}/b")]
        allowed = ("--allow", f"bash(cp {own} {outside}/a)", "--allow", f"bash(touch {outside}/b)")
        assert [status for status, _ in ran(program, calls, *allowed)] == ["success"] * 3
        assert Path(outside, "a").read_text() == "body\n"
        assert Path(outside, "b").exists()


@pytest.mark.full
def test_the_model_hears_which_limit_of_the_sandbox_stopped_a_command(program: Program) -> None:
    commands = [
        "python3 -c \"open('/usr/x', 'w')\"",
        "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 9))\"",
    ]
    written, connected = (output for _, output in ran(program, [sh(command) for command in commands]))
    assert "can write only in the workspace and /tmp" in written
    assert "reaches no network but servers that you started" in connected
    assert "no one can let it run outside" in written
    assert "no one can let it run outside" in connected


def test_a_rule_for_the_sandbox_runs_a_program_in_it_in_mode_ask(program: Program) -> None:
    beyond = Path(f"/usr/made-by-{os.getpid()}")
    write = f"python3 -c \"open('made', 'w'); open('{beyond}', 'w')\""
    commands = [write, "node -e 1"]
    (written, answer), (status, _) = ran(
        program, [sh(command) for command in commands], "--allow", "sandbox(python3 *)", mode="ask"
    )
    assert (written, "can write only in the workspace" in answer) == ("error", True), answer
    assert (program.work / "made").exists()
    assert not beyond.exists()
    assert status == "denied"


@pytest.mark.full
def test_a_rule_for_the_sandbox_lets_git_record_in_mode_ask(program: Program) -> None:
    git = "git -c user.name=a -c user.email=a@b"
    (program.work / "a.txt").write_text("one\n")
    subprocess.run(f"git init -q && git add a.txt && {git} commit -qm one", shell=True, cwd=program.work, check=True)
    (program.work / "a.txt").write_text("two\n")
    commands = ["git checkout -q -b other", f"{git} commit -qam two", "git checkout -- a.txt"]
    results = ran(program, [sh(command) for command in commands], "--allow", "sandbox(git *)", mode="ask")
    assert [status for status, _ in results] == ["success", "success", "denied"], results
    log = subprocess.run(["git", "log", "--format=%s", "other"], cwd=program.work, capture_output=True, text=True)
    assert log.stdout == "two\none\n"
