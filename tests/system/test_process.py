"""Commands that are run: when their limits count, and what stays of them."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentcli.system.descent import descends, found_by
from agentcli.system.process import Command, run


class Output:
    """Keeps a command's output."""

    enough = 0

    def __init__(self) -> None:
        self.text = b""

    def add(self, piece: memoryview, skipped: int) -> None:
        self.text += piece


@contextmanager
def without_collections() -> Iterator[None]:
    """Nothing is freed but by its last reference."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.full
def test_a_command_leaves_no_memory_that_waits_for_a_collection_of_garbage(tmp_path: Path) -> None:
    command, calls = Command(["echo", "hi"], tmp_path, os.environ), 20

    async def story() -> int:
        await run(command, Output(), 60.0, None)
        with without_collections():
            tracemalloc.start()
            try:
                for _ in range(calls):
                    await run(command, Output(), 60.0, None)
                return tracemalloc.get_traced_memory()[0]
            finally:
                tracemalloc.stop()

    assert asyncio.run(story()) < calls * 5_000


def test_limits_that_are_lifted_do_not_count(tmp_path: Path) -> None:
    # The command would be ended at once, by either limit.
    async def story() -> bytes:
        free, output = asyncio.Event(), Output()
        free.set()
        ended = await run(Command(["sh", "-c", "sleep 0.1; echo done"], tmp_path, os.environ), output, 1e-6, 1e-6, free)
        assert (ended.why, ended.exit_code) == ("exit", 0)
        return output.text

    assert asyncio.run(story()) == b"done\n"


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_a_process_descends_from_this_one_if_a_child_of_it_has_started_it() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        started = int(shell.stdout.readline())
        assert descends(started)
        assert not any(map(descends, (shell.pid, os.getpid(), os.getppid(), 1, 0, 2**22 - 1)))
        os.kill(started, 9)


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_a_name_finds_processes_by_name_and_command_line_and_no_foreign_one_is_its_own(tmp_path: Path) -> None:
    mark = f"agentcli-{os.getpid()}-found"
    with subprocess.Popen([mark, "60"], cwd=tmp_path, executable="/bin/sleep") as process:
        try:
            assert found_by(mark.upper().replace("-", "."), (tmp_path,)) == {f"sleep ({process.pid})": False}
            assert found_by(f"{mark} 60.", (tmp_path,)) == {f"sleep ({process.pid})": False}
            assert found_by(f"{mark} 61", (tmp_path,)) == {}
        finally:
            process.kill()
    assert found_by(mark, (tmp_path,)) == {}
