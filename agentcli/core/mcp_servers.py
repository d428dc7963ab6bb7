"""Port to MCP servers: their tools, states and answers, and the call that a gate call means."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.model import ToolSchema
from agentcli.core.text.words import plural

PREFIX = "mcp__"
"""The beginning of the name of every tool of a server: `mcp__server__tool`."""
TOOL = "tool"
"""Metadata key of a result: the server tool that the gate called."""
MATCHED, LOADED = "tools", "loaded_tools"
"""Metadata keys of a search result: the names of the tools found, and their definitions.

The definitions are there if the model loads them itself.
"""
SEARCH, CALL = "mcp_search", "mcp_call"
"""The gate: two tools that find and call all other tools of servers."""
KeepFile = Callable[[str, bytes, str], str]
"""A function that saves a file under an id, with its extension, and returns its path.

The path is empty if nothing is stored.
"""
_IT = "it "
Status = Literal["connecting", "connected", "failed", "needs login", "not approved", "disabled"]


def is_answer(result: ToolResult) -> bool:
    """Return True if a server's tool gave the result, called by its own name or through the gate."""
    return result.name.startswith(PREFIX) or TOOL in result.metadata


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server."""

    name: str
    """`mcp__server__tool`"""
    server: str
    tool: str
    """The server's own name of it."""
    description: str
    parameters: Mapping[str, Any]
    reads: bool = False
    """The server states that it changes nothing, and the user trusts the server."""
    interacts: bool = False
    """A person must approve each call."""
    always: bool = False
    """It must come first, before others."""
    aside: bool = False
    """Only a search may find it."""
    shadows: bool = False
    """A project's server replaces the user's own server of that name."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """State of a server."""

    name: str
    status: Status
    detail: str = ""
    """The reason for it, with the server as its subject (`it …`)."""
    tools: int = 0
    instructions: str = ""
    origin: str = ""
    """The file that defines it."""
    odd: tuple[str, ...] = ()
    """Parts of its answers that were omitted or repaired, with the tool, prompt or resource."""

    @property
    def settled(self) -> bool:
        """True unless it is being connected now."""
        return self.status != "connecting"

    def __str__(self) -> str:
        match self.status:
            case "connected":
                return f"connected, {plural(self.tools, 'tool')}"
            case "not approved" if self.detail:
                return self.detail.removeprefix(_IT)
            case _:
                return self.status + (f": {self.detail}" if self.detail else "")

    @property
    def sentence(self) -> str:
        """The state as a sentence: `Server git needs $TOKEN, which is not set.`"""
        why = self.detail.removesuffix(".")
        match self.status:
            case "failed" | "not approved" if why.startswith(_IT):
                text = why.removeprefix(_IT)
            case "failed":
                text = f"failed: {why}"
            case "needs login":
                text = f"needs a login: {why}" if why else "needs a login"
            case _:
                text = f"is {self}"
        return f"Server {self.name} {text}."

    @property
    def obstacle(self) -> str:
        """Return the sentence that answers a call of this server's tool while the server is not connected."""
        return not_connected(self.name, self.detail.removesuffix(".") or self.status)


