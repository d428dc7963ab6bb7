"""A reply while it arrives: stream events in, a message out, however the stream ends.

If a reply is incomplete, the model is reminded and asked again, until an error ends the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError, IncompleteReply, ModelError
from agentcli.core.event import ReplyRestarted
from agentcli.core.message import Message, Part, Pieces, Stop, Text, Thinking, ToolCall, UnfinishedText, Usage
from agentcli.core.model import (
    EditsApplied,
    ModelSpec,
    PartDone,
    Searched,
    Stopped,
    StreamEvent,
    TextDelta,
    UsageSeen,
)

BEGINS = ("<", "‹", "[", "{", "*** Begin Patch", "```tool_code", "Action:", "to=")
"""Texts of which every reply with a written call contains one: most replies are examined no further."""
ENDS = (">", "]", "}", "`", "|")
"""Last characters of a reply that ends with a call."""


class _Collected(Pieces):
    """Text of deltas from a model that keeps no growing text."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ReplyBuilder:
    """The reply so far. Finished parts are authoritative; an unfinished text is included if the stream ends here."""

    parts: tuple[Part, ...] = ()
    tail: tuple[Pieces, ...] = ()
    """The unfinished text."""
    usage: Usage | None = None
    stop: Stop | None = None
    detail: str = ""
    applied: EditsApplied | None = None
    searched: Searched | None = None
    malformed: str = ""
    """The tool whose call is malformed, if known."""
    sent: str = ""
    """The malformed call as the provider reports it, if it is not part of the reply."""

    def add(self, step: StreamEvent) -> ReplyBuilder:
        """Return the reply after one more event of the stream."""
        match step:
            case TextDelta(text, whole):
                last = self.tail[-1] if self.tail else None
                if last is not None and last is whole:
                    return self
                if whole is None and isinstance(last, _Collected):
                    last.append(text)
                    return self
                return replace(self, tail=(*self.tail, whole or _Collected(text)))
            case PartDone(part):
                return replace(self, parts=(*self.parts, part), tail=() if isinstance(part, Text) else self.tail)
            case UsageSeen(usage):
                return replace(self, usage=usage)
            case EditsApplied():
                return replace(self, applied=step)
            case Searched():
                return replace(self, searched=step)
            case Stopped(stop, detail, tool, sent):
                return replace(self, stop=stop, detail=detail, malformed=tool, sent=sent)
            case ReplyRestarted():
                return ReplyBuilder()
            case _:
                return self

    def joined(self) -> ReplyBuilder:
        """Return the reply with its unfinished text as a part."""
        return replace(self, parts=self.so_far(), tail=()) if self.tail else self

    def unfinished(self) -> Sequence[Part | UnfinishedText]:
        """Return the parts like `so_far`, without a copy of the unfinished text."""
        return (*self.parts, UnfinishedText(self.tail)) if self.tail else self.parts

    def so_far(self) -> tuple[Part, ...]:
        """Return the parts if the stream ended now, including unfinished text."""
        unfinished = "".join(pieces.text() for pieces in self.tail)
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
        """The calls that may run.

        A truncated reply has none. A reply that ran out of tokens loses its last call.
        """
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
            isinstance(part, ToolCall) or (isinstance(part, Text) and part.text and not part.text.isspace())
            for part in self.so_far()
        )

    def message(self, turn: int, model: ModelSpec, *, error: str = "") -> Message:
        """Return the reply as it is recorded: finished, interrupted or failed."""
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


def _has_content(part: Part) -> bool:
    match part:
        case Text(text, meta=meta):
            return bool(text) or meta is not None
        case Thinking(text, signature, meta):
            return bool(text or signature or meta)
        case _:
            return True


EMPTY = "Your last reply was empty. Go on with the task, or say in a sentence why it is finished."
CUT = (
    "Your reply reached the output limit: what was unfinished, a tool call included, is lost. Go on in smaller pieces."
)
FULL = (
    "Your reply reached the end of the context window: what was unfinished, a tool call included, is lost. "
    "The conversation was shortened to make room for it. Go on from there."
)
"""Reminder after a compaction that made room."""
WINDOW_CUT = "Your reply reached the end of the context window: what was unfinished, a tool call included, is lost. Go on in smaller pieces."
MALFORMED = (
    "Your last {call} was malformed and did not run. Send it again with valid arguments. "
    "If they were large, write the file in parts: write the beginning, then add the rest with edit."
)
"""`call` is the tool's name if known."""
UNKNOWN = "Your last reply ended for an unknown reason, so its tool calls did not run. Send them again if they are still wanted."
BROKEN_OFF = "Your last reply ended for an unknown reason. Say again, whole, what you meant to say."
RECITED = "Your last reply was stopped because it repeated a source word for word. Go on in words of your own."


