"""Ids that sort by time, and times as the records write them."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

from agentcli.core.errors import InputError

_DIGITS = "0123456789abcdefghijklmnopqrstuv"  # ascending in ASCII, so that ids sort as the numbers do

_GIVEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,63}")


def new_id(now: datetime | None = None) -> str:
    """Make an id of 23 characters: UTC date and time to the microsecond, then 15 random bits against collisions."""
    now = now or datetime.now(UTC)
    return f"{now:%Y%m%d-%H%M%S}-{_base32(now.microsecond << 15 | int.from_bytes(os.urandom(2), 'big') >> 1, 7)}"


def checked_id(given: str) -> str:
    """Return an id made elsewhere, such as a UUID. Raises InputError unless it is a safe file name and not an option."""
    if not _GIVEN.fullmatch(given):
        raise InputError(
            f"{given!r} cannot be a session's id. Use 8 to 64 letters, digits, `-` and `_`, the first a letter or digit."
        )
    return given


def stamp(now: datetime | None = None) -> str:
    """Write a time as ISO 8601 in UTC, to the millisecond: `2026-01-31T09:30:00.000Z`."""
    now = now or datetime.now(UTC)
    return now.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def local_minute(stamped: str) -> str:
    """Write a record's time for people, in this machine's time zone: `2026-01-31 10:30`."""
    try:
        return f"{datetime.fromisoformat(stamped).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return stamped[:16].replace("T", " ")


def local_day(stamped: str) -> str:
    """Write the day of a record's time in this machine's time zone: `2026-01-31`."""
    return local_minute(stamped)[:10]


def _base32(number: int, width: int) -> str:
    text = ""
    for _ in range(width):
        number, digit = divmod(number, 32)
        text = _DIGITS[digit] + text
    return text
