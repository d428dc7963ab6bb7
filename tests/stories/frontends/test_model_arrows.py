"""The arrows in the list of models, as a person presses them: one after the other, or several at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.program import Program

RIGHT, LEFT = "\x1b[C", "\x1b[D"


@pytest.mark.full
def test_each_arrow_of_a_burst_counts(tmp_path: Path) -> None:
    with Program(tmp_path).terminal("-m", "script:echo") as t:
        t.until("ask · echo")
        t.send("/model\r", until="Effort: default")
        t.send(RIGHT * 4, until="Effort: high")
        t.send(LEFT * 2 + RIGHT, until="Effort: medium")
        t.send("\r", until="effort medium, with a window")
        t.until("demo:medium")
