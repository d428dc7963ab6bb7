"""A reply while it arrives: stream events in, a message out, however the stream ends."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.event import ReplyRestarted
from agentcli.core.message import Message, Part, Stop, Text, Thinking, ToolCall, Usage
from agentcli.core.model import EditsApplied, ModelSpec, PartDone, Stopped, StreamEvent, TextDelta, UsageSeen

Tail = tuple["Tail | None", str]
"""Text as it arrives, each piece pointing to the one before it: adding a piece copies nothing."""


@dataclass(frozen=True, slots=True)
class ReplyBuilder:
    """The reply so far. Finished parts are authoritative; an unfinished text is included if the stream ends here."""

    parts: tuple[Part, ...] = ()
    tail: Tail | None = None
    usage: Usage | None = None
    stop: Stop | None = None
    detail: str = ""
    applied: EditsApplied | None = None
    malformed: str = ""
    """The tool whose call is malformed, if known."""

    def add(self, step: StreamEvent) -> ReplyBuilder:
        """Return the reply after one more event of the stream."""
        match step:
            case TextDelta(text):
                return replace(self, tail=(self.tail, text))
            case PartDone(part):
                return replace(self, parts=(*self.parts, part), tail=None if isinstance(part, Text) else self.tail)
            case UsageSeen(usage):
                return replace(self, usage=usage)
            case EditsApplied():
                return replace(self, applied=step)
            case Stopped(stop, detail, tool):
                return replace(self, stop=stop, detail=detail, malformed=tool)
            case ReplyRestarted():
                return ReplyBuilder()
            case _:
                return self

    def so_far(self) -> tuple[Part, ...]:
        """Return the parts if the stream ended now, the unfinished text included."""
        unfinished = _joined(self.tail)
        return (*self.parts, Text(unfinished)) if unfinished else self.parts

    @property
    def text(self) -> str:
        """The text of the reply so far."""
        return "".join(part.text for part in self.so_far() if isinstance(part, Text))

    @property
    def has_calls(self) -> bool:
        """True if it has calls, whether they may run or not."""
        return any(isinstance(part, ToolCall) for part in self.parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that may run: none of a reply that was cut, and not the last one of a reply that ran out of tokens."""
        calls = tuple(part for part in self.parts if isinstance(part, ToolCall))
        match self.stop:
            case "tool_use" | "end_turn" | "stop_sequence":
                return calls
            case "max_tokens" | "context_exceeded":
                return calls[:-1] if self.parts and isinstance(self.parts[-1], ToolCall) else calls
            case _:
                return ()

    @property
    def empty(self) -> bool:
        """True if the conversation cannot continue from it: no text and no calls."""
        return not any(
            isinstance(part, ToolCall) or (isinstance(part, Text) and part.text.strip()) for part in self.so_far()
        )

    def message(self, turn: int, model: ModelSpec, *, error: str = "") -> Message:
        """Return the reply as it goes into the session: finished, interrupted or failed."""
        return Message(
            role="assistant",
            parts=tuple(part for part in self.so_far() if _has_content(part)),
            turn=turn,
            provider=model.provider,
            model=model.id,
            usage=self.usage,
            cost=model.cost(self.usage) if self.usage else None,
            stop=self.stop or ("error" if error else "interrupted"),
            error=error,
        )


def _joined(tail: Tail | None) -> str:
    pieces: list[str] = []
    while tail is not None:
        tail, piece = tail
        pieces.append(piece)
    return "".join(reversed(pieces))


def _has_content(part: Part) -> bool:
    match part:
        case Text(text, meta=meta):
            return bool(text) or meta is not None
        case Thinking(text, signature, meta):
            return bool(text or signature or meta)
        case _:
            return True
