"""What is printed for good, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentcli.core.message import ToolResult
from agentcli.ui.blocks import Block


@dataclass(frozen=True, slots=True)
class Said:
    """What the user said."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished block of the model's answer."""

    block: Block


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning that is over; it took `seconds`."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call that has its result. `gap` says whether a blank line goes before it, `shown` whether all that it does stands above."""

    title: str
    result: ToolResult
    gap: bool = False
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A line from the program: an automatic act, a warning, an error. `gap` says whether a blank line goes before it."""

    kind: Literal["act", "warn", "error"]
    text: str
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """Lines that a command prints; they are coloured already and hold no text from outside unescaped."""

    lines: tuple[str, ...]


Piece = Said | Reply | Thought | Called | Note | Printed
