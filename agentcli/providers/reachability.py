"""Reachability of an endpoint: a connection, or one request without a key, which costs nothing."""

from __future__ import annotations

import errno
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from agentcli import __version__


def connects(url: str, seconds: float) -> str:
    """Return why this address's host and port accept no connection; empty if they do. Sends nothing."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "this is not an address such as https://host:port"
        with socket.create_connection((parts.hostname, port), timeout=seconds):
            return ""
    except (OSError, ValueError) as error:
        return _reason(error)


def answers(url: str, path: str, seconds: float) -> tuple[bool, str]:
    """Return True if a server answers a request for this path without a key; and its response as text."""
    asked = bare(url).rstrip("/").removesuffix("/v1").removesuffix("/v1beta") + path
    try:
        request = urllib.request.Request(asked, headers={"User-Agent": f"agentcli/{__version__}"})
        with within(seconds, lambda: urllib.request.urlopen(request, timeout=seconds)) as reply:
            return True, f"answers ({reply.status})"
    except urllib.error.HTTPError as error:
        with error:
            return error.code < 500, f"answers ({error.code})"
    except (OSError, ValueError) as error:
        return False, _reason(error)


def accepts(url: str, path: str, headers: Mapping[str, str], seconds: float) -> tuple[bool | None, str]:
    """Return True if a server accepts the key in these headers, False if it rejects it, else None.

    The second value is its response as text.
    """
    asked = bare(url).rstrip("/").removesuffix("/v1").removesuffix("/v1beta") + path
    try:
        request = urllib.request.Request(asked, headers={"User-Agent": f"agentcli/{__version__}", **headers})
        opener = urllib.request.build_opener(NoRedirect)
        with within(seconds, lambda: opener.open(request, timeout=seconds)) as reply:
            return True, f"{reply.status}"
    except urllib.error.HTTPError as error:
        with error:
            # Google answers 400 to an unknown key.
            refused = error.code in (401, 403) or (
                error.code == 400 and b"API_KEY_INVALID" in within(seconds, partial(error.read, _BODY))
            )
            return (False if refused else None), f"{error.code}"
    except (OSError, ValueError) as error:
        return None, _reason(error)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A handler that follows no redirect, which might take the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_BODY = 100_000
"""Maximum bytes of an answer that are read."""


class ErrorStatus(OSError):
    """A server answered with the status of an error; `body` is the beginning of its text."""

    def __init__(self, status: int, reason: str, body: bytes) -> None:
        super().__init__(f"it answered {status} {reason}".rstrip())
        self.status, self.body = status, body


def fetched(request: urllib.request.Request, seconds: float, most: int = _BODY, *, redirects: bool = False) -> bytes:
    """Return the first bytes of a response, which arrives within so many seconds.

    Raises OSError, of which ErrorStatus is one, or HTTPException.
    """

    def read() -> bytes:
        opener = urllib.request.build_opener(*([] if redirects else [NoRedirect]))
        try:
            with opener.open(request, timeout=seconds) as reply:
                return bytes(reply.read(most))
        except urllib.error.HTTPError as error:
            with error:
                raise ErrorStatus(error.code, str(error.reason), error.read(_BODY)) from None

    return within(seconds, read)


def bare(url: str) -> str:
    """Return the address without user and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2]
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def proxied(url: str) -> bool:
    """Return True if the environment sends this address through a proxy: then a direct connection proves nothing."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(parts.hostname or "")


def _reason(error: Exception) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    match inner:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {inner.verify_message}"
        case TimeoutError():
            return "nothing answers in time"
        case socket.gaierror():
            return "there is no such host"
        case OSError():
            return (inner.strerror or str(inner)).lower()
        case _:
            return str(inner)


T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return or raise the result of `work`.

    Raises TimeoutError after so many seconds; its thread then ends with the process.
    """
    outcome: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not outcome:
        raise TimeoutError(errno.ETIMEDOUT, f"it took longer than {seconds:g} s")
    return outcome[0]
