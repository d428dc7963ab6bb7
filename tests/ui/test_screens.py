"""Golden screens; after an intended change, `python -m tests.ui.scenes` redraws them."""

from __future__ import annotations

import re

import pytest

from agentcli.ui.render.cells import width
from tests.ui.scenes import FOLDER, SIZES, scenes


@pytest.mark.parametrize(("name", "text"), list(scenes()), ids=[name for name, _ in scenes()])
def test_the_screen_looks_as_it_did(name: str, text: str) -> None:
    assert text + "\n" == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_row_is_wider_than_its_screen() -> None:
    for name, text in scenes():
        size = SIZES.get(name.rpartition("-")[2])
        assert size is None or all(width(row) <= size.columns for row in text.split("\n"))


def test_without_colours_nothing_is_coloured_and_every_outcome_still_has_its_mark() -> None:
    plain = dict(scenes())["answer-none"]
    assert all(mark in plain for mark in ("●", "✗", "⊘", "✔", "☐", "+", "-"))
    assert not re.search(r"⟨[^⟩/]*(red|green|cyan|blue|magenta|brown)", plain)
