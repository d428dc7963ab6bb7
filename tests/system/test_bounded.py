"""Commands within a time and a number of bytes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from agentcli.system.bounded import Bounded, run_bounded
from agentcli.system.process import Command
from tests.tables import each_row


def bounded(line: str, **limits: float) -> Bounded:
    command = Command(["/bin/sh", "-c", line], Path("/"), dict(os.environ))
    return asyncio.run(run_bounded(command, asyncio.Event(), **limits))  # type: ignore[arg-type]


def test_a_long_output_keeps_both_ends_and_the_exit_code_counts() -> None:
    ran = bounded("echo first; head -c 100000 /dev/zero | tr '\\0' x; echo last; exit 3", kept=100)
    assert (ran.why, ran.exit_code, ran.printed, ran.trouble) == ("exit", 3, 100_011, "")
    assert ran.output.startswith(b"first\nxxx")
    assert ran.output.endswith(b"xxxlast\n")
    assert b"[99,911 bytes left out here]" in ran.output


def test_an_output_that_fits_is_whole() -> None:
    assert bounded("printf 1234567890", kept=10).output == b"1234567890"


@each_row(
    ("line", "limits", "trouble"),
    [
        ("yes", {"most": 1_000_000}, "printed more than 1,000,000 bytes and was stopped"),
        ("sleep 600", {"seconds": 0.2}, "was stopped after 0.2 s"),
    ],
)
def test_what_hangs_or_floods_is_stopped_and_has_no_exit_code(
    line: str, limits: dict[str, float], trouble: str
) -> None:
    ran = bounded(line, **limits)
    assert (ran.exit_code, ran.trouble) == (None, trouble)
    assert len(ran.output) <= 10_001_000