Kind = Literal["no answer", "cut", "full", "pause", "unknown", "recited", "refused"]


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect of a reply. The model is asked again up to `again` times in a row, with `reminder`.

    Defects of one `kind` are counted together. If it ends the turn, as `ending`, the person sees `happened` and `cure`.
    """

    kind: Kind
    reminder: str
    again: int
    happened: str
    cure: str
    ending: Literal["failed", "incomplete", "refused"] = "incomplete"


_SENT = 200
"""Characters of a malformed call that a reminder repeats."""
NO_ANSWERS = 3
"""Consecutive empty or malformed replies that get a reminder; the next one ends the turn."""
_EMPTY = Defect(
    "no answer", EMPTY, NO_ANSWERS, "sent an empty reply", "Tell it what to do next, or try another model.", "failed"
)
_CUT = Defect("cut", CUT, 3, "ran into its output limit", "Ask for less at a time, or raise agent.max_output.")
_FULL = Defect(
    "full",
    WINDOW_CUT,
    3,
    "ran into the end of its context window",
    "Compact the conversation (/compress) or start a new session.",
)
_BROKEN_OFF = Defect(
    "unknown", BROKEN_OFF, 1, "ended its reply for an unknown reason", "Try again, or try another model."
)
_UNKNOWN = replace(_BROKEN_OFF, reminder=UNKNOWN)
_RECITED = Defect("recited", RECITED, 1, "repeated a source word for word", "Rephrase the request.", "refused")
_REFUSED = Defect("refused", "", 0, "refused to continue", "Rephrase the request.", "refused")


def defect(reply: ReplyBuilder, most_pauses: int) -> Defect | None:
    """Return the defect of an incomplete reply; None for a complete one. `most_pauses` in a row end the turn."""
    match reply.stop:
        case "malformed_call":
            return _malformed(reply.malformed, reply.sent)
        case "max_tokens":
            return _CUT
        case "context_exceeded":
            return _FULL
        case "pause":
            again = max(0, most_pauses - 1)
            cure = "Type “continue”."
            return Defect("pause", "", again, "paused without coming to an end", cure)
        case "refusal":
            return _REFUSED
        case "recitation":
            return _RECITED
        case "error" | "other":
            asked = any(isinstance(part, ToolCall) for part in reply.parts)
            return _UNKNOWN if asked else _BROKEN_OFF
        case _:
            if reply.calls and all(call.unreadable for call in reply.calls):
                return replace(_malformed(reply.calls[0].name), reminder="")
            return _EMPTY if reply.empty else None


def _malformed(tool: str, sent: str = "") -> Defect:
    call = f"call of {tool}" if tool else "tool call"
    happened = f"sent a malformed {call}"
    cure = "Rephrase it, or try another model."
    reminder = MALFORMED.format(call=call) + (f" You sent: {sent[:_SENT]}" if sent else "")
    return Defect("no answer", reminder, NO_ANSWERS, happened, cure, "failed")


def at_last(defect: Defect, reply: ReplyBuilder) -> AgentError:
    """Return the error that ends a turn whose last replies all had this defect."""
    times = defect.again + 1
    often = "" if times == 1 else " twice in a row" if times == 2 else f" {times} times in a row"
    message = f"The model {defect.happened}{often}{_named(reply)}. {defect.cure}"
    if defect.ending == "refused":
        return ModelError(message, "refusal")
    if defect.ending == "failed":
        return AgentError(message)
    return IncompleteReply(message, transient=reply.stop == "other")


def not_run(reply: ReplyBuilder) -> str:
    """Return the result of a call whose reply did not end properly."""
    return f"Not run: the reply that asked for it did not end as it should have{_named(reply)}."


_GOOD: frozenset[Stop | None] = frozenset({"end_turn", "tool_use", "stop_sequence", None})


def _named(reply: ReplyBuilder) -> str:
    """Return why the reply ended, in brackets, in the provider's own words if available."""
    reason = reply.detail or ("" if reply.stop in _GOOD else reply.stop)
    return f" ({reason})" if reason else ""
