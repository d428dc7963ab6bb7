"""Ids that sort by time, and times as the records write them."""

from __future__ import annotations

import os
from datetime import UTC, datetime

_DIGITS = "0123456789abcdefghijklmnopqrstuv"  # ascending in ASCII, so that text sorts as the numbers do


def new_id(now: datetime | None = None) -> str:
    """An id of 23 characters: UTC date and time to the microsecond, then 15 random bits against two in the same one."""
    now = now or datetime.now(UTC)
    return f"{now:%Y%m%d-%H%M%S}-{_base32(now.microsecond, 4)}{_base32(int.from_bytes(os.urandom(2), 'big') >> 1, 3)}"


def stamp(now: datetime | None = None) -> str:
    """ISO 8601 in UTC, to the millisecond: `2026-01-31T09:30:00.000Z`."""
    now = now or datetime.now(UTC)
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z"


def _base32(number: int, width: int) -> str:
    text = ""
    for _ in range(width):
        number, digit = divmod(number, 32)
        text = _DIGITS[digit] + text
    return text
