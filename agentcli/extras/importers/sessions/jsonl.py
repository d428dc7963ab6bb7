"""Readers of other programs' JSON; errors name the line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from agentcli.core.errors import InputError

Json = dict[str, Any]
MOST_BAD = 0.5
"""Share of damaged lines above which a file does not count as a session."""
NAMED = 10
"""Maximum damaged lines that a note lists."""
REASON = 200
"""Maximum characters of a reason in an error; it may quote the file."""


def objects(lines: Iterable[str], notes: list[str]) -> Iterator[tuple[int, Json]]:
    """Yield each line's object with its number. Skip lines without one, as after a crash, and note them.

    Raises InputError with the first of them if they are the majority.
    """
    count = last = 0
    bad: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        count, last = count + 1, number
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            bad[number] = f"not JSON ({error})"
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            bad[number] = "not a JSON object"
    if len(bad) > count * MOST_BAD:
        number, why = next(iter(bad.items()))
        more = f", and {len(bad) - 1} more of {count} lines are not either" if len(bad) > 1 else ""
        raise InputError(f"line {number}: {why}{more}")
    if bad.get(last, "").startswith("not JSON"):
        del bad[last]
        notes.append(f"line {last} is cut off and was left out")
    if bad:
        notes.append(f"{_named(list(bad))} damaged and left out")


def _named(numbers: list[int]) -> str:
    """Name lines by their numbers."""
    if len(numbers) == 1:
        return f"line {numbers[0]} is"
    more = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
    return f"lines {', '.join(map(str, numbers[:NAMED]))}{more} are"


@contextmanager
def skipping(place: str, notes: list[str]) -> Iterator[None]:
    """Skip an entry with a missing or malformed field, with a note of the place."""
    try:
        with reading(place):
            yield
    except InputError as error:
        notes.append(f"{error}; it was left out")


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Turn a missing or malformed field into an InputError with the place."""
    try:
        yield
    except KeyError as error:
        raise InputError(f"{place}: no field {error}") from error
    except (TypeError, AttributeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise InputError(f"{place}: unexpected shape ({error!s:.{REASON}})") from error


def blocks(content: Any) -> Iterable[Json]:
    """Return the blocks of a message's content; a bare string is one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def utc(value: Any) -> str:
    """Convert ISO 8601 or milliseconds since the epoch to the form of records. Return an empty text if there is no
    time.
    """
    if isinstance(value, bool) or not value:
        return ""
    if isinstance(value, int | float):
        moment = datetime.fromtimestamp(value / 1000, UTC)
    else:
        moment = datetime.fromisoformat(str(value))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(value: Any) -> float:
    """Return the same time in seconds since the epoch, 0.0 if there is none."""
    text = utc(value)
    return datetime.fromisoformat(text).timestamp() if text else 0.0