@dataclass(frozen=True, slots=True)
class Content:
    """One piece of a server's answer: `data` is base64 of an image, audio or blob; `uri` names a resource."""

    kind: Literal["text", "image", "audio", "blob", "link"]
    text: str = ""
    data: str = ""
    mime: str = ""
    uri: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A server's answer to a call; `structured` is its additional JSON."""

    contents: tuple[Content, ...] = ()
    structured: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt that a server offers. Each argument has a name and whether it is required."""

    server: str
    name: str
    description: str = ""
    arguments: tuple[tuple[str, bool], ...] = ()

    @property
    def command(self) -> str:
        """The name by which a person calls it: `server:prompt`."""
        return f"{self.server}:{self.name}"


@dataclass(frozen=True, slots=True)
class ServerResource:
    """A resource that a server lists."""

    server: str
    uri: str
    name: str = ""
    description: str = ""


Progress = Callable[[str], None]


class Servers(Protocol):
    """Servers of a run. Only `settle` and the methods after it wait; every method may be called from any event loop."""

    def states(self) -> Sequence[ServerState]:
        """Return the state of each server, by name."""
        ...

    def tools(self) -> Sequence[ServerTool]:
        """Return the tools of all servers that are or were connected, by name."""
        ...

    def obstacle(self, name: str) -> str:
        """Return why there is no tool of that name."""
        ...

    def prompts(self) -> Sequence[ServerPrompt]:
        """Return the prompts of all servers, by server and name."""
        ...

    def resources(self) -> Sequence[ServerResource]:
        """Return the resources that the servers list, by server and URI."""
        ...

    def search(self, query: str, limit: int) -> Sequence[ServerTool]:
        """Return the tools that match a query best, best first."""
        ...

    def changes(self) -> Sequence[str]:
        """Return lines for the model about all changes so far: servers that connected, failed, or changed their tools."""
        ...

    async def settle(self, seconds: float | None, tool: str = "", *, again: bool = False) -> None:
        """Wait until no server is connecting, or until the server of `tool` is ready; at most `seconds`. `again` also
        reconnects failed servers.
        """
        ...

    async def restart(self, server: str) -> ServerState:
        """Reconnect a server. Raises ToolError if it does not exist."""
        ...

    async def disable(self, server: str) -> None:
        """Stop a server until it is restarted. Raises ToolError if it does not exist."""
        ...

    def log(self, server: str) -> str:
        """Return the end of a server's output to stderr."""
        ...

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """Return the texts of a prompt. Raises ToolError if the server does not answer."""
        ...

    async def read(self, server: str, uri: str) -> ServerAnswer:
        """Read a resource. Raises ToolError if the server does not answer."""
        ...

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        """Call a tool. Raises ToolError if the server does not answer."""
        ...


def not_connected(server: str, why: str) -> str:
    """Return the sentence that answers a call of a tool whose server cannot be reached."""
    return f"Server {server} is not connected: {why}."


def server_of(name: str) -> str:
    """Return the server in a tool's name, in the spelling of the name."""
    return name.removeprefix(PREFIX).partition("__")[0]


def server_prefix(name: str) -> str:
    """Return the common prefix of the names of all tools of one server, given the name of one of them."""
    return f"{PREFIX}{server_of(name)}__"


def loaded_tools(results: Iterable[ToolResult]) -> tuple[ToolSchema, ...]:
    """Return the tools that search results load, by name; the first definition of a name counts."""
    found: dict[str, ToolSchema] = {}
    for result in results:
        for raw in result.metadata.get(LOADED, ()):
            found.setdefault(raw["name"], ToolSchema.recorded(raw))
    return tuple(found[name] for name in sorted(found))


def effective(call: ToolCall, names: Iterable[str] = ()) -> ToolCall:
    """Return the server tool's call that a gate call means; return any other call unchanged.

    A server may stand beside the tool's own name, as in other programs. Alone, the own name means the only one of
    `names` with it. Decisions, rules and displays use this call. The record keeps the call that the model sent.
    """
    if call.name != CALL:
        return call
    tool, server, arguments = (call.input.get(name) for name in ("tool", "server", "arguments"))
    if isinstance(tool, str) and isinstance(server, str) and server and not tool.startswith(PREFIX):
        tool = f"{PREFIX}{server}__{tool}"
    elif isinstance(tool, str) and not server:
        ends = [name for name in names if tool in (whole := name.removeprefix(PREFIX), whole.partition("__")[2])]
        tool = ends[0] if len(ends) == 1 else tool
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return call
    if not isinstance(tool, str) or not tool.startswith(PREFIX) or not isinstance(arguments, Mapping | None):
        return call
    return replace(call, name=tool, input=dict(arguments or {}))


@dataclass(frozen=True, slots=True)
class ElicitedField:
    """A field of a form that a server shows to a person."""

    name: str
    kind: str = "string"
    title: str = ""
    description: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Its possible values, by their display names; an `array` may have several."""
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A server's question to the person: a form, or a URL to open."""

    server: str
    message: str
    fields: tuple[ElicitedField, ...] = ()
    url: str = ""
