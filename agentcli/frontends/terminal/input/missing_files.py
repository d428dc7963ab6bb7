"""Warnings of @path mentions that name no file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from agentcli.core.event import Emit, Event, Recorded, Warned, emit_all
from agentcli.core.mcp_servers import ServerState
from agentcli.core.message import Message
from agentcli.frontends.terminal.input.attachments import candidates, existing, mentions
from agentcli.system import probe

_LIKE_A_FILE = re.compile(r"[^(){}<>=]*(/[^(){}<>=]*|\.[A-Za-z]\w{0,5}(:\d+(-\d+)?)?)[.,;:!?)]*")
"""Mentions with a slash or a file's suffix; not decorators and people."""


async def with_warnings(emit: Emit, text: str, folder: Path, servers: Iterable[ServerState] = ()) -> Emit:
    """Return what emits the events of a turn, and after its prompt the warnings about it. `@server:uri` of one of the `servers` is no file."""
    names = [state.name for state in servers]
    missing = await asyncio.to_thread(missing_files, text, folder, names)
    if not missing:
        return emit

    async def warned(event: Event) -> None:
        await emit(event)
        if missing and isinstance(event, Recorded) and isinstance(event.record.body, Message):
            await emit_all(map(Warned, missing), emit)
            missing.clear()

    return warned


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
