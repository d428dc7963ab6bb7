"""Causes of the Messages API's errors: by status, type and code, and by wording only if these do not suffice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.errors import Cause, ModelError
from agentcli.providers.errors import BY_STATUS, bad_request_cause, error_name, refusal, retry_after, text_in

_BY_TYPE: Mapping[str, Cause] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "billing",
    "not_found_error": "not_found",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "timeout_error": "server",
    "api_error": "server",
    "conflict_error": "server",
}
_SPENT = ("contract_spend_limit_reached", "enforced_spend_limit_reached")


def from_status(error: Any, key: str | None, vendor: str = "The provider") -> ModelError:
    """Make a ModelError from the SDK's APIStatusError."""
    status = int(error.status_code)
    text = text_in(error.api_message)
    cause = _cause(status, error.type or "", error.error_code or "", text)
    headers = error.response.headers
    return refusal(
        error_name(status, str(error.type or "")),
        text,
        cause,
        key,
        headers=headers,
        retry_after=retry_after(headers),
        status=status,
        vendor=vendor,
        body="" if text or error.body is None else str(error.body),
    )


def from_event(event: Mapping[str, Any], key: str | None, vendor: str = "The provider") -> ModelError:
    """Make a ModelError from an `error` event in the middle of a stream, whose status, 200, means nothing."""
    raw = event.get("error")
    body: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    kind, text = str(body.get("type") or ""), text_in(body.get("message"))
    details = body.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else ""
    cause = _cause(500, kind, str(code or ""), text)
    return refusal(error_name(None, kind) or "an error", text, cause, key, vendor=vendor)


def _cause(status: int, kind: str, code: str, text: str) -> Cause:
    if 300 <= status < 400:
        return "not_found"
    if code in _SPENT:
        return "billing"
    if status in (408, 409):
        return BY_STATUS[status]
    if kind == "api_error" and 400 <= status < 500:
        kind = ""  # servers without other types use it for everything: the status is more precise
    if kind == "invalid_request_error" or (status == 400 and kind not in _BY_TYPE):
        return "too_large" if status == 413 else bad_request_cause(text)
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    return BY_STATUS.get(status, "server" if status >= 500 else "bad_request")
