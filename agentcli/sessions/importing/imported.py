"""What a session file of any program says, in our own terms and ready to be stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Body, Failure, Settings, Title, Todo, Trigger

Format = Literal["agentcli", "pi", "claude-code", "gemini-cli", "codex"]
Timed = tuple[str, Body]
"""When something was recorded (ISO 8601, UTC), and what."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A session from outside. Record n of the new session is `bodies[n - 1]`: compactions in it count on that.

    `time` is when the session began, `model` is `provider/id`, `notes` are lines for people about what could not be taken over as it
    was. `raw` holds the very bytes of the records and `outputs` the kept outputs by file name, for a session of our own that was
    exported unchanged; both are empty otherwise.
    """

    format: Format
    title: str
    cwd: str
    model: str
    time: str
    bodies: tuple[Timed, ...]
    name: str = ""
    notes: tuple[str, ...] = ()
    raw: tuple[bytes, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Summary:
    """A compaction that another program made: `text` stands for all that came before the entry named `kept` (or for everything)."""

    text: str
    kept: str = ""
    tokens_before: int = 0
    trigger: Trigger = "auto"


Said = Message | ToolResult | Summary | Settings | Title | Todo | Failure


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a foreign file. `key` is how that file names it, where something refers to it."""

    time: str
    said: Said
    key: str = ""


@dataclass(frozen=True, slots=True)
class Foreign:
    """All that one foreign file says, in its own order; calls and results need not be paired yet."""

    format: Format
    items: tuple[Item, ...]
    cwd: str = ""
    time: str = ""
    name: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
