"""The content of a session file of any program, in our own terms and ready to be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Literal

from agentcli.core.codec.declared import is_declared
from agentcli.core.codec.encode import body_from_json, body_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Image, Message, Part, Text, ToolResult, Usage
from agentcli.core.record import KINDS, Body, Failure, Record, Settings, Title, Todo, Trigger
from agentcli.sessions.info import Parent

Format = Literal["agentcli", "pi", "claude-code", "gemini-cli", "codex", "opencode"]
Timed = tuple[str, Body]
"""Time of a record (ISO 8601, UTC), and its body."""
Shown = Callable[[Iterable[Any], int], Iterable[Any]]
"""A function that things pass through unchanged, given their number or 0 where it is not known; it may show how many have."""


def unshown(things: Iterable[Any], total: int) -> Iterable[Any]:
    """Show nothing."""
    return things


@dataclass(frozen=True, slots=True)
class Imported:
    """A session from outside. Record n of the new session is `bodies[n - 1]`: compactions in it count on that.

    `time` is when the session began, `model` is `provider/id`, `notes` are lines for people about what could not be
    taken over as it was. `kept` holds the records with their very bytes and `outputs` the kept outputs by file name, for a
    session of our own that was exported unchanged; `contents` are states of files by their SHA-256, `parent` is where a
    fork came from. All are empty otherwise.
    """

    format: Format
    title: str
    cwd: str
    model: str
    time: str
    bodies: tuple[Timed, ...]
    name: str = ""
    notes: tuple[str, ...] = ()
    kept: tuple[tuple[Record, bytes], ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    parent: Parent | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A compaction that another program made: `text` stands for all that came before the entry named `kept_from` (or for everything).

    `prompts` are those that stayed verbatim beside it, oldest first; `model`, `usage` and `cost` are of the reply that the text was.
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
    """One entry of a foreign file. `key` is how that file names it, where something refers to it."""

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


def text_of(parts: Iterable[Part]) -> str:
    """The texts among them, a line break between each two."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def images_of(parts: Iterable[Part]) -> tuple[Image, ...]:
    """The pictures among them."""
    return tuple(part for part in parts if isinstance(part, Image))


def sound(item: Item) -> Item:
    """The item, if all in it is of the kind that a record holds; ValueError otherwise."""
    content = item.content
    if isinstance(content, Summary):
        if not (isinstance(content.text, str) and isinstance(content.kept_from, str)):
            raise ValueError("a summary that is not text")
        return item
    if isinstance(content, Message | ToolResult) and is_declared(content):
        return item  # nearly all are: they need not be written and read
    kind = KINDS[type(content)]
    if body_from_json({"kind": kind, **body_to_json(content)}) != content:
        raise ValueError(f"a value of the wrong kind in the {kind}")
    return item
