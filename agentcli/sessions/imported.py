"""Content of any program's session file, in our own terms and ready to be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Literal

from agentcli.core.codec.encode import body_from_json, body_to_json
from agentcli.core.codec.fields import is_declared
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Image, Message, Part, Text, ToolResult, Usage
from agentcli.core.record import KINDS, Body, Failure, Record, Settings, Title, Todo, Trigger
from agentcli.sessions.info import Parent

Format = Literal["agentcli", "pi", "claude-code", "gemini-cli", "codex", "opencode"]
Timed = tuple[str, Body]
"""Time of a record (ISO 8601, UTC), and its body."""
Shown = Callable[[Iterable[Any], int], Iterable[Any]]
"""A function that passes things through unchanged, with their number or 0 if unknown; it may show progress."""


def unshown(things: Iterable[Any], total: int) -> Iterable[Any]:
    """Show no progress."""
    return things


@dataclass(frozen=True, slots=True)
class Imported:
    """A session from a file. Record n of the new session is `bodies[n - 1]`; compactions in it rely on that.

    `kept` and `parent` are empty unless the file is an unchanged export of our own.
    """

    format: Format
    title: str
    cwd: str
    model: str
    """`provider/id`."""
    time: str
    """The start of the session."""
    bodies: tuple[Timed, ...]
    name: str = ""
    notes: tuple[str, ...] = ()
    """Lines for people about content that could not be imported unchanged."""
    kept: tuple[tuple[Record, bytes], ...] = ()
    """The records with their exact bytes."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """The whole outputs by file name."""
    parent: Parent | None = None
    """The source of a fork."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A compaction by another program: `text` replaces everything before the entry with the key `kept_from`, or
    everything.

    `prompts` were kept verbatim, oldest first; `model`, `usage` and `cost` belong to the reply with the text.
    """

    text: str
    kept_from: str = ""
    tokens_before: int = 0
    trigger: Trigger = "auto"
    prompts: tuple[str, ...] = ()
    model: str = ""
    usage: Usage = Usage()
    cost: float | None = None


Content = Message | ToolResult | Summary | Settings | Title | Todo | Failure


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a foreign file. `key` is its name in that file, if another entry refers to it."""

    time: str
    content: Content
    key: str = ""


@dataclass(frozen=True, slots=True)
class Foreign:
    """The whole content of one foreign file, in its own order; calls and results need not be paired yet."""

    format: Format
    items: tuple[Item, ...]
    cwd: str = ""
    time: str = ""
    name: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)


def text_of(parts: Iterable[Part]) -> str:
    """Join the texts among the parts with line breaks."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def images_of(parts: Iterable[Part]) -> tuple[Image, ...]:
    """Return the images among the parts."""
    return tuple(part for part in parts if isinstance(part, Image))


def sound(item: Item) -> Item:
    """Return the item if all its values have the types that a record needs; raise ValueError otherwise."""
    content = item.content
    if isinstance(content, Summary):
        if not (isinstance(content.text, str) and isinstance(content.kept_from, str)):
            raise ValueError("a summary that is not text")
        return item
    if isinstance(content, Message | ToolResult) and is_declared(content):
        return item  # nearly all are, which saves a round trip through JSON
    kind = KINDS[type(content)]
    if body_from_json({"kind": kind, **body_to_json(content)}) != content:
        raise ValueError(f"a value of the wrong kind in the {kind}")
    return item
