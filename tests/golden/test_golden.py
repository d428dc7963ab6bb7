"""Records, requests, event lines, help and settings stay as they were; a change that means to change one renews the set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden.runs import CASES, folder_of_fixed_length

HERE = Path(__file__).parent


def cases() -> Iterator[Any]:
    """Command line, defaults and two kinds of run always, the others with the marker `full`, the other wire when there is time."""
    for name in CASES:
        again = name.endswith("-google") and name.replace("google", "anthropic") in CASES
        quick = name in ("command-line", "defaults", "work-anthropic", "compress-anthropic")
        yield pytest.param(name, marks=[pytest.mark.slow] if again else [] if quick else [pytest.mark.full])


@pytest.mark.parametrize("name", list(cases()))
def test_it_is_as_it_was(name: str) -> None:
    then = json.loads((HERE / f"{name}.json").read_text())
    with folder_of_fixed_length() as folder:
        now = CASES[name](folder)
    changed = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    assert not changed, f"`python -m tests.golden {name}` renews it, where that is meant."
    assert now == then
