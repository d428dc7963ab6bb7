"""Errors of the program as JSON-RPC errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acp import RequestError
from pydantic import ValidationError

from agentcli.core.errors import AgentError, CredentialsError, InputError, ModelError, SessionBusy, UsageError

AUTH_REQUIRED, NOT_FOUND = -32000, -32002
"""Codes of the protocol for a missing key, and for a session that does not exist."""
INVALID_REQUEST, INVALID_PARAMS, INTERNAL = -32600, -32602, -32603

BUSY = "A turn is running; cancel it first."
"""Answer to a request that has to wait for the end of a turn."""
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
