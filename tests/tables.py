"""Tests of a table: all rows in one case, which names each row that differs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

_TIMEOUT = "Timeout (>"
"""Beginning of the failure by which pytest-timeout ends a test."""


def each_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each row and fail with all rows that differ; for many quick rows that change no fixture.

    Arguments are those of `pytest.mark.parametrize`. `tmp_path` is an empty folder in each row, and `monkeypatch` is undone after it.
    """
    columns = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    lines = [dict(zip(columns, row if len(columns) > 1 else (row,), strict=True)) for row in rows]
    assert lines, "a table without rows proves nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def every_row(**fixtures: Any) -> None:
            wrong = [
                f"{', '.join(f'{name}={value!r}' for name, value in line.items())}\n    {told}"
                for number, line in enumerate(lines)
                if (told := _difference(test, number, line, fixtures)) is not None
            ]
            if wrong:
                pytest.fail(f"{len(wrong)} of {len(lines)} rows differ:\n" + "\n".join(wrong), pytrace=False)

        fixtures = [each for name, each in signature.parameters.items() if name not in columns]
        every_row.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return every_row

    return decorate


def _difference(
    test: Callable[..., None], number: int, line: Mapping[str, Any], fixtures: Mapping[str, Any]
) -> str | None:
    """Return what failed in a row, or None; an error that is no failed assertion names the row and ends the test."""
    try:
        with _own(number, fixtures) as own:
            test(**line, **own)
    except (AssertionError, pytest.fail.Exception) as error:
        if str(error).startswith(_TIMEOUT):
            raise
        return str(error).replace("\n", "\n    ")
    except Exception as error:
        error.add_note(f"in row {number + 1}: {dict(line)!r}")
        raise
    return None


@contextmanager
def _own(number: int, fixtures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give a row its own `tmp_path` and `monkeypatch`, and the other fixtures as they are."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = Path(own["tmp_path"], str(number))
        own["tmp_path"].mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in own:
            own["monkeypatch"] = patch
        yield own
