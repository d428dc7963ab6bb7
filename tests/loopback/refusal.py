"""A refusal as the vendors word it."""

from __future__ import annotations

import json
from typing import Any

from tests.loopback.plan import Refuse, Wire

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OPENAI_TYPES = {429: "requests", 500: "server_error", 503: "server_error"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class Refused(Exception):
    """The request breaks a rule of the API."""

    def __init__(self, message: str, status: int = 400, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def body_of(refusal: Refuse, wire: Wire) -> bytes:
    """The JSON body of an error response."""
    if refusal.body is not None:
        return refusal.body
    return json.dumps(error_of(refusal, wire)).encode()


def error_of(refusal: Refuse, wire: Wire) -> dict[str, Any]:
    """The JSON form of an error."""
    match wire:
        case "anthropic":
            return anthropic_error(refusal)
        case "google":
            return google_error(refusal)
        case _:
            return openai_error(refusal)


def anthropic_error(refusal: Refuse) -> dict[str, Any]:
    """`{"type": "error", "error": {…}}`, also as an event in mid-stream."""
    kind = refusal.kind or TYPES.get(refusal.status, "api_error")
    error: dict[str, Any] = {"type": kind, "message": refusal.message}
    if refusal.details is not None:
        error["details"] = refusal.details
    return {"type": "error", "error": error, "request_id": "req_loopback"}


def google_error(refusal: Refuse) -> dict[str, Any]:
    """`{"error": {"code", "message", "status", "details"}}`, also as a data line in mid-stream."""
    status = refusal.kind or STATUSES.get(refusal.status, "UNKNOWN")
    error: dict[str, Any] = {"code": refusal.status, "message": refusal.message, "status": status}
    if refusal.details is not None:
        error["details"] = refusal.details
    return {"error": error}


def openai_error(refusal: Refuse) -> dict[str, Any]:
    """`{"error": {"message", "type", "param", "code"}}`, also as a data line in mid-stream of a chat completion."""
    kind = OPENAI_TYPES.get(refusal.status, "server_error" if refusal.status >= 500 else "invalid_request_error")
    if refusal.kind == "insufficient_quota":
        kind = refusal.kind
    error: dict[str, Any] = {"message": refusal.message, "type": kind, "param": None, "code": refusal.kind or None}
    return {"error": error | (refusal.details if isinstance(refusal.details, dict) else {})}
