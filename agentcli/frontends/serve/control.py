"""Control socket of a shared session: one JSON object a line.

The secret comes first, then requests or a stream of events.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.core.errors import AgentError, InputError
from agentcli.core.sanitise import safe_line
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task
from agentcli.core.text.secrets import known_secrets
from agentcli.frontends.serve.client import line_of
from agentcli.frontends.serve.feed import Item
from agentcli.frontends.serve.questions import Answer, TooLate
from agentcli.frontends.serve.registry import Served
from agentcli.frontends.serve.shared import Clean, SharedSession
from agentcli.frontends.terminal.sharing import Front
from agentcli.program.program import Program
from agentcli.sessions.exporting.redactor import Redactor

HELLO = 5.0
"""Seconds within which a client must send the secret."""
CLIENTS = 64
"""Clients at once."""


async def share(front: Front, state: Path, clean: Clean, name: str = "terminal") -> SharedSession:
    """Share the open session of a front end; `name` is the kind of front end.

    Raises InputError if the socket cannot be created.
    """
    serving = Served(state, name)
    shared = SharedSession(front, clean, serving)
    await serving.open(shared.id, partial(_Control(shared, serving.secret).serve))
    return shared


async def share_session(program: Program, front: Front, name: str = "terminal") -> SharedSession:
    """Share the open session of a program's front end. Raises InputError if it is not stored."""
    if program.options.no_session:
        raise InputError("Only a stored session can be shared.")
    return await share(front, program.dirs.state, Redactor(known_secrets(program.env)), name)


class _Control:
    """The requests of clients."""

    def __init__(self, shared: SharedSession, secret: str) -> None:
        self._shared, self._secret = shared, secret
        self._clients = 0
        self._sent: tuple[Sequence[Item], bytes] = ((), b"")
        """The newest batch that was sent, and its lines: most clients get the same ones."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client until it leaves."""
        self._clients += 1
        try:
            if self._clients <= CLIENTS:
                await self._served(reader, writer)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            pass  # it has left, or does not speak the protocol
        except asyncio.CancelledError:
            pass  # the program ends; asyncio would report a connection whose task was cancelled as an error
        finally:
            self._clients -= 1
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HELLO):
            hello = _object(await reader.readline())
        if not hmac.compare_digest(str(hello.get("secret")).encode(), self._secret.encode()):
            return
        by = safe_line(str(hello.get("as") or "another program"))[:40]
        while line := await reader.readline():
            asked = _object(line)
            if asked.get("do") == "follow":
                await self._follow(str(asked.get("after") or ""), reader, writer)
                return
            writer.write((json.dumps(self._answer(asked, by), default=str) + "\n").encode())
            await writer.drain()

    def _answer(self, asked: Mapping[str, Any], by: str) -> Mapping[str, Any]:
        """Execute a request, and return the answer."""
        shared = self._shared
        try:
            match asked.get("do"):
                case "state":
                    return {"ok": True, **shared.snapshot()}
                case "tools":
                    return {"ok": True, **shared.tools()}
                case "answer":
                    texts = asked.get("answers")
                    answers = tuple(map(str, texts)) if isinstance(texts, list) else ()
                    choice, reason = str(asked.get("choice") or ""), str(asked.get("reason") or "")
                    shared.answer(str(asked.get("hash")), Answer(choice, reason[:10_000], answers, by))
                    return {"ok": True}
                case "say":
                    return {"ok": True, **shared.say(str(asked.get("text") or ""), by)}
                case "stop":
                    shared.stop(by)
                    return {"ok": True}
                case _:
                    raise InputError("Unknown request.")
        except TooLate as late:
            return {"ok": False, "error": str(late), "by": late.by, "choice": late.choice, "code": "too_late"}
        except AgentError as error:
            return {"ok": False, "error": str(error), "code": "refused"}

    async def _follow(self, after: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send events until the client leaves.

        A slow client blocks nothing: if it falls behind, it must reload.
        """
        sending = start_task(self._send(after, writer))
        leaving = start_task(reader.read(1))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            with contextlib.suppress(OSError):
                await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, after: str, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            async with closing(self._shared.feed.follow(after)) as batches:
                async for batch in batches:
                    if batch is not self._sent[0]:
                        self._sent = batch, "".join(line_of(item.id, item.data) for item in batch).encode()
                    writer.write(self._sent[1])
                    await writer.drain()


def _object(line: bytes) -> Mapping[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found
