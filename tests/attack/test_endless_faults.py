"""No wrong end of a reply, repeated for ever, is told as a success or asked for without end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack.endless_faults import End, ends, play


def cases() -> Iterator[Any]:
    """Every twelfth always, all of them when there is time."""
    for number, end in enumerate(ends()):
        marks = [pytest.mark.slow] if number % 12 else []
        yield pytest.param(end, marks=marks, id=f"{end.wire}-{end.name}")


@pytest.mark.parametrize("end", list(cases()))
def test_an_end_that_comes_for_ever_ends_the_run_with_an_error(tmp_path: Path, end: End) -> None:
    assert not play(end, tmp_path).wrong()
