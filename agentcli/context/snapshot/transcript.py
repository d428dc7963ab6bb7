"""Conversation to summarise, as text: the summariser's input, cut to fit its window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.inject import escape
from agentcli.context.snapshot.anchors import Source, Speaker
from agentcli.context.tokens.counter import TokenCounter, as_text
from agentcli.context.view import Block, ViewMessage
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.text.truncate import truncate_middle

_DEFAULT = SnapshotSettings()
_WHOLE = 1_000_000
TAG = "conversation"
_Kind = Literal["output", "words", "input"]
"""Kinds of text, each cut to a length of its own."""
_Lengths = Mapping[_Kind, int]
_Counted = tuple[str, int]
"""A text with its tokens."""


def material(
    messages: Sequence[ViewMessage], counter: TokenCounter, room: int, calls: int, form: SnapshotSettings = _DEFAULT
) -> tuple[str, ...]:
    """Return the messages in at most `calls` texts of at most `room` tokens each, oldest first.

    Outputs are clipped first, then the text is divided. If that is not enough, everything is clipped hard. Finally, the
    oldest texts are left out.
    """
    recitals = _Recitals(messages, counter)
    for clip in (_WHOLE, *form.clips):
        if recitals.begun and recitals.longest <= clip:
            continue  # would cut none of the texts that were too long
        texts = _fitting(recitals.cut(clip, _WHOLE), room)
        if texts is not None:
            return ("\n\n".join(texts),)
    *tries, least = (*form.clips[-1:], *form.hard_clips) or (_WHOLE,)
    for clip in tries:
        chunks = _divided(recitals.cut(clip, _others(clip, form)), counter, room, calls)
        if chunks is not None:
            return tuple(chunks)
    chunks = _divided(recitals.cut(least, _others(least, form)), counter, room, len(messages)) or []
    return tuple(chunks[-calls:])


def _others(clip: int, form: SnapshotSettings) -> int:
    """Return the length of all other texts if outputs are cut to `clip`."""
    return 5 * clip if clip in form.hard_clips else _WHOLE


def recite(message: ViewMessage, clip: int, longest: int) -> str:
    """Return one message with its speaker, seqs and content.

    Outputs are cut to `clip` characters, everything else to `longest`.
    """
    return _Recital(message).cut(_lengths(clip, longest))


class _Recital:
    """One message as text that can be cut to several lengths.

    `whole` is its uncut text with its tokens, None until counted.
    """

    __slots__ = ("_heading", "_pieces", "longest", "whole")

    def __init__(self, message: ViewMessage) -> None:
        speaker = "ASSISTANT" if message.role == "assistant" else "USER" if message.is_prompt else "TOOLS"
        number = "" if message.has_results else f" #{message.seq}"
        self._heading = f"[turn {message.turn}] {speaker}{number}:\n"
        self._pieces = [piece for piece in map(_piece, message.blocks) if piece[0] or piece[1]]
        self.longest = max([len(text) for _, text, _ in self._pieces], default=0)
        self.whole: _Counted | None = None

    def cut(self, lengths: _Lengths) -> str:
        """Return the message with each kind of text cut to its length."""
        lines = [
            lead + (text if len(text) <= lengths[kind] else truncate_middle(text, lengths[kind]))
            for lead, text, kind in self._pieces
        ]
        return escape(TAG, self._heading + "\n".join(lines))


class _Recitals:
    """Messages as text. Each is created on first use, and its uncut text is counted once."""

    def __init__(self, messages: Sequence[ViewMessage], counter: TokenCounter) -> None:
        self._messages = messages
        self._counter = counter
        self._made: list[_Recital] = []

    @property
    def begun(self) -> bool:
        """True once a message was read."""
        return bool(self._made)

    @property
    def longest(self) -> int:
        """The length of the longest text of the messages read so far."""
        return max([recital.longest for recital in self._made], default=0)

    def cut(self, clip: int, longest: int) -> Iterator[_Counted]:
        """Yield the text of each message, oldest first, cut to these lengths."""
        lengths = _lengths(clip, longest)
        shortest = min(lengths.values())
        for number, message in enumerate(self._messages):
            if number == len(self._made):
                self._made.append(_Recital(message))
            recital = self._made[number]
            if recital.longest > shortest:
                yield self._counted(recital.cut(lengths))
            else:
                recital.whole = recital.whole or self._counted(recital.cut(lengths))
                yield recital.whole

    def _counted(self, text: str) -> _Counted:
        return text, self._counter.text(text)


def _lengths(clip: int, longest: int) -> _Lengths:
    return {"output": clip, "words": longest, "input": max(clip, 200)}


def sources(messages: Iterable[ViewMessage]) -> Sequence[Source]:
    """Return the whole text of these messages, including thoughts: evidence for a summary of them."""
    calls: dict[str, tuple[int, str]] = {}
    found: list[Source] = []
    for message in messages:
        turn = message.turn
        for block in message.blocks:
            part, seq, speaker = block.part, block.seq, _SPEAKERS.get(block.tier, "tool")
            step, head = seq, ""
            if isinstance(part, ToolCall):
                calls[part.call_id] = step, _head(part.input)
            elif isinstance(part, ToolResult):
                step, head = calls.get(part.call_id, (step, ""))
            found += [Source(text, seq, step, speaker, head, turn) for text in _texts(part)]
    return found


def _head(given: Mapping[str, object]) -> str:
    """Return the short inputs of a call, which show what its outputs are about."""
    return " ".join(text for text in map(str, given.values()) if len(text) <= _HEAD)


_SPEAKERS: Mapping[int, Speaker] = {1: "user", 2: "agent"}
"""Speaker of each tier of trust."""
_HEAD = 200
"""Longest of these inputs, in characters."""


def dialogue(messages: Iterable[ViewMessage]) -> Iterator[str]:
    """Yield the texts of the user and the assistant, which set the language of the conversation."""
    for message in messages:
        texts = [
            block.part.text for block in message.blocks if isinstance(block.part, Text) and not block.part.synthetic
        ]
        if texts:
            yield "\n".join(texts)


def _piece(block: Block) -> tuple[str, str, _Kind]:
    """Return the label of a block, its text and its kind; label and text are empty for a thought."""
    part = block.part
    if isinstance(part, ToolResult):
        return f"← {part.name} #{block.seq} ({part.status}): ", part.output, "output"
    if isinstance(part, ToolCall):
        return f"→ {part.name} ", as_text(part.input), "input"
    match part:
        case Text(text, synthetic, source):
            return (f"[{source or 'reminder'}] ", text, "output") if synthetic else ("", text, "words")
        case Thinking():
            return "", "", "words"
        case File(_, path, text):
            return f"[file {path}] ", text, "output"
        case Image(mime, _, path):
            return f"[{mime} image {path}]", "", "words"


def _texts(part: Part | ToolResult) -> Iterable[str]:
    """Return the whole texts of a part, word for word."""
    if isinstance(part, ToolResult):
        return part.name, part.output
    match part:
        case Text(text) | Thinking(text):
            return (text,)
        case ToolCall(_, name, given):
            return name, *_leaves(given)
        case File(_, path, text):
            return path, text
        case Image(_, _, path):
            return (path,)


def _leaves(value: object) -> Sequence[str]:
    match value:
        case str():
            return (value,)
        case Mapping():
            return [text for key, inner in value.items() for text in (str(key), *_leaves(inner))]
        case list() | tuple():
            return [text for inner in value for text in _leaves(inner)]
        case _:
            return (str(value),)


def _fitting(texts: Iterable[_Counted], room: int) -> list[str] | None:
    """Return the texts, or None as soon as they take more than `room` tokens."""
    fitting = []
    for text, size in texts:
        room -= size
        if room < 0:
            return None
        fitting.append(text)
    return fitting


def _divided(texts: Iterable[_Counted], counter: TokenCounter, room: int, most: int) -> list[str] | None:
    """Join neighbouring messages as long as they fit; return None as soon as that takes more than `most` texts.

    From a message that is too long for one text, only the beginning and the end are used.
    """
    chunks, chunk, left = [], list[str](), room
    for text, size in texts:
        if size > room:
            text = truncate_middle(text, max(200, int(len(text) * room / size * 0.9)))
            size = counter.text(text)
        if size > left and chunk:
            chunks.append(chunk)
            if len(chunks) == most:
                return None
            chunk, left = [], room
        chunk.append(text)
        left -= size
    if chunk:
        chunks.append(chunk)
    return ["\n\n".join(chunk) for chunk in chunks]
