"""What the server is to answer: a product `Reply`, or one of the ways in which a real server fails."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from agentcli.providers.scripted.model import Reply

RAW = "\0raw"
"""The argument of a call whose value is sent in place of the arguments' JSON, for a model that writes none."""
Wire = Literal["anthropic", "google", "openai", "chat"]
_TURNS: Mapping[Wire, str] = {"anthropic": "messages", "google": "contents", "openai": "input", "chat": "messages"}


def arguments_of(given: Mapping[str, Any]) -> str:
    """The text of a call's arguments."""
    return str(given[RAW]) if RAW in given else json.dumps(dict(given))


@dataclass(frozen=True)
class Refuse:
    """An HTTP error instead of a reply. `kind` is the error type (Anthropic), status (Google) or code (OpenAI); `body` replaces the JSON form."""

    status: int
    kind: str = ""
    message: str = "the script says so"
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Any = None
    body: bytes | None = None


@dataclass(frozen=True)
class Cut:
    """A reply whose body stops after `at` bytes: the connection closes, a chunk is broken, or the body ends as if that were all."""

    reply: Reply | Raw
    at: int
    how: Literal["close", "chunk", "end"] = "close"


@dataclass(frozen=True)
class Fail:
    """A reply that turns into an error after `after` events, though the status was 200; `bare` without the form of an event."""

    reply: Reply | Raw
    after: int
    kind: str
    message: str = "the script says so"
    code: int = 503
    bare: bool = False


@dataclass(frozen=True)
class Idle:
    """A reply that falls silent after `after` events for `seconds`, then goes on."""

    reply: Reply | Raw
    after: int
    seconds: float


@dataclass(frozen=True)
class Raw:
    """Exactly these events, each the JSON of one `data:` line."""

    events: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Dribble:
    """A reply in pieces of `size` bytes, wherever that cuts a character or a line; `line_end` replaces the line ends."""

    reply: Reply | Raw
    size: int = 1
    line_end: bytes = b"\n"


@dataclass(frozen=True)
class Bytes:
    """Exactly this body, whatever it is; `encoding` names how it is packed."""

    body: bytes
    kind: str = "text/event-stream"
    status: int = 200
    encoding: str = ""


@dataclass(frozen=True)
class Gone:
    """No whole answer: the connection is closed, or reset, after these bytes."""

    after: bytes = b""
    reset: bool = False


@dataclass(frozen=True)
class Endless:
    """A body that repeats a piece until the client closes the connection, each after a pause of so many seconds."""

    piece: bytes
    status: int = 200
    kind: str = "text/event-stream"
    pause: float = 0.0


@dataclass(frozen=True)
class Searches:
    """A reply that searches the web: the pages found as (URL, title, passage), the answer, and an error code in place of pages.

    `paused`: the provider pauses after the search, and answers in the reply that continues it.
    """

    query: str
    pages: Sequence[tuple[str, str, str]] = ()
    answer: str = ""
    error: str = ""
    paused: bool = False


Answer = Searches | Reply | Refuse | Cut | Fail | Idle | Raw | Dribble | Bytes | Endless | Gone


@dataclass
class Asked:
    """One request as it arrived. `gone` is set when the client closed before the answer was over, `answered` when it was over."""

    wire: Wire
    path: str
    headers: Mapping[str, str]
    body: bytes
    number: int
    counting: bool = False
    refused: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    gone: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def json(self) -> Any:
        """The parsed body, which nobody changes; the server drops it once the request is answered."""
        return json.loads(self.body)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What is made of the body, made once while the request is answered."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def forget(self) -> None:
        """Drop the parsed body and what was made of it; the next look parses it again."""
        self.__dict__.pop("json", None)
        self._made.clear()

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.path.rsplit("/", 1)[-1].partition(":")[0] if self.wire == "google" else str(self.json["model"])

    @property
    def turns(self) -> list[Any]:
        """The messages, contents or items."""
        return list(self.json[_TURNS[self.wire]])

    @property
    def last_text(self) -> str:
        """The last text of the last turn."""
        turn = self.turns[-1]
        content = turn["parts"] if self.wire == "google" else turn.get("content") or ""
        if isinstance(content, str):
            return content
        return next((block["text"] for block in reversed(content) if "text" in block), "")

    @property
    def results(self) -> int:
        """How many tool results the last turn brings."""
        if self.wire in ("openai", "chat"):
            brought = [
                str(item.get("type")).endswith("call_output") or item.get("role") == "tool" for item in self.turns
            ]
            return [*brought[::-1], False].index(False)
        key = "content" if self.wire == "anthropic" else "parts"
        content = self.turns[-1][key]
        return sum(
            block.get("type") == "tool_result" or "functionResponse" in block
            for block in content
            if isinstance(block, dict)
        )


Plan = Sequence[Answer] | Callable[[Asked], Answer]


def utf8(value: Any) -> str:
    """JSON that can be sent: in letters as they are, but for half a surrogate pair, which servers escape."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() or not re.search("[\ud800-\udfff]", text) else json.dumps(value)
