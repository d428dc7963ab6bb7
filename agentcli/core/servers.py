"""The port to the servers of the Model Context Protocol: their tools, states and answers, and the call that a gate call stands for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.model import ToolSchema
from agentcli.core.text.plural import plural

PREFIX = "mcp__"
"""The beginning of the name of every tool of a server: `mcp__server__tool`."""
TOOL = "tool"
"""The metadata of a result that names the tool of a server which the gate called."""
MATCHED, LOADED = "tools", "loaded_tools"
"""The metadata of a search's result: the names of the tools that it found, and their definitions where the model loads them itself."""
SEARCH, CALL = "mcp_search", "mcp_call"
"""The gate: two tools that find and call all others of the servers."""
_IT = "it "
Status = Literal["connecting", "connected", "failed", "needs login", "not approved", "disabled"]


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server. `name` is `mcp__server__tool`, `tool` the server's own name of it.

    `reads` if the server says that it changes nothing and the user trusts what it says; `interacts` if a person is to be
    asked about each call; `always` if it is to stand up front, before others.
    """

    name: str
    server: str
    tool: str
    description: str
    parameters: Mapping[str, Any]
    reads: bool = False
    interacts: bool = False
    always: bool = False


@dataclass(frozen=True, slots=True)
class ServerState:
    """State of a server. `detail` is the reason for it, where its subject is the server as `it …`; `origin` names the file that defines it."""

    name: str
    status: Status
    detail: str = ""
    tools: int = 0
    instructions: str = ""
    origin: str = ""

    @property
    def settled(self) -> bool:
        """True if it is not being connected now."""
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
        """The sentence that answers a call of a tool of a server which is not connected."""
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
    """Answer of a server to a call; `structured` is what it says as JSON besides."""

    contents: tuple[Content, ...] = ()
    structured: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt that a server offers, with its arguments: name, and whether it is required."""

    server: str
    name: str
    description: str = ""
    arguments: tuple[tuple[str, bool], ...] = ()

    @property
    def command(self) -> str:
        """The name by which the person calls it: `server:prompt`."""
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
    """The servers of a run. Nothing but `settle` and what follows it waits; all of it may be used from any event loop."""

    def states(self) -> Sequence[ServerState]:
        """The state of each server, by name."""
        ...

    def tools(self) -> Sequence[ServerTool]:
        """The tools of all servers that are or were connected, by name."""
        ...

    def obstacle(self, name: str) -> str:
        """The reason why there is no tool of that name."""
        ...

    def prompts(self) -> Sequence[ServerPrompt]:
        """The prompts of all servers, by server and name."""
        ...

    def resources(self) -> Sequence[ServerResource]:
        """The resources that the servers list, by server and URI."""
        ...

    def search(self, query: str, limit: int) -> Sequence[ServerTool]:
        """The tools that fit a query best, best first."""
        ...

    def changes(self) -> Sequence[str]:
        """Lines about all that has changed so far, for the model: servers that connected, failed, or changed their tools."""
        ...

    async def settle(self, seconds: float | None, tool: str = "") -> None:
        """Wait until no server, or not the one of this tool, is being connected, or for so long."""
        ...

    async def restart(self, server: str) -> ServerState:
        """Connect a server anew. Raises ToolError for one that does not exist."""
        ...

    async def disable(self, server: str) -> None:
        """End a server until it is restarted. Raises ToolError for one that does not exist."""
        ...

    def log(self, server: str) -> str:
        """The end of what a server wrote to stderr."""
        ...

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """The texts of a prompt. Raises ToolError where no answer comes."""
        ...

    async def read(self, server: str, uri: str) -> ServerAnswer:
        """Read a resource. Raises ToolError where no answer comes."""
        ...

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        """Call a tool. Raises ToolError where no answer comes."""
        ...


def not_connected(server: str, why: str) -> str:
    """The sentence that answers a call of a tool of a server which cannot be reached."""
    return f"Server {server} is not connected: {why}."


def server_of(name: str) -> str:
    """The server that a tool's name is of, as it stands in that name."""
    return name.removeprefix(PREFIX).partition("__")[0]


def server_prefix(name: str) -> str:
    """The beginning that the names of all tools of one server have, from the name of one of them."""
    return f"{PREFIX}{server_of(name)}__"


def loaded_tools(results: Iterable[ToolResult]) -> tuple[ToolSchema, ...]:
    """The tools that the results of searches load, by name; the first definition of a name counts."""
    found: dict[str, ToolSchema] = {}
    for result in results:
        for raw in result.metadata.get(LOADED, ()):
            found.setdefault(raw["name"], ToolSchema.recorded(raw))
    return tuple(found[name] for name in sorted(found))


def effective(call: ToolCall) -> ToolCall:
    """The call of a server's tool that a call of the gate stands for; any other call as it is.

    All that is decided about, matched and shown is this; the record keeps what the model sent.
    """
    if call.name != CALL:
        return call
    tool, arguments = call.input.get("tool"), call.input.get("arguments", {})
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
    """A field of a form that a server puts to the person."""

    name: str
    kind: str = "string"
    title: str = ""
    description: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    """The values that it may have, by the names that the person sees; of an `array` several may be chosen."""
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A question of a server to the person: a form, or a URL that is to be opened."""

    server: str
    message: str
    fields: tuple[ElicitedField, ...] = field(default_factory=tuple)
    url: str = ""
