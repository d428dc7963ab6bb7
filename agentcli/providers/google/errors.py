"""Causes of Gemini's errors: by code, status and details, and by wording only if these do not suffice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.core.errors import Cause, ModelError
from agentcli.providers.errors import BY_STATUS, bad_request_cause, error_name, refusal, seconds, text_in, vendor_name
from agentcli.providers.settings import ProviderSettings

_BY_STATUS: Mapping[str, Cause] = {
    "UNAUTHENTICATED": "auth",
    "PERMISSION_DENIED": "auth",
    "NOT_FOUND": "not_found",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "UNAVAILABLE": "overloaded",
    "INTERNAL": "server",
    "UNKNOWN": "server",
    "DEADLINE_EXCEEDED": "server",
    "CANCELLED": "network",
    "ABORTED": "server",
}
_BY_CODE: Mapping[int, Cause] = {**BY_STATUS, 499: "network"}


def from_answer(
    code: int, answer: Any, headers: Mapping[str, str] | None, key: str | None, settings: ProviderSettings
) -> ModelError:
    """Make a ModelError from the JSON of a response with this status; 0 stands for an error within a stream.

    A server without that path may have another API version than the settings; a platform has only one.
    """
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    error = _error(answer)
    status, text = text_in(error.get("status")), text_in(error.get("message"))
    given = error.get("code")
    code = code or (given if isinstance(given, int) else 0)
    details = [*_details(answer)]
    cause = _cause(code, status, text, details)
    shown = "" if text.lstrip().startswith("<") else text
    wait = _retry_after(details, headers)
    no_path = cause == "not_found" and code in (404, 405) and not settings.platform
    hint = _other_version(settings.name, settings.version) if no_path else ""
    return refusal(
        error_name(code, status) or "an error",
        shown,
        cause,
        key,
        headers=headers,
        retry_after=wait,
        status=code or None,
        hint=hint,
        vendor=vendor_name(settings),
        body=str(details) if details else "",
    )


def from_api_error(error: Any, key: str | None, settings: ProviderSettings) -> ModelError:
    """Make a ModelError from the SDK's APIError."""
    headers = getattr(error.response, "headers", None)
    return from_answer(int(error.code or 0), error.details, headers, key, settings)


def _error(answer: Any) -> Mapping[str, Any]:
    """Return code, status and message of a response, which are in its `error` or at its top level."""
    outer = answer if isinstance(answer, Mapping) else {}
    inner = outer.get("error")
    return {**(inner if isinstance(inner, Mapping) else {}), **outer}


def _other_version(provider: str, version: str) -> str:
    asked, other = (version, "v1") if version.startswith("v1beta") else (version or "v1", "v1beta")
    return f' The request went to version {asked} of the API; try version = "{other}" in [providers.{provider}].'


def _cause(code: int, status: str, text: str, details: list[Mapping[str, Any]]) -> Cause:
    reasons = [detail.get("reason") for detail in details]
    if "API_KEY_INVALID" in reasons or "API_KEY_SERVICE_BLOCKED" in reasons:
        return "auth"
    if code == 400 or status in ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE"):
        return bad_request_cause(text)
    if (status == "RESOURCE_EXHAUSTED" or code == 429) and any(map(_is_daily, details)):
        return "billing"
    if 300 <= code < 400:
        return "not_found"
    if code in _BY_CODE:
        return _BY_CODE[code]
    if 400 <= code < 500 and status == "UNKNOWN":
        return "bad_request"
    return _BY_STATUS.get(status, "server" if code >= 500 else "bad_request")


def _is_daily(detail: Mapping[str, Any]) -> bool:
    """Return True if a daily quota is used up: waiting a minute does not help."""
    violations = detail.get("violations")
    return isinstance(violations, list) and any("perday" in str(violation).lower() for violation in violations)


def _details(body: Any) -> Iterator[Mapping[str, Any]]:
    error = body.get("error", body) if isinstance(body, Mapping) else {}
    found = error.get("details") if isinstance(error, Mapping) else None
    yield from (detail for detail in (found if isinstance(found, list) else []) if isinstance(detail, Mapping))


def _retry_after(details: list[Mapping[str, Any]], headers: Mapping[str, str] | None) -> float | None:
    for detail in details:
        asked = str(detail.get("retryDelay") or "")
        if re.fullmatch(r"\d+(\.\d+)?s", asked):
            return float(asked[:-1])
    return seconds(headers.get("retry-after")) if headers is not None else None
