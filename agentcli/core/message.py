"""Messages and their parts: immutable values without ids or storage, the same for every provider."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from threading import Lock
from typing import Any, Literal, TypeVar

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.setting import Cost

Role = Literal["user", "assistant"]
Status = Literal["success", "error", "denied", "interrupted"]
Stop = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "pause",
    "context_exceeded",
    "malformed_call",
    "recitation",
    "other",
    "interrupted",
    "error",
]
Source = Literal["", "reminder", "file", "shell", "hook", "compactor", "skill", "inline"]
"""Sources of synthetic texts; the empty source is the speaker's own text.

`inline` is output of a command or file within the user's text. `skill` is the body of a skill. Both include their own
tags.
"""

Meta = Mapping[str, Any]
"""Data that a provider needs back unchanged, by the provider's kind; opaque to everyone else."""
SIGNATURE = "thought_signature"
"""Key of the signature of a text or call, in the provider's own part of a Meta."""
TYPED = "agentcli"
"""Key in a Meta. In a user's text, it has the line that the user entered; in a call, the changes made to it.

In a summary that only its provider can read, it has the summary's `SIZE`.
"""
SIZE = "tokens"
"""The key in that Meta of the tokens of a text that represents more than itself."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text. `synthetic` if agentcli wrote it on someone's behalf; `source` then selects its wrapper."""

    text: str
    synthetic: bool = False
    source: Source = ""
    meta: Meta | None = None


def reminder(text: str) -> Text:
    """Text from agentcli for the model, in addition to the user's words."""
    return Text(text, synthetic=True, source="reminder")


def shell_text(command: str, output: str, code: int) -> Text:
    """Text with a command that the user ran with `!`, for the model."""
    return Text(f"$ {command}\n{output}\n(exit code {code})", synthetic=True, source="shell")


def shell_run(text: Text) -> tuple[str, str, int] | None:
    """Return command, output and exit code in such a text; None for any other text."""
    found = re.fullmatch(r"(?s)\$ ([^\n]*)\n(.*)\n\(exit code (-?\d+)\)", text.text) if text.source == "shell" else None
    return (found[1], found[2], int(found[3])) if found else None


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning. Without its signature (or meta) it is never sent back."""

    text: str
    signature: str = ""
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """An image, base64 encoded; `path` is where it came from, if from a file."""

    mime: str
    data: str
    path: str = ""
    meta: Meta | None = None


GOES_ON = "\n… (the file continues)"
"""End of the text of an attached file if only its beginning is attached."""


@dataclass(frozen=True, slots=True)
class File:
    """A file or folder that the user attached with `@path`, with its text at that moment.

    `sha256` is the hash of the content, if the text is the whole content.
    """

    mime: str
    path: str
    text: str = ""
    meta: Meta | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request of the model for a tool. A truncated call never becomes one.

    Unreadable arguments are kept as text: then `unreadable` is the reason, and `input` has the text as `arguments`.
    """

    call_id: str
    name: str
    input: Mapping[str, Any]
    meta: Meta | None = None

    @property
    def unreadable(self) -> str:
        """The reason why its arguments are unreadable; empty for a call that may run."""
        return str(self._own.get("unreadable") or "")

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about the call for the model: how it was repaired, or as which tool it runs."""
        found = self._own.get("remarks")
        return tuple(map(str, found)) if isinstance(found, list | tuple) else ()

    def remarked(self, remark: str) -> ToolCall:
        """Return the call with one more remark."""
        return replace(self, meta={**(self.meta or {}), TYPED: {**self._own, "remarks": [*self.remarks, remark]}})

    @property
    def _own(self) -> Mapping[str, Any]:
        own = (self.meta or {}).get(TYPED)
        return own if isinstance(own, Mapping) else {}


ARGUMENTS = "arguments"
"""Input key of a call with unreadable arguments: their text."""


def unreadable_call(call_id: str, name: str, text: str, why: str) -> ToolCall:
    """Return a call with unreadable arguments, with their text as received."""
    return ToolCall(call_id, name, {ARGUMENTS: text}, {TYPED: {"unreadable": why}})


Part = Text | Thinking | Image | File | ToolCall


class Pieces:
    """Text that arrives in pieces, which its holders share.

    The newest are in a buffer: each as an object would take fifty bytes more. A full buffer is appended to the text in
    place, so that the text is in memory once.
    """

    __slots__ = ("_buffer", "_joined")

    def __init__(self, text: str = "") -> None:
        self._joined = ""
        self._buffer = bytearray()
        self.append(text)

    def __bool__(self) -> bool:
        return bool(self._buffer or self._joined)

    def __iter__(self) -> Iterator[str]:
        """Yield the text so far in slices, also in another thread."""
        with _JOINING:
            size, buffer = len(self._joined), self._buffer[:]
        for start in range(0, size, _BUFFER):
            with _JOINING:  # not held from slice to slice: the text could not be extended in place
                piece = self._joined[start : min(start + _BUFFER, size)]
            yield piece
        if buffer:
            yield buffer.decode("utf-8", "surrogatepass")

    def append(self, text: str) -> None:
        """Add a piece."""
        self._buffer += text.encode("utf-8", "surrogatepass")
        if len(self._buffer) > _BUFFER and len(self._buffer) > len(self._joined) // _SHARE:
            self.text()

    def text(self) -> str:
        """Return the text so far."""
        if self._buffer:
            with _JOINING:
                text, self._joined = self._joined, ""  # a string that nobody else holds is extended in place
                text += self._buffer.decode("utf-8", "surrogatepass")
                self._joined, self._buffer = text, bytearray()
        return self._joined


_BUFFER = 1 << 16
"""Bytes from which a buffer is full."""
_SHARE = 16
"""The part of its text from which a buffer is full. If the system has to move a long text, it moves it rarely."""
_JOINING = Lock()


class UnfinishedText(tuple[Pieces, ...]):
    """A text that is still arriving. It is saved without a copy of it."""


P = TypeVar("P", bound="Part")


PIPE_CLOSED = 128 + 13
"""Exit code of a command whose reader has read enough."""


def exit_in_pipe(metadata: Mapping[str, Any]) -> int | None:
    """Return the exit code of a command in a result's metadata; None if unknown.

    If the last part of its last pipe succeeded, it is that of the last part that failed.
    """
    code = metadata.get("exit_code")
    failed = [each for each in metadata.get("parts", ()) if each not in (0, PIPE_CLOSED)]
    return (code or (failed[-1] if failed else 0)) if isinstance(code, int) else None


CHANGED, MORE_CHANGED = "changed", "more_changed"
"""Metadata keys of a command's result for the files that it changed, and for how many are not listed.

