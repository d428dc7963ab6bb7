"""Incomplete replies: the reminder with which the model is asked again, and the error that ends the turn at last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentcli.agent.reply import ReplyBuilder
from agentcli.core.errors import AgentError, IncompleteReply, ModelError
from agentcli.core.message import Stop, ToolCall

EMPTY = "Your last reply was empty. Go on with the task, or say in a sentence why it is finished."
CUT = (
    "Your reply reached the output limit: what was unfinished, a tool call included, is lost. Go on in smaller pieces."
)
MALFORMED = "Your last tool call was malformed and did not run. Send it again with valid arguments."
UNKNOWN = "Your last reply ended for an unknown reason, so its tool calls did not run. Send them again if they are still wanted."
BROKEN_OFF = "Your last reply ended for an unknown reason. Say again, whole, what you meant to say."
RECITED = "Your last reply was stopped because it repeated a source word for word. Go on in words of your own."


@dataclass(frozen=True, slots=True)
class Defect:
    """A way in which a reply falls short. `again` requests in a row may follow on it; the model is told `reminder` with each.

    `happened` and `cure` are what the person is told when the turn ends on it, as `ending`.
    """

    reminder: str
    again: int
    happened: str
    cure: str
    ending: Literal["incomplete", "refused"] = "incomplete"


_EMPTY = Defect(EMPTY, 1, "sent an empty reply", "Say what it should do next, or try another model.")
_CUT = Defect(CUT, 3, "ran into its output limit", "Ask for less at a time, or raise agent.max_output.")
_FULL = Defect(CUT, 3, "ran into the end of its context window", "Compact the conversation (/compress) or begin anew.")
_MALFORMED = Defect(MALFORMED, 1, "sent a malformed tool call", "Say it in other words, or try another model.")
_UNKNOWN = Defect(UNKNOWN, 1, "ended its reply for an unknown reason", "Try again, or try another model.")
_BROKEN_OFF = Defect(BROKEN_OFF, 1, _UNKNOWN.happened, _UNKNOWN.cure)
_RECITED = Defect(RECITED, 1, "repeated a source word for word", "Rephrase the request.", "refused")
_REFUSED = Defect("", 0, "refused to go on", "Rephrase the request.", "refused")


def defect(reply: ReplyBuilder, most_pauses: int) -> Defect | None:
    """The defect of an incomplete reply; None for a complete one. `most_pauses` in a row end the turn."""
    match reply.stop:
        case "malformed_call":
            return _MALFORMED
        case "max_tokens":
            return _CUT
        case "context_exceeded":
            return _FULL
        case "pause":
            again = max(0, most_pauses - 1)
            return Defect("", again, "paused without coming to an end", "Say “go on”, or raise agent.max_pauses.")
        case "refusal":
            return _REFUSED
        case "recitation":
            return _RECITED
        case "error" | "other":
            asked = any(isinstance(part, ToolCall) for part in reply.parts)
            return _UNKNOWN if asked else _BROKEN_OFF
        case _:
            return _EMPTY if reply.empty else None


def at_last(defect: Defect, reply: ReplyBuilder) -> AgentError:
    """The error that ends a turn whose last replies all had this defect."""
    times = defect.again + 1
    often = "" if times == 1 else " twice in a row" if times == 2 else f" {times} times in a row"
    message = f"The model {defect.happened}{often}{_named(reply)}. {defect.cure}"
    if defect.ending == "refused":
        return ModelError(message, "refusal")
    return IncompleteReply(message, transient=reply.stop == "other")


def not_run(reply: ReplyBuilder) -> str:
    """The result of a call whose reply did not end as it should have."""
    return f"Not run: the reply that asked for it did not end as it should have{_named(reply)}."


_GOOD: frozenset[Stop | None] = frozenset({"end_turn", "tool_use", "stop_sequence", None})


def _named(reply: ReplyBuilder) -> str:
    """The reason why the reply ended, in brackets: the provider's own word where it has one."""
    reason = reply.detail or ("" if reply.stop in _GOOD else reply.stop)
    return f" ({reason})" if reason else ""
