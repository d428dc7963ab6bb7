"""Buffers of the editor, through the file system methods of its client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TypeVar

from acp.interfaces import Client

from agentcli.core.dataclass import dataclass
from agentcli.frontends.acp.errors import UNANSWERED

ANSWER_SECONDS = 3.0
"""Seconds that the client may take to answer; after a timeout, its buffers are not read until the next prompt."""

_log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Offers:
    """Capabilities of a client: forms for questions, readable buffers, saving of files."""

    form: bool = False
    reads: bool = False
    saves: bool = False


class ClientBuffers:
    """Buffers of a client for one session; `session_id` is set once the session exists. See
    `agentcli.agent.ports.TextEditor`.

    `roots` are the session's folders as the client names them, with links: it knows its files by these paths.
    """

    def __init__(self, client: Client, saves: bool, roots: Sequence[Path], seconds: float = ANSWER_SECONDS) -> None:
        self.session_id = ""
        self._client, self._saves, self._seconds = client, saves, seconds
        self._roots = [(root, root.resolve()) for root in roots]
        self._silent = False

    @property
    def saves(self) -> bool:
        """True if the client can save files."""
        return self._saves

    def begin(self) -> None:
        """Start a turn: query the client again even if it did not answer in the previous one."""
        self._silent = False

    async def text(self, path: Path) -> str | None:
        """Return the text of a buffer, or of a file that is not open; None if no text comes back."""
        if self._silent:
            return None
        request = self._client.read_text_file
        _, answer = await self._answer(request(session_id=self.session_id, path=self._named(path)))
        return None if answer is None else answer.content

    async def save(self, path: Path, text: str) -> bool:
        """Put a text into a buffer, or a file that is not open, and save it to disk.

        Return False if the client refuses or does not answer.
        """
        request = self._client.write_text_file
        done, _ = await self._answer(request(session_id=self.session_id, path=self._named(path), content=text))
        self._silent = False  # do not wait: a client that saves slowly still answers requests for buffers
        return done

    def _named(self, path: Path) -> str:
        """Return the path as the client names it."""
        around = [(root, real) for root, real in self._roots if path.is_relative_to(real)]
        root, real = max(around, key=lambda each: len(each[1].parts), default=(path, path))
        return str(root / path.relative_to(real))

    async def _answer(self, request: Awaitable[Answer]) -> tuple[bool, Answer | None]:
        """Return True and the answer to a request; False after a timeout, an error, or an invalid answer."""
        try:
            return True, await asyncio.wait_for(request, self._seconds)
        except TimeoutError:
            self._silent = True
            _log.warning("the editor did not answer a request for a file within %g s", self._seconds)
        except UNANSWERED as error:
            _log.info("the editor has no such file: %s", error)
        return False, None