Each has its `path`, relative if it is in the workspace. It may be marked as `created` or `deleted`; a text has
`additions` and `deletions`.
"""
FINDINGS = "findings"
"""Metadata key of a result: the end of its output, which lists the new findings of an edit."""
ADDED = "Added by agentcli"
"""Label for people of a text that only reminds the model."""
FOR_MODEL = "for_model"
"""Metadata key of a result: the part of its output that only the model needs."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to a call. Times are seconds since the epoch; `output_file` contains the whole output if it was
    truncated.
    """

    call_id: str
    name: str
    status: Status
    output: str
    truncated: bool = False
    output_file: str = ""
    title: str = ""
    started: float = 0.0
    ended: float = 0.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[Image, ...] = ()

    @property
    def failed(self) -> bool:
        """True if the call is reported to the model as failed."""
        return self.status != "success"

    @property
    def for_people(self) -> str:
        """The output without the part that only shows the model how to continue."""
        hint = self.metadata.get(FOR_MODEL)
        return self.output.replace(hint, "") if hint and isinstance(hint, str) else self.output

    @property
    def seconds(self) -> float:
        """Seconds that the call took; 0 if its start is unknown, as in sessions of other programs."""
        return max(0.0, self.ended - self.started) if self.started else 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request. `input` counts tokens neither read from nor written to the cache; `output` includes
    `reasoning`.

    `tier` is the service tier that the provider reports; empty for the standard one, and for sums.
    """

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    tier: str = ""

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """The numbers, in the order of their fields."""
        return self.input, self.output, self.reasoning, self.cache_read, self.cache_write

    @property
    def prompt(self) -> int:
        """Actual size of the prompt, however it was billed."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """All tokens in the window once the reply was complete."""
        return self.prompt + self.output

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.input - other.input,
            self.output - other.output,
            self.reasoning - other.reasoning,
            self.cache_read - other.cache_read,
            self.cache_write - other.cache_write,
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write")
"""Fields of a usage that are numbers of tokens, in their order."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of one side. The fields from `provider` on are set on an assistant's message only; `cost` is in USD."""

    role: Role
    parts: tuple[Part, ...]
    turn: int = 0
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
    cost: Cost | None = None
    stop: Stop | None = None
    error: str = ""

    @property
    def text(self) -> str:
        """The speaker's own text, without injections, thoughts or calls."""
        return "".join([part.text for part in self.parts if isinstance(part, Text) and not part.synthetic])

    @property
    def typed(self) -> str:
        """The prompt as the user entered it: the slash command itself, if a file supplied the text."""
        for part in self.parts:
            line = part.meta.get(TYPED, {}).get("line") if isinstance(part, Text) and part.meta else None
            if isinstance(line, str):
                return line
        return self.text

    @property
    def is_prompt(self) -> bool:
        """True if it has a user's text or image, not only parts that agentcli wrote on someone's behalf."""
        return self.role == "user" and any(not (isinstance(part, Text) and part.synthetic) for part in self.parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of this message, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    def without_thoughts(self) -> Message:
        """Return the message without its thoughts, and without the thinking signatures of its text and calls."""
        return self.with_parts(tuple(unsigned(part) for part in self.parts if not isinstance(part, Thinking)))

    def with_parts(self, parts: tuple[Part, ...]) -> Message:
        """Return the message with other parts."""
        return replace(self, parts=parts)


def unsigned(part: P) -> P:
    """Return a part without the signature, which covers exactly its content."""
    if not (part.meta and any(isinstance(own, Mapping) and SIGNATURE in own for own in part.meta.values())):
        return part
    left = {
        kind: {name: value for name, value in own.items() if name != SIGNATURE} if isinstance(own, Mapping) else own
        for kind, own in part.meta.items()
    }
    return replace(part, meta={kind: own for kind, own in left.items() if own} or None)
