"""Logins in the user's browser: the final address reaches this machine, or the person pastes it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import sys
import termios
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs

from agentcli.core.errors import InputError
from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import start_task
from agentcli.system.browser import open_page

LOGIN_SECONDS = 300.0
"""Seconds that the person has for a login."""
_PAGES = {
    "200 OK": b"<!doctype html><title>agentcli</title><p>agentcli has the answer. You can close this window.",
    "404 Not Found": b"<!doctype html><title>agentcli</title><p>This address belongs to no login that is waiting.",
}
_KEYS = re.compile(rb"\x1b(?:\[[0-9;]*[~A-Za-z]|O[A-Za-z])")
"""Escape sequences of keys, and of a terminal that marks pasted text."""
_ESC, _END, _ERASE, _CLEAR = b"\x1b", b"\x04", b"\x7f\b", b"\x15"

Pasted = Callable[[], Awaitable[str | None]]


def challenge_of(verifier: str) -> str:
    """Return the code challenge of PKCE (S256) for a verifier."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def fields_in(query: str) -> Mapping[str, str]:
    """Return the parameters in the query of a final address."""
    return {name: values[0] for name, values in parse_qs(query).items()}


def require_code(fields: Mapping[str, str]) -> None:
    """Raise InputError with the reason if the parameters of a final address contain no code."""
    if "code" not in fields:
        why = fields.get("error_description") or fields.get("error") or "the address contains no code"
        raise InputError(f"The login failed: {safe_line(why)[:200]}.")


async def listen(arrived: asyncio.Future[str], path: str, port: int = 0) -> asyncio.Server:
    """Listen on 127.0.0.1 for the login's last address, which becomes the result of `arrived`.

    One request counts: the first one for `path` with a query. Raises OSError if the port is taken.
    """

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(
                ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError
            ):
                head = await reader.readuntil(b"\r\n\r\n")
                method, target = head.decode("latin-1").split(" ", 2)[:2]
                wanted = method == "GET" and target.startswith(f"{path}?") and not arrived.done()
                if wanted:
                    arrived.set_result(target)
                await _send(writer, "200 OK" if wanted else "404 Not Found")
        finally:
            writer.close()

    return await asyncio.start_server(connected, "127.0.0.1", port)


async def _send(writer: asyncio.StreamWriter, status: str) -> None:
    body = _PAGES[status]
    head = f"HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def show(url: str, env: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Open the login's page in the browser, and print its address, which a person may open elsewhere."""
    opened = await asyncio.to_thread(open_page, url, env)
    say(f"{'Log in in your browser' if opened else 'Open this in a browser to log in'}: {url}")


async def answer(arrived: asyncio.Future[str], pasted: Pasted | None, seconds: float = LOGIN_SECONDS) -> str:
    """Return the final address of the login, caught or pasted.

    Raises InputError if the login was abandoned or took too long.
    """
    typing = start_task(pasted()) if pasted is not None else None
    waited: set[asyncio.Future[Any]] = {arrived, typing} if typing is not None else {arrived}
    try:
        await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if arrived.done():
            return arrived.result()
        if typing is None or not typing.done():
            raise InputError(f"No login within {seconds:g} s.")
        text = typing.result()
        if text is None:
            raise InputError("The login was cancelled.")
        return text
    finally:
        if typing is not None:
            typing.cancel()
            await asyncio.wait({typing})


def pasted_in(say: Callable[[str], None]) -> Pasted | None:
    """Return what waits for an address pasted into the terminal; None if stdin is no terminal."""
    if not sys.stdin.isatty():
        return None

    async def pasted() -> str | None:
        say("If the browser is on another machine, paste the address that it ends at here (hidden). Esc cancels.")
        return await _hidden_line(sys.stdin.fileno())

    return pasted


async def _hidden_line(terminal: int) -> str | None:
    """Return a line that the person types or pastes, never echoed: it contains a code. None for Esc or Ctrl-D."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str | None] = loop.create_future()
    line = bytearray()

    def readable() -> None:
        with contextlib.suppress(asyncio.InvalidStateError):
            _take(os.read(terminal, 65536), line, typed)

    with _unechoed(terminal):
        loop.add_reader(terminal, readable)
        try:
            return await typed
        finally:
            loop.remove_reader(terminal)


def _take(read: bytes, line: bytearray, typed: asyncio.Future[str | None]) -> None:
    """Add typed bytes to the line; the last ones end it."""
    if read in (b"", _ESC):
        typed.set_result(None)
    for byte in _KEYS.sub(b"", read):
        key = bytes([byte])
        if key in (b"\r", b"\n"):
            text = line.decode("utf-8", "replace").strip()
            if text:
                typed.set_result(text)
        elif key == _END:
            typed.set_result(None)
        elif key == _CLEAR:
            line.clear()
        elif key in _ERASE:
            del line[-1:]
        else:
            line += key


@contextlib.contextmanager
def _unechoed(terminal: int) -> Iterator[None]:
    """Let a terminal deliver each key at once and show none; Ctrl-C still stops the program."""
    before = termios.tcgetattr(terminal)
    now = termios.tcgetattr(terminal)
    now[3] &= ~(termios.ECHO | termios.ICANON)
    now[6][termios.VMIN], now[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSAFLUSH, now)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
