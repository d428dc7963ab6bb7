"""Warnings of @path mentions that name no file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterable
from pathlib import Path

from agentcli.core.event import Event, Recorded, Warned
from agentcli.core.mcp_servers import ServerState
from agentcli.core.message import Message
from agentcli.core.streams import closing
from agentcli.system import probe
from agentcli.ui.input.attachments import candidates, existing, mentions

_LIKE_A_FILE = re.compile(r"[^(){}<>=]*(/[^(){}<>=]*|\.[A-Za-z]\w{0,5}(:\d+(-\d+)?)?)[.,;:!?)]*")
"""Mentions with a slash or a file's suffix; not decorators and people."""


async def with_warnings(
    events: AsyncIterator[Event], text: str, folder: Path, servers: Iterable[ServerState] = ()
) -> AsyncIterator[Event]:
    """Yield the events of a turn, and after its prompt the warnings about it. `@server:uri` of one of the `servers` is no file."""
    names = [state.name for state in servers]
    missing = await asyncio.to_thread(missing_files, text, folder, names)
    async with closing(events) as turn:
        async for event in turn:
            yield event
            if missing and isinstance(event, Recorded) and isinstance(event.record.body, Message):
                for line in missing:
                    yield Warned(line)
                missing = []


def missing_files(text: str, folder: Path, servers: Collection[str] = ()) -> list[str]:
    """Return a line for each mention that looks like a file but names neither a file nor a resource of a server."""
    return [
        f"@{candidates(name)[-1]}: no such file, sent as text"
        for name in mentions(text)
        if _LIKE_A_FILE.fullmatch(name)
        and name.partition(":")[0] not in servers
        and existing(name, folder) is None
        and not any(_exists(folder, each) for each in candidates(name))
    ]


def _exists(folder: Path, name: str) -> bool:
    try:
        return probe.exists(folder / Path(name).expanduser())
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # the name is too long, has a null byte, or its ~user does not exist: no file
        return False
