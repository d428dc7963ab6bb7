"""Golden screens; after an intended change, `python -m tests.frontends.terminal.scenes` redraws them."""

from __future__ import annotations

import re

import pytest

from agentcli.system.cells import width
from tests.frontends.terminal.scenes import FOLDER, SIZES, scenes


def test_the_screens_look_as_they_did() -> None:
    golden = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt")}
    assert {name: text + "\n" for name, text in scenes().items()} == golden


def test_no_row_is_wider_than_its_screen() -> None:
    for name, text in scenes().items():
        size = SIZES.get(name.rpartition("-")[2])
        assert size is None or all(width(row) <= size.columns for row in text.split("\n"))


@pytest.mark.full
def test_without_colours_nothing_is_coloured_and_every_outcome_still_has_its_mark() -> None:
    plain = scenes()["answer-none"]
    assert all(mark in plain for mark in ("●", "✗", "⊘", "✔", "☐", "+", "-"))
    assert not re.search(r"⟨[^⟩/]*(red|green|cyan|blue|magenta|brown)", plain)
