"""Large blocks are returned to the system at once."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from agentcli.system.large_blocks import return_large_blocks

GROWTH = """
from agentcli.system.large_blocks import return_large_blocks
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
return_large_blocks()
before = resident()
for size in (6_000_000, 5_000_000):
    block = b"x" * size
    del block
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is another one")
def test_a_large_block_that_is_released_takes_no_memory() -> None:
    done = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000_000


def test_it_may_be_called_again() -> None:
    return_large_blocks()
    return_large_blocks()
