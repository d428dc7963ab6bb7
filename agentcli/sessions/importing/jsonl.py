"""Reads the JSON of other programs; what is wrong with it is told by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from agentcli.core.errors import InputError

Json = dict[str, Any]


def objects(lines: Iterable[str], notes: list[str]) -> Iterator[tuple[int, Json]]:
    """Each line's object with its number. A last line that was cut off is left out with a note, any other damage is an InputError."""
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for number, line in numbered:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == numbered[-1][0] and len(numbered) > 1:
                notes.append(f"line {number} is cut off and was left out")
                return
            raise InputError(f"line {number}: not JSON ({error})") from error
        if not isinstance(value, dict):
            raise InputError(f"line {number}: not a JSON object")
        yield number, value


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Turns a missing or misshapen field met inside into an InputError that names the place."""
    try:
        yield
    except KeyError as error:
        raise InputError(f"{place}: no field {error}") from error
    except (TypeError, AttributeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise InputError(f"{place}: unexpected shape ({error})") from error


def utc(value: Any) -> str:
    """A time as records hold it, from ISO 8601 or from milliseconds since the epoch; empty where there is none."""
    if isinstance(value, bool) or not value:
        return ""
    if isinstance(value, int | float):
        moment = datetime.fromtimestamp(value / 1000, UTC)
    else:
        moment = datetime.fromisoformat(str(value))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(value: Any) -> float:
    """The same time in seconds since the epoch, 0.0 where there is none."""
    text = utc(value)
    return datetime.fromisoformat(text).timestamp() if text else 0.0
