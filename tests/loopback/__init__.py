"""A server on this machine that speaks both vendors' wire formats, streams for real, and refuses what the real ones refuse."""

from tests.loopback.plan import (
    Answer,
    Asked,
    Bytes,
    Cut,
    Dribble,
    Endless,
    Fail,
    Gone,
    Idle,
    Plan,
    Raw,
    Refuse,
    Searches,
)
from tests.loopback.server import Loopback

__all__ = [
    "Answer",
    "Asked",
    "Bytes",
    "Cut",
    "Dribble",
    "Endless",
    "Fail",
    "Gone",
    "Idle",
    "Loopback",
    "Plan",
    "Raw",
    "Refuse",
    "Searches",
]
