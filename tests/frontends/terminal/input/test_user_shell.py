"""Shell commands of the user (`!command`): output, ending, leftovers."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.frontends.terminal.input.user_shell import Ran, run
from tests.processes import fresh_mark, living

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def mark() -> str:
    return fresh_mark()


def shown(command: str, folder: Path, stop_at: str = "\0") -> tuple[Ran, str]:
    """Run a command, interrupted once it has printed a text; returns the result and the output shown."""

    async def story() -> tuple[Ran, str]:
        interrupt, said = asyncio.Event(), ""

        def show(text: str) -> None:
            nonlocal said
            said += text
            if stop_at in said:
                interrupt.set()

        return await run(command, folder, show, interrupt), said

    return asyncio.run(story())


def test_what_it_prints_is_shown_and_kept_with_its_exit_code(tmp_path: Path) -> None:
    ran, said = shown("echo grün; pwd; exit 3", tmp_path)
    assert ran.output == said == f"grün\n{tmp_path}\n"
    assert (ran.code, ran.interrupted) == (3, False)


def test_a_character_that_comes_in_two_pieces_is_one(tmp_path: Path) -> None:
    assert shown(r"printf '\342\202'; sleep 0.2; printf '\254'", tmp_path)[1] == "€"


@linux
def test_an_interrupt_leaves_no_process_however_it_detached_itself(tmp_path: Path, mark: str) -> None:
    detached = f"setsid sleep {mark} & (setsid env -i setsid sleep {mark} &)"
    ran, _ = shown(f"trap '' TERM; {detached}; echo begun; sleep {mark}", tmp_path, stop_at="begun")
    assert ran.interrupted
    assert not living(mark)


@linux
def test_what_a_command_leaves_running_on_its_own_goes_on(tmp_path: Path, mark: str) -> None:
    ran, _ = shown(f"setsid sleep {mark} >/dev/null 2>&1 & echo started", tmp_path)
    assert (ran.output, ran.code) == ("started\n", 0)
    [left] = living(mark)
    os.kill(int(left.split()[0]), signal.SIGKILL)
    ends = time.monotonic() + 10
    while living(mark) and time.monotonic() < ends:
        time.sleep(0.01)


def test_without_a_command_or_a_shell_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="No command after the !"):
        shown("", tmp_path)
    monkeypatch.setenv("SHELL", "/no/such/shell")
    with pytest.raises(InputError, match="Set SHELL"):
        shown("ls", tmp_path)
