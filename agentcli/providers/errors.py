"""Shared handling of providers' errors: causes by wording, retry waits, and advice for users."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from datetime import UTC, datetime

from agentcli.core.errors import Cause, ModelError
from agentcli.providers.http import scrubbed
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings, is_plan, key_variable, key_variables

CURES: Mapping[Cause, str] = {
    "auth": " Check the API key.",
    "billing": " Check the plan and the spending limit; waiting does not help.",
    "rate_limit": " Try again later.",
    "overloaded": " Try again later.",
    "network": "",
    "certificate": "",
    "server": " Try again later.",
    "too_long": " Compact the conversation (/compress) or start a new one.",
    "too_large": " Attach less: images, files or tool output.",
    "pairing": "",
    "signature": "",
    "refusal": "",
    "not_found": " Check the model's name and the base URL; `agentcli models` lists the models.",
    "no_api": "",
    "bad_request": "",
    "bad_reply": "",
}
"""Last sentence of a message; empty if the user can do nothing."""


BY_STATUS: Mapping[int, Cause] = {
    401: "auth",
    402: "billing",
    403: "auth",
    404: "not_found",
    405: "not_found",
    408: "network",
    409: "server",
    413: "too_large",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}
"""Causes of the statuses that all vendors use alike; some vendors add their own."""

LONGEST_ANSWER = 4_000
"""Maximum characters of a provider's answer that are kept."""
READ = 20_000
"""Maximum characters of a server's text to search for a cause: a server may send any amount."""


def vendor_name(settings: ProviderSettings) -> str:
    """Return a provider's name for people: the vendor's, or its table's in the configuration."""
    return PROVIDERS[settings.kind].title if settings.name == settings.kind else settings.name


_BRIEF: Mapping[Cause, str] = {
    "overloaded": "{vendor} is overloaded",
    "rate_limit": "The rate limit of {vendor} is reached",
    "server": "{vendor} has a server error",
    "network": "{vendor} dropped the request",
}
"""The failure in a few words, for causes that may go away by themselves."""


def refusal(
    name: str,
    text: str,
    cause: Cause,
    key: str | None,
    *,
    headers: Mapping[str, str] | None = None,
    retry_after: float | None = None,
    status: int | None = None,
    hint: str = "",
    vendor: str = "The provider",
    body: str = "",
) -> ModelError:
    """Make the error to raise: the provider's text on one line without the key, then advice, then `hint`.

    `headers` may state whether a retry makes sense. `body` is the rest of the response. It is shown without a `text`,
    but only plain text.
    """
    plain = "" if body.lstrip().startswith(("<", "{'")) else body  # a page, or fields that nobody knows
    answer = scrubbed(text or plain[:READ], key).rstrip(".")
    cure = CURES[cause]
    if retry_after is not None and cause in ("rate_limit", "overloaded"):
        cure = f" It asks to wait {retry_after:g} s."
    message = f"The provider answered {name}: {answer}." if answer else f"The provider answered {name}."
    brief = _BRIEF[cause].format(vendor=vendor) + (f" ({status})" if status else "") if cause in _BRIEF else ""
    if cause == "auth":
        brief = f"{name}: {answer}" if answer else name
    return ModelError(
        f"{message}{cure}{hint}",
        cause,
        brief=brief,
        answer=scrubbed(f"{text} {body}", key, LONGEST_ANSWER),
        retry_after=retry_after,
        status=status,
        should_retry=_should_retry(headers or {}),
    )


def key_refused(error: ModelError, settings: ProviderSettings, env: Mapping[str, str], stored: Set[str]) -> ModelError:
    """Make the error of a refused key, with the variable that contained it.

    `stored` are the variables set from stored keys.
    """
    vendor, used = vendor_name(settings), key_variable(settings, env)
    verb = "denied access with" if error.status == 403 else "rejected"
    if used in stored:
        said = f"{vendor} {verb} the stored key ({error.brief})."
        cure = f"Run `{_storing(settings)}`."
    elif used:
        said = f"{vendor} {verb} the key in {used} ({error.brief})."
        cure = f"Fix {used} or run `{_storing(settings)}`."
    else:
        said = f"{vendor} rejected a request without a key ({error.brief})."
        names = " or ".join(key_variables(settings))
        cure = (
            f"Store one with `{_storing(settings)}`, or set {names}."
            if names
            else f"Set `api_key_env` in [providers.{settings.name}] and the variable it names."
        )
    return ModelError(
        f"{said} {cure}",
        error.cause,
        brief=error.brief,
        answer=error.answer,
        retry_after=error.retry_after,
        status=error.status,
        should_retry=error.should_retry,
    )


def _storing(settings: ProviderSettings) -> str:
    return f"agentcli auth {'login' if is_plan(settings) else 'set'} {settings.name}"


def _should_retry(headers: Mapping[str, str]) -> bool | None:
    """Return the value of `x-should-retry`; None if it is missing or unreadable."""
    return {"true": True, "false": False}.get(str(headers.get("x-should-retry") or "").strip().lower())


_WORDINGS: tuple[tuple[Cause, str], ...] = (
    (
        "too_long",
        r"prompt is too long|exceeds? (the )?(maximum number of tokens|(maximum |available )?context|model'?s? (maximum )?context)"
        r"|exceed context limit|context[_ ](length|window|size)\b.*exceed|maximum context length|too many (input )?tokens|input is too long"
        r"|(longer|greater) than the (maximum )?(model|context) length|exceed(s|ed)? (the )?(model )?(token limit|max(imum)? length)"
        r"|token count\b.{0,40}\bonly supports up to",
    ),
    ("signature", r"`?signature`?.*`?thinking`?|`?thinking`? blocks?.*cannot be modified|thought[_ ]?signature"),
    ("signature", r"expected `?(redacted_)?thinking"),
    ("pairing", r"`?tool_use`?.*`?tool_result`?|`?tool_result`?.*`?tool_use`?|unexpected `?tool_use_id"),
    ("pairing", r"function (call|response).*(turn|parts)|function_?response.*function_?call"),
    ("billing", r"credit balance is too low|spend(ing)? limit|usage limits?\b"),
    ("auth", r"api key (not valid|not found|expired|invalid)|invalid (x-)?api[- ]key"),
)


def bad_request_cause(text: str) -> Cause:
    """Return the cause of a 400 by its wording, because vendors have no codes for these. Unknown texts are plain 400s."""
    lowered = text.lower()
    for cause, wording in _WORDINGS:
        if re.search(wording, lowered, re.DOTALL):
            return cause
    return "bad_request"


def text_in(value: object) -> str:
    """Return the searched beginning of a response text; empty for anything else."""
    return value[:READ] if isinstance(value, str) else ""


def error_name(status: int | None, kind: str) -> str:
    """Return an error's name for people: its status, and the vendor's word for it if that is a word."""
    return " ".join(filter(None, (str(status or ""), re.sub(r"[^A-Za-z_]", "", kind)[:40])))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that headers request, preferring the more precise header; None if they request none."""
    precise = seconds(headers.get("retry-after-ms"))
    return seconds(headers.get("retry-after")) if precise is None else precise / 1000


def seconds(header: str | None) -> float | None:
    """Return the wait in seconds of a Retry-After header; None if it is missing or unreadable."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        return _until(header)


def _until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
