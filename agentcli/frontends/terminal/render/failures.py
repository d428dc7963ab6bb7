"""The end of a failed turn for people at a terminal: what happened, then the key that helps."""

from __future__ import annotations

from datetime import datetime, timedelta

from agentcli.core.errors import RETRYABLE, ContextError, InputError, LimitReached, ModelError
from agentcli.core.event import TurnEnded
from agentcli.frontends.terminal.style import duration

_SOON = 60.0
"""Seconds of a wait that the clock tells better than a number."""


def can_be_sent_again(ended: TurnEnded) -> bool:
    """Return True if Enter on an empty line can send the last request once more: it was sent, and no person or hook ended it."""
    return ended.ending in ("failed", "limit", "incomplete") and not isinstance(ended.error, InputError)


def told(error: Exception, again: bool) -> str:
    """Return the error, ending with a key if the turn can be sent `again`."""
    text = _text(error)
    text += "" if text.endswith((".", "!", "?")) else "."
    return f"{text} {_key(error)}" if again and "Enter" not in text else text


def _text(error: Exception) -> str:
    wait = error.retry_after if isinstance(error, ModelError) else None
    if isinstance(error, ModelError) and error.cause == "rate_limit" and wait is not None and wait >= _SOON:
        until = datetime.now().astimezone() + timedelta(seconds=wait)
        return f"Rate limit until {until:%H:%M} ({duration(wait)})."
    return str(error)


def _key(error: Exception) -> str:
    match error:
        case LimitReached():
            return "Enter continues"
        case ContextError():
            return "Enter tries again"
        case ModelError(cause=cause) if cause in RETRYABLE or cause == "not_found":
            return "Enter resends · /model switches"
        case _:
            return "Enter resends"
