"""Errors of the program as JSON-RPC errors, and ends of turns as the protocol's reasons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acp import RequestError
from acp.schema import StopReason
from pydantic import ValidationError

from agentcli.core.errors import AgentError, CredentialsError, InputError, ModelError, SessionBusy, UsageError
from agentcli.core.event import TurnEnded
from agentcli.core.history import History
from agentcli.core.message import Message

AUTH_REQUIRED, NOT_FOUND = -32000, -32002
"""Codes of the protocol for a missing key, and for an unknown session."""
INVALID_REQUEST, INVALID_PARAMS, INTERNAL = -32600, -32602, -32603

BUSY = "A turn is running; cancel it first."
"""Answer to a request that must wait for a turn's end."""
UNANSWERED = (RequestError, ValidationError, ConnectionError)
"""Failures of a request to a client: an error, an invalid answer, or a closed connection."""


def request_error(error: Exception) -> RequestError:
    """Return a failure as the answer to a request; its message is for the person."""
    match error:
        case CredentialsError() | ModelError(cause="auth"):
            return RequestError(AUTH_REQUIRED, str(error))
        case SessionBusy():
            return RequestError(INVALID_REQUEST, str(error))
        case InputError() | UsageError():
            return RequestError(INVALID_PARAMS, str(error))
        case _:
            return RequestError(INTERNAL, str(error) or type(error).__name__)


@contextmanager
def answered() -> Iterator[None]:
    """Turn AgentErrors into answers."""
    try:
        yield
    except AgentError as error:
        raise request_error(error) from error


def stop_reason(ended: TurnEnded, history: History) -> StopReason:
    """Return the protocol's reason for a turn's end. Raise RequestError for a failed turn."""
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
