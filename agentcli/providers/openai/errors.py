"""Causes of OpenAI's errors: by status, code and type, and by wording only if these do not suffice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentcli.core.errors import Cause, ModelError
from agentcli.providers.errors import (
    BY_STATUS,
    bad_request_cause,
    error_name,
    refusal,
    retry_after,
    text_in,
    vendor_name,
)
from agentcli.providers.settings import ProviderSettings

_BY_CODE: Mapping[str, Cause] = {
    "context_length_exceeded": "too_long",
    "insufficient_quota": "billing",
    "billing_hard_limit_reached": "billing",
    "billing_not_active": "billing",
    "subscription_sharing_usage_limit_exceeded": "billing",
    "subscription_sharing_usage_unavailable": "overloaded",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "requests": "rate_limit",
    "tokens": "rate_limit",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "invalid_encrypted_content": "signature",
    "image_file_too_large": "too_large",
    "image_too_large": "too_large",
    "request_too_large": "too_large",
    "content_filter": "refusal",
    "server_overloaded": "overloaded",
    "overloaded_error": "overloaded",
    "engine_overloaded": "overloaded",
    "slow_down": "overloaded",
    "server_error": "server",
    "internal_error": "server",
    "internal_server_error": "server",
    "api_error": "server",
    "timeout": "server",
}
_BY_STATUS: Mapping[int, Cause] = {**BY_STATUS, 498: "overloaded", 499: "network"}
_WORDINGS: tuple[tuple[Cause, str], ...] = (
    ("bad_request", r"no endpoints found that support"),
    ("pairing", r"tool_calls?\W.*must be followed by tool messages|role\W{1,3}tool\W.*must be a response to"),
    ("pairing", r"no tool (output|call) found for"),
    ("signature", r"of type 'reasoning' was provided without|without its required 'reasoning' item"),
    ("signature", r"encrypted[_ ]content.*(could not|cannot|can't|failed to) be (verified|decrypted|parsed)"),
    ("signature", r"(missing|must be passed back|provide).{0,60}reasoning_content|reasoning_content.{0,60}(missing|must be passed back)"),
    ("billing", r"exceeded your current quota|insufficient (balance|credits?|funds|quota)|requires more credits|out of credits"),
    ("auth", r"incorrect api key|no auth credentials|invalid (api )?key"),
)  # fmt: skip
"""Wordings of these vendors only; `providers.errors` has the wordings that all vendors share."""
_IN_TEXT = r"try again in (\d+(?:\.\d+)?) ?(ms|s)\b"
"""The wait that a message requests, if there are no headers."""


def from_status(error: Any, key: str | None, settings: ProviderSettings) -> ModelError:
    """Make a ModelError from the SDK's APIStatusError. For a model of the other wire format, mention the setting."""
    status = int(error.status_code)
    headers = error.response.headers
    body = error.body
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    kind, code, text = _fields(body if isinstance(body, Mapping) else {})
    if not text and isinstance(body, Mapping):
        text = next((text for name in ("error", "detail", "message") if (text := text_in(body.get(name)))), "")
    return refusal(
        error_name(status, code or kind),
        text,
        _cause(status, kind, code, text),
        key,
        headers=headers,
        retry_after=_retry_after(headers, text),
        status=status,
        hint=f' Set wire = "responses" in [providers.{settings.name}].' if "use /v1/responses" in text else "",
        vendor=vendor_name(settings),
        body="" if error.body is None or str(error.body).lstrip().startswith("<") else str(error.body),
    )


def from_event(raw: Any, key: str | None, vendor: str = "The provider") -> ModelError:
    """Make a ModelError from an error in the middle of a stream, whose status, 200, means nothing."""
    if isinstance(raw, str):
        raw = {"message": raw}
    kind, code, text = _fields(raw if isinstance(raw, Mapping) else {})
    status = int(code) if re.fullmatch(r"[45]\d\d", code) else 500
    cause = _cause(status, kind, code, text)
    wait = _retry_after({}, text)
    return refusal(error_name(None, code or kind) or "an error", text, cause, key, retry_after=wait, vendor=vendor)


def _fields(error: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return type, code and message. Servers of this wire format use numbers, words or nothing."""
    kind, code, text = (error.get(name) for name in ("type", "code", "message"))
    return str(kind or ""), str(code or ""), text_in(text)


def _cause(status: int, kind: str, code: str, text: str) -> Cause:
    if 300 <= status < 400:
        return "not_found"
    for cause, wording in _WORDINGS:
        if re.search(wording, text.lower(), re.DOTALL):
            return cause
    for name in (code, kind):
        if name in _BY_CODE and not (name in ("requests", "tokens") and status != 429):
            found = _BY_CODE[name]
            return _BY_STATUS.get(status, found) if found == "server" else found  # "server" is the most general cause
    if status in (400, 422) or (kind == "invalid_request_error" and status not in _BY_STATUS):
        return bad_request_cause(text)
    if status == 413:
        return "too_long" if bad_request_cause(text) == "too_long" else "too_large"
    if status == 500 and bad_request_cause(text) == "too_long":
        return "too_long"  # llama.cpp and similar servers, whose every fault is a 500
    return _BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


def _retry_after(headers: Mapping[str, str], text: str) -> float | None:
    """Return the requested wait: from the usual headers, from the exhausted limit, or from the message."""
    usual = retry_after(headers)
    if usual is not None:
        return usual
    for limit in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{limit}") == "0":
            return _duration(headers.get(f"x-ratelimit-reset-{limit}") or "")
    found = re.search(_IN_TEXT, text)
    return float(found[1]) / (1000 if found[2] == "ms" else 1) if found else None


def _duration(text: str) -> float | None:
    """Return the seconds of a duration such as `1h2m3.5s` or `120ms`; None for anything else."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", text)
    if not found or not any(found.groups()):
        return None
    hours, minutes, rest, milliseconds = (float(each or 0) for each in found.groups())
    return hours * 3600 + minutes * 60 + rest + milliseconds / 1000
