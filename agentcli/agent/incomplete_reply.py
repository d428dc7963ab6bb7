"""Incomplete replies: the reminder with which the model is asked again, and the error that ends the turn at last."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from agentcli.agent.reply import ReplyBuilder
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, IncompleteReply, ModelError
from agentcli.core.message import Stop, ToolCall

EMPTY = "Your last reply was empty. Go on with the task, or say in a sentence why it is finished."
CUT = (
    "Your reply reached the output limit: what was unfinished, a tool call included, is lost. Go on in smaller pieces."
)
MALFORMED = (
    "Your last {call} was malformed and did not run. Send it again with valid arguments. "
    "If they were large, write the file in parts: write the beginning, then add the rest with edit."
)
"""`call` names the tool if it is known."""
UNKNOWN = "Your last reply ended for an unknown reason, so its tool calls did not run. Send them again if they are still wanted."
BROKEN_OFF = "Your last reply ended for an unknown reason. Say again, whole, what you meant to say."
RECITED = "Your last reply was stopped because it repeated a source word for word. Go on in words of your own."


Kind = Literal["no answer", "cut", "full", "pause", "unknown", "recited", "refused"]


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect of a reply. The model is asked again up to `again` times in a row, with `reminder`.

    Defects of one `kind` are counted together. If the turn ends on it, as `ending`, the person is told `happened` and `cure`.
    """

    kind: Kind
    reminder: str
    again: int
    happened: str
    cure: str
    ending: Literal["failed", "incomplete", "refused"] = "incomplete"


NO_ANSWERS = 3
"""Empty or malformed replies in a row that are answered with a reminder; the next one ends the turn."""
_EMPTY = Defect(
    "no answer", EMPTY, NO_ANSWERS, "sent an empty reply", "Tell it what to do next, or try another model.", "failed"
)
_CUT = Defect("cut", CUT, 3, "ran into its output limit", "Ask for less at a time, or raise agent.max_output.")
_FULL = Defect(
    "full",
    CUT,
    3,
    "ran into the end of its context window",
    "Compact the conversation (/compress) or start a new session.",
)
_BROKEN_OFF = Defect(
    "unknown", BROKEN_OFF, 1, "ended its reply for an unknown reason", "Try again, or try another model."
)
_UNKNOWN = replace(_BROKEN_OFF, reminder=UNKNOWN)
_RECITED = Defect("recited", RECITED, 1, "repeated a source word for word", "Rephrase the request.", "refused")
_REFUSED = Defect("refused", "", 0, "refused to go on", "Rephrase the request.", "refused")


def defect(reply: ReplyBuilder, most_pauses: int) -> Defect | None:
    """Return the defect of an incomplete reply; None for a complete one. `most_pauses` in a row end the turn."""
    match reply.stop:
        case "malformed_call":
            return _malformed(reply.malformed)
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
            return _EMPTY if reply.empty else None


def _malformed(tool: str) -> Defect:
    call = f"call of {tool}" if tool else "tool call"
    happened = f"sent a malformed {call}"
    cure = "Rephrase it, or try another model."
    return Defect("no answer", MALFORMED.format(call=call), NO_ANSWERS, happened, cure, "failed")


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
    """Return the result of a call whose reply did not end as it should have."""
    return f"Not run: the reply that asked for it did not end as it should have{_named(reply)}."


_GOOD: frozenset[Stop | None] = frozenset({"end_turn", "tool_use", "stop_sequence", None})


def _named(reply: ReplyBuilder) -> str:
    """Return the reason why the reply ended, in brackets: the provider's own word if it has one."""
    reason = reply.detail or ("" if reply.stop in _GOOD else reply.stop)
    return f" ({reason})" if reason else ""
