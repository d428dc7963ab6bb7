"""A sandbox that fails because another process removed a path is built again, and hides the same files as before."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from agentcli.core.tool import Boxed, LinePart
from agentcli.permissions.denied.files import Hidden, existing
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from agentcli.permissions.sandbox import Sandbox, detect
from agentcli.system.process import Command, LimitedSink, run
from agentcli.tools.lib.line_parts import Surroundings, in_one
from tests.permissions.sandbox.running import completed

SANDBOX = detect()
RULES = parse_rules(deny=["read(*.pem)"]).deny
Build = Callable[[str, Workspace, Hidden], Boxed]

needs_bubblewrap = pytest.mark.skipif(SANDBOX.kind != "bubblewrap", reason="bubblewrap does not work here")


def shell(command: str) -> list[str]:
    return ["bash", "--noprofile", "--norc", "-c", command]


WAYS: dict[str, Build] = {
    "inside": lambda command, workspace, hidden: SANDBOX.wrap(shell(command), workspace, hidden=hidden),
    "reader": lambda command, workspace, hidden: SANDBOX.wrap_reader(
        shell(command), workspace, os.environ["PATH"], hidden
    ),
    "outside": lambda command, workspace, hidden: SANDBOX.mask(shell(command), hidden, workspace),
}


@pytest.fixture(params=WAYS)
def build(request: pytest.FixtureRequest) -> Build:
    return WAYS[request.param]


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """A workspace outside of the folders for temporary files, with two folders of keys."""
    with tempfile.TemporaryDirectory(prefix=".agentcli-restart-", dir=Path.home()) as folder:
        home = Path(folder).resolve()
        for name in ("old", "new"):
            (home / "work" / name).mkdir(parents=True)
            (home / "work" / name / "key.pem").write_text("secret\n")
        yield Workspace(home / "work", (home / "work",), home)


def outputs(boxed: Boxed, workspace: Workspace) -> tuple[str, str]:
    done = completed(boxed, workspace.cwd, os.environ)
    return done.stdout, done.stderr


@needs_bubblewrap
def test_a_folder_that_is_removed_before_the_start_hinders_no_command(build: Build, workspace: Workspace) -> None:
    boxed = build("echo started; cat new/key.pem 2> /dev/null", workspace, existing(RULES, workspace))
    shutil.rmtree(workspace.cwd / "old")
    assert outputs(boxed, workspace) == ("started\n", "")
    assert not (workspace.cwd / "old").exists()


@needs_bubblewrap
def test_a_secret_that_comes_back_while_a_sandbox_is_built_anew_stays_hidden(
    build: Build, workspace: Workspace
) -> None:
    hidden = existing(RULES, workspace)
    shutil.move(workspace.cwd / "new/key.pem", workspace.home / "key.pem")
    boxed = build("echo started; cat new/key.pem 2> /dev/null", workspace, hidden)
    shutil.move(workspace.home / "key.pem", workspace.cwd / "new/key.pem")
    shutil.rmtree(workspace.cwd / "old")
    assert outputs(boxed, workspace) == ("started\n", "")


@needs_bubblewrap
def test_a_file_of_secrets_made_meanwhile_is_hidden_by_the_sandbox_built_anew(workspace: Workspace) -> None:
    boxed = WAYS["inside"]("echo started; cat .env", workspace, existing(RULES, workspace))
    (workspace.cwd / ".env").write_text("secret\n")
    shutil.rmtree(workspace.cwd / "old")
    assert outputs(boxed, workspace) == ("started\n", "")


@needs_bubblewrap
def test_what_a_rule_hid_and_somebody_removed_before_the_start_is_not_made_again(
    build: Build, workspace: Workspace
) -> None:
    hidden = existing(RULES, workspace)
    (workspace.cwd / "old/key.pem").unlink()
    assert outputs(build("echo started", workspace, hidden), workspace) == ("started\n", "")
    assert not (workspace.cwd / "old/key.pem").exists()


@needs_bubblewrap
def test_a_command_that_has_started_never_runs_twice(workspace: Workspace) -> None:
    boxed = WAYS["inside"]("echo run >> log; echo 'bwrap: not I' >&2; exit 1", workspace, Hidden())
    assert outputs(boxed, workspace) == ("", "bwrap: not I\n")
    assert (workspace.cwd / "log").read_text() == "run\n"


def test_a_sandbox_that_fails_again_and_again_says_why_once(workspace: Workspace) -> None:
    program, log = workspace.home / "bwrap", workspace.home / "starts"
    program.write_text(f"#!/bin/sh\necho start >> '{log}'\necho 'bwrap: no mounts today' >&2\nexit 1\n")
    program.chmod(0o755)
    boxed = Sandbox("bubblewrap", program=str(program)).wrap(["true"], workspace)
    assert outputs(boxed, workspace) == ("", "bwrap: no mounts today\n")
    assert log.read_text() == "start\n" * 3


def line(workspace: Workspace, *parts: LinePart) -> Boxed:
    """A line in parts; only the sandbox of the second knows the hidden files."""

    def wrap(argv: Sequence[str]) -> Boxed:
        hidden = existing(RULES, workspace) if argv[-1] == parts[1].text else Hidden()
        return SANDBOX.wrap(argv, workspace, hidden=hidden)

    around = Surroundings("/bin/bash", workspace.cwd, (workspace.cwd,), os.environ, os.environ, wrap)
    return in_one(parts, shell, wrap, around)


@needs_bubblewrap
def test_a_line_goes_on_with_the_part_whose_sandbox_failed(workspace: Workspace) -> None:
    second = "echo two | tee -a log; cat new/key.pem; ls /proc/self/fd | wc -l; exit 3"
    parts = LinePart("echo one | tee -a log; echo bwrap:"), LinePart(second, "&&"), LinePart("echo three", "||")
    boxed = line(workspace, *parts)
    shutil.rmtree(workspace.cwd / "old")
    output = LimitedSink(1_000)
    ended = asyncio.run(run(Command((), workspace.cwd, os.environ).within(boxed), output, None, None))
    assert bytes(output.data) == b"one\nbwrap:\ntwo\ncat: new/key.pem: Permission denied\n4\nthree\n"
    assert (workspace.cwd / "log").read_text() == "one\ntwo\n"
    assert (ended.exit_code, ended.told) == (0, "")


@needs_bubblewrap
def test_a_part_that_has_started_never_runs_twice(workspace: Workspace) -> None:
    parts = LinePart("echo one >> log; echo 'bwrap: not I' >&2; exit 1"), LinePart("echo two >> log", ";")
    assert outputs(line(workspace, *parts), workspace) == ("", "bwrap: not I\n")
    assert (workspace.cwd / "log").read_text() == "one\ntwo\n"


@needs_bubblewrap
def test_a_pipe_whose_second_sandbox_fails_says_so_and_is_not_repeated(workspace: Workspace) -> None:
    boxed = line(workspace, LinePart("echo one >> log"), LinePart("cat", "|"))
    shutil.rmtree(workspace.cwd / "old")
    _, errors = outputs(boxed, workspace)
    assert errors.startswith("bwrap: ")
    assert (workspace.cwd / "log").read_text() == "one\n"


def test_a_part_whose_sandbox_fails_again_and_again_ends_the_line(workspace: Workspace) -> None:
    program, log = workspace.home / "bwrap", workspace.home / "starts"
    program.write_text(f"#!/bin/sh\necho start >> '{log}'\necho 'bwrap: no mounts today' >&2\nexit 1\n")
    program.chmod(0o755)

    def wrap(argv: Sequence[str]) -> Boxed:
        return Sandbox("bubblewrap", program=str(program)).wrap(argv, workspace)

    around = Surroundings("/bin/bash", workspace.cwd, (workspace.cwd,), os.environ, os.environ, wrap)
    boxed = in_one([LinePart("true"), LinePart("true", ";")], shell, wrap, around)
    assert outputs(boxed, workspace) == ("", "bwrap: no mounts today\n")
    assert log.read_text() == "start\n" * 3
