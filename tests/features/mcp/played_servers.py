"""Servers that a test lays down, and the replies of a model that calls their tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import (
    Content,
    Progress,
    ServerAnswer,
    ServerPrompt,
    ServerResource,
    Servers,
    ServerState,
    ServerTool,
)
from agentcli.core.message import Text
from agentcli.providers.scripted.model import Reply, call
from tests.agent.open_session import messages

STATUS = ServerTool(
    "mcp__git__status",
    "git",
    "status",
    "Show the state.",
    {"type": "object", "properties": {"path": {"type": "string"}}},
)
LARGE = ServerTool("mcp__big__do", "big", "do", "Do it.", {"type": "object", "description": "x" * 9_000})


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Played(Servers):
    """Servers whose tools, states and changes a test lays down."""

    def __init__(self, *tools: ServerTool, answer: ServerAnswer | None = None) -> None:
        self.offered = list(tools)
        self.answer = answer or ServerAnswer((Content("text", "On branch main"),))
        self.told: list[str] = []
        self.failed: dict[str, str] = {}
        self.called: list[tuple[str, Mapping[str, Any]]] = []

    def states(self) -> Sequence[ServerState]:
        names = sorted({tool.server for tool in self.offered})
        return [
            ServerState(name, "failed", self.failed[name]) if name in self.failed else ServerState(name, "connected")
            for name in names
        ]

    def tools(self) -> Sequence[ServerTool]:
        return [tool for tool in self.offered if tool.server not in self.failed]

    async def restart(self, server: str) -> ServerState:
        return ServerState(server, "connected", tools=1)

    async def disable(self, server: str) -> None:
        return None

    def log(self, server: str) -> str:
        return "a line on stderr"

    def prompts(self) -> Sequence[ServerPrompt]:
        return [ServerPrompt("git", "explain", "Explain a commit.", (("commit", True), ("style", False)))]

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        return [Content("text", f"Explain {dict(arguments)}")]

    def resources(self) -> Sequence[ServerResource]:
        uris = ("note://1", "file:///a b", "x\x1b[2J")
        return [ServerResource("git", uri, "note", "A \x1b[2Jnote.") for uri in uris]

    async def read(self, server: str, uri: str) -> ServerAnswer:
        if "gone" in uri:
            raise ToolError("no such resource")
        if "picture" in uri:
            data = PIXEL if "true" in uri else "bm8gcGljdHVyZQ=="
            return ServerAnswer((Content("blob", data=data, mime="image/png", uri=uri),))
        if "song" in uri:
            return ServerAnswer((Content("blob", data="AAAA", mime="audio/mpeg", uri=uri),))
        return ServerAnswer((Content("text", "buy milk", uri=uri),))

    def search(self, query: str, limit: int) -> Sequence[ServerTool]:
        return [tool for tool in self.tools() if query in tool.name][:limit]

    def obstacle(self, name: str) -> str:
        return f"Server {name.split('__')[1]} is not connected."

    def changes(self) -> Sequence[str]:
        return list(self.told)

    async def settle(self, seconds: float | None, tool: str = "", *, again: bool = False) -> None:
        return None

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        self.called.append((tool.name, arguments))
        if "fail" in arguments:
            raise ToolError("Server git ended during the call.")
        return self.answer


def calls(name: str, **given: Any) -> Reply:
    return Reply((call(name, **given),))


def through_gate(tool: str, **arguments: Any) -> Reply:
    return calls("mcp_call", tool=tool, arguments=arguments)


def reminders(session: Any) -> list[str]:
    return [
        part.text
        for message in messages(session)
        for part in message.parts
        if isinstance(part, Text) and part.synthetic
    ]
