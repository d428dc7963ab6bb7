"""Failures as a person reads them: each ends with the key or the command that leads on."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from agentcli.core.errors import (
    RETRYABLE,
    ContextError,
    CredentialsError,
    HookBlocked,
    InputError,
    LimitReached,
    ModelError,
)
from agentcli.core.event import TurnEnded
from agentcli.frontends.terminal.style import duration

_SOON = 60.0
"""Seconds of a wait from which a clock time is clearer than a number."""


def can_be_sent_again(ended: TurnEnded) -> bool:
    """Return True if Enter on an empty line can send the last request once more.

    No person or hook may have ended the turn, and the prompt must be usable.
    """
    return ended.ending in ("failed", "limit", "incomplete") and not isinstance(ended.error, InputError | HookBlocked)


def told(error: Exception, again: bool) -> str:
    """Return the error for a person. It ends with a key if the turn can be sent `again`; a full context names its own
    remedy.
    """
    text = _text(error)
    if not again or "Enter" in text or isinstance(error, ContextError):
        return text + ("" if text.endswith((".", "!", "?")) else ".")
    if isinstance(error, CredentialsError) or (isinstance(error, ModelError) and error.cause == "auth"):
        return f"{text.rstrip('.')}, then press Enter to resend."
    return f"{text}{'' if text.endswith(('.', '!', '?')) else '.'} {_key(error)}"


def _text(error: Exception) -> str:
    if not isinstance(error, ModelError):
        return str(error)
    wait = error.retry_after
    if error.cause == "rate_limit" and wait is not None and wait >= _SOON:
        until = datetime.now().astimezone() + timedelta(seconds=wait)
        return f"Rate limit until {until:%H:%M} ({_about(wait)})."
    return _answered_without(error.status, str(error)) if error.status else str(error)


def _answered_without(status: int, text: str) -> str:
    """Return an error without the server's status and name for it, if its own words follow."""
    name = rf"{status}(?: [A-Za-z_]+)?: "
    return re.sub(rf"\({name}", "(", re.sub(rf"answered {name}", "answered: ", text))


def _about(seconds: float) -> str:
    """Return a long wait in minutes, or in hours and minutes."""
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else duration(seconds)


def _key(error: Exception) -> str:
    match error:
        case LimitReached():
            return "Enter continues"
        case ModelError(cause=cause) if cause in RETRYABLE or cause == "not_found":
            return "Enter resends · /model switches"
        case _:
            return "Enter resends"
