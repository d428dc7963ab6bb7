"""Tab in real shells completes what the program takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentcli.frontends.cli import completion
from tests.e2e.program import Program
from tests.sampling import first
from tests.terminal import Terminal


def offered(program: Program, *words: str) -> list[str]:
    ran = program.run("completion", "--words", *words)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.split("\n")[:-1]


@pytest.mark.parametrize(
    ("words", "expected"),
    first(
        4,
        [
            (["sess"], ["sessions"]),
            (["sessions", "ex"], ["export"]),
            (["sessions", "export", "-f", ""], ["json", "md", "html", "atif", "claude-code", "codex"]),
            (["resume", "--mod"], ["--mode", "--model"]),
            (["--max-c"], ["--max-cost"]),
            (["--mode", "a"], ["ask", "auto-edit", "auto"]),
            (["--mode=pl"], ["--mode=plan"]),
            (["-o", "stream"], ["stream-json"]),
            (["-m", "son"], ["sonnet"]),
            (["config", "get", "context.soft"], ["context.soft"]),
            (["config", "set", "ui.theme", ""], ["auto", "light", "dark", "none"]),
            (["config", "set", "ui.vi", ""], ["true", "false"]),
            (["--set", "context.autoc"], ["context.autocompact="]),
            (["--set", "context.policy=g"], ["context.policy=gemini"]),
            (["completion", "f"], ["fish"]),
            (["-C", ""], [":files"]),
            (["a prompt", ""], []),
            (
                ["-p", "x", "--m"],
                ["--max-cost", "--max-time", "--max-tokens", "--max-turns", "--mcp-config", "--mode", "--model"],
            ),
            (["no-such-command", "x"], []),
        ],
    ),
    ids=" ".join,
)
def test_a_word_is_completed_by_what_may_stand_there(
    program: Program, words: Sequence[str], expected: list[str]
) -> None:
    assert offered(program, *words) == expected


def test_sessions_of_this_project_are_offered_by_name_and_id(program: Program, tmp_path: Path) -> None:
    program.run("-p", "hi", "-m", "script:echo")
    [session] = [folder.name for folder in program.sessions.glob("*/*") if (folder / "records").is_dir()]
    assert program.run("sessions", "rename", session, "my own").code == 0
    assert offered(program, "resume", "") == ["my own", session]
    assert offered(program, "sessions", "delete", "my") == ["my own"]
    elsewhere = Program(program.base, {"XDG_DATA_HOME": str(tmp_path / "other")})
    assert offered(elsewhere, "resume", "") == []


@pytest.mark.full
def test_own_aliases_of_models_are_completed_and_used(program: Program) -> None:
    assert program.run("config", "set", "models.aliases.fast", "script:echo").code == 0
    assert offered(program, "-m", "fast") == ["fast"]
    assert program.run("-p", "hello", "-m", "fast").out == program.run("-p", "hello", "-m", "script:echo").out != ""
    assert "fast = script:echo" in program.run("models").out


@pytest.mark.parametrize("arguments", [[], ["tcsh"], ["bash", "zsh"]], ids=str)
def test_a_shell_that_there_is_no_script_for_is_a_usage_error(program: Program, arguments: list[str]) -> None:
    ran = program.run("completion", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "agentcli completion bash|zsh|fish" in ran.err


def test_a_tab_imports_no_parser_once_the_table_is_there(program: Program) -> None:
    offered(program, "x")
    code = "import sys\nfrom agentcli.__main__ import main\nmain(['completion', '--words', 'resume', ''])\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=program.env, cwd=program.work, capture_output=True, check=True
    )
    assert not {b"typer", b"rich", b"agentcli.program.program", b"agentcli.program.config"} & set(done.stdout.split())


STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'PS1="ready> "; eval "$(agentcli completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'PS1="ready> "; autoload -Uz compinit; compinit -D; eval "$(agentcli completion zsh)"',
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        'function fish_prompt; echo -n "ready> "; end; agentcli completion fish | source',
    ),
}


@pytest.mark.full
@pytest.mark.parametrize(
    "shell", ["bash", *(pytest.param(name, marks=pytest.mark.slow) for name in STARTS if name != "bash")]
)
def test_tab_completes_in_a_real_shell(program: Program, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    offered(program, "x")
    command, setup = STARTS[shell]
    env = {**program.env, "PATH": f"{Path(sys.executable).parent}:{program.env['PATH']}", "INPUTRC": "/dev/null"}
    with Terminal(command, cwd=str(program.work), env=env) as t:
        t.settle(0.5, 20)
        t.send(setup + "\r")
        t.settle(2, 20)
        t.send("\r")
        t.settle(1, 20)
        for typed, expected in (
            ("agentcli sess\t", "agentcli sessions"),
            ("agentcli config set context.autoc\t", "agentcli config set context.autocompact"),
            ("agentcli --set context.policy=ge\t", "agentcli --set context.policy=gemini"),
            ("agentcli resume --max-co\t", "agentcli resume --max-cost"),
        ):
            t.send(typed, until=expected)
            t.send("\x15")
            t.settle(0.5, 10)


def test_bytecode_that_is_written_meanwhile_does_not_make_the_table_anew(program: Program) -> None:
    offered(program, "x")
    (table,) = (program.base / "cache" / "agentcli").glob("completion-*.json")
    assert table.stat().st_mode & 0o777 == 0o600
    before = table.stat().st_mtime_ns
    for folder in (Path(completion.__file__).parent, Path(completion.__file__).parents[2] / "extras/batch"):
        (folder / "__pycache__").mkdir(exist_ok=True)
        os.utime(folder / "__pycache__")
        os.utime(folder)
    offered(program, "x")
    assert table.stat().st_mtime_ns == before
