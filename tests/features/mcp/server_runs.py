"""Runs of the whole program with servers: its options, its home beside the project, and its turns."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Prompt
from agentcli.agent.session import AgentSession
from agentcli.frontends.opening import program_of
from agentcli.program.front_end import FrontEnd
from agentcli.program.options import Options
from agentcli.program.program import Program
from tests.loopback.plan import Asked


def options(project: Path, **more: Any) -> Options:
    return Options(cwd=str(project), **{"trust": True, "allow": ("mcp__*",), "model": "demo", **more})


@contextmanager
def program(given: Options, *, front_end: FrontEnd | None = None, **env: str) -> Iterator[Program]:
    """The program with a home beside the project; its servers have ended afterwards."""
    home = str(Path(given.cwd).parent / "home")
    folders = {f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    made = program_of(given, {"HOME": home, "PATH": os.environ["PATH"], **folders, **env}, front_end)
    try:
        yield made
    finally:
        made.close_parts()


def define(project: Path, file: str = ".mcp.json", **servers: Any) -> None:
    path = project / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))


async def everybody(_: ApprovalRequest) -> ApprovalResponse:
    return ApprovalResponse("once")


ATTENDED = FrontEnd(everybody)


def head(asked: Asked, *, deferred: bool = True) -> str:
    """The beginning of a request as JSON; without the tools that are loaded later, if so wanted."""
    body = json.loads(asked.body)
    tools = [tool for tool in body.get("tools", ()) if deferred or not tool.get("defer_loading")]
    system = [body.get(name) for name in ("system", "systemInstruction", "system_instruction", "instructions")]
    system += [message for message in body.get("messages", ())[:1] if message["role"] == "system"]
    return json.dumps([tools, *system])


async def closing(session: AgentSession, work: Coroutine[Any, Any, None]) -> None:
    """Do this, then close the connections to the model."""
    try:
        await work
    finally:
        await session.conversation.model.close()  # type: ignore[attr-defined]


async def turn(session: AgentSession, text: str) -> None:
    async for _ in session.turn(Prompt(text), asyncio.Event()):
        pass
