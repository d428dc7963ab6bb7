"""Errors, each with its exit code and a message that ends with what to do."""

from __future__ import annotations

import os
from typing import Literal

Cause = Literal[
    "auth",  # no or bad credentials
    "billing",  # out of money or quota: waiting does not help
    "rate_limit",
    "overloaded",
    "network",  # dropped, idle or cut connection
    "certificate",  # the server's TLS certificate is not trusted
    "server",  # any other 5xx
    "too_long",  # the prompt does not fit the window
    "too_large",  # the body does not fit the wire (413)
    "pairing",  # calls and results do not match: repaired once
    "signature",  # a thinking block or thought signature was refused: stripped once
    "refusal",
    "not_found",
    "no_api",  # a web page instead of a reply: the address is not an API
    "bad_request",
    "bad_reply",  # the reply does not follow the wire format
]
OUTAGES: frozenset[Cause] = frozenset({"rate_limit", "overloaded", "network", "server"})
"""Causes that go away with time."""
RETRYABLE: frozenset[Cause] = OUTAGES | {"bad_reply"}
MENDABLE: frozenset[Cause] = frozenset({"too_long", "too_large", "pairing", "signature"})
"""Causes that a different request may avoid, but never the same request."""

HANGUP, INTERRUPTED, TERMINATED = 129, 130, 143
"""Exit codes of a run that a signal ended: 128 plus the number of SIGHUP, SIGINT and SIGTERM."""


class AgentError(Exception):
    """A failure that the user can understand and fix. Its text states what happened, then what to do."""

    exit_code = 1


class UsageError(AgentError):
    """The command line is invalid."""

    exit_code = 2


class CredentialsError(AgentError):
    """No or bad credentials."""

    exit_code = 41


class InputError(AgentError):
    """An unusable input: a prompt, a file, a session."""

    exit_code = 42


class ConfigError(AgentError):
    """A configuration file or variable holds a value of the wrong kind."""

    exit_code = 52


class LimitReached(AgentError):
    """A limit the user set was reached: turns, cost, tokens or time."""

    exit_code = 53


class HookBlocked(AgentError):
    """A user's hook ended the turn or blocked the prompt."""


class ContextError(AgentError):
    """The context cannot be made to fit the model's window."""

    exit_code = 54


class TrustError(AgentError):
    """The folder must be trusted first."""

    exit_code = 55


class StoreError(AgentError):
    """A session cannot be opened or written."""


class SessionBusy(StoreError):
    """Another process has the session open for writing."""


class ToolError(AgentError):
    """A tool could not do its work; the text goes to the model."""


class IncompleteReply(AgentError):
    """The model never gave a complete answer, even after another request. `transient` if a later request may help."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """75 if the failure may pass, else 1."""
        return 75 if self.transient else 1


class ModelError(AgentError):
    """A request to a model failed. Decide by `cause`, never by the message.

    `should_retry` is the provider's own advice on a retry, or None. `brief` is a short summary, `answer` the provider's
    own text. `begun` is true if the reply had begun: it costs money, and so does another reply. `unstarted` is true if
    nothing listens at a local address, so only starting the server helps. `unresolved` is true if the host name has no
    address.
    """

    def __init__(
        self,
        message: str,
        cause: Cause,
        *,
        retry_after: float | None = None,
        status: int | None = None,
        should_retry: bool | None = None,
        brief: str = "",
        answer: str = "",
        begun: bool = False,
        unstarted: bool = False,
        unresolved: bool = False,
    ) -> None:
        super().__init__(message)
        self.begun = begun
        self.unstarted = unstarted
        self.unresolved = unresolved
        self.brief = brief or message.rstrip(".")
        self.answer = answer
        self.cause: Cause = cause
        self.retry_after = retry_after
        self.status = status
        self.should_retry = should_retry

    @property
    def retryable(self) -> bool:
        """True if the same request is worth a retry. The provider's advice decides, except for errors with another
        solution.
        """
        if self.should_retry is None or self.cause in MENDABLE:
            return self.cause in RETRYABLE
        return self.should_retry

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """Return 41 for credentials, 54 for the context, 75 for temporary failures, otherwise 1."""
        match self.cause:
            case "auth":
                return 41
            case "too_long":
                return 54
            case _:
                return 75 if self.cause in RETRYABLE else 1


_ASYNCIO = "Connect call failed"
"""The text that asyncio puts before the address, in place of the system's."""


def innermost(error: BaseException) -> BaseException:
    """Return the error that began a chain of errors; in a group, follow its first error."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif inner := error.__cause__ or error.__context__:
            error = inner
        else:
            return error


def in_words(error: BaseException) -> str:
    """Return the system's text of an error, such as `Connection refused`, without its number and file."""
    inner = getattr(error, "reason", None)  # urllib wraps the network's error
    error = inner if isinstance(inner, OSError) else error
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    if isinstance(error, OSError) and error.errno and text.startswith(_ASYNCIO):
        return os.strerror(error.errno)
    return text or type(error).__name__
