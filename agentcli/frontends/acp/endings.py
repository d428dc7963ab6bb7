"""Ends of turns in the protocol's terms."""

from __future__ import annotations

from acp.schema import StopReason

from agentcli.core.errors import AgentError
from agentcli.core.event import TurnEnded
from agentcli.core.history import History
from agentcli.core.message import Message
from agentcli.frontends.acp.errors import request_error


def stop_reason(ended: TurnEnded, history: History) -> StopReason:
    """Return the protocol's reason for the end of a turn. Raise RequestError for a failed one."""
    match ended.ending:
        case "done":
            return "end_turn"
        case "interrupted":
            return "cancelled"
        case "limit":
            return "max_turn_requests"
        case "refused" | "blocked":  # refused by the model, or stopped by a hook
            return "refusal"
        case "incomplete" if _cut_off(history):
            return "max_tokens"
        case _:
            raise request_error(ended.error or AgentError("The turn failed."))


def _cut_off(history: History) -> bool:
    messages = (entry.body for entry in reversed(history.entries))
    newest = next((body for body in messages if isinstance(body, Message) and body.role == "assistant"), None)
    return newest is not None and newest.stop == "max_tokens"
