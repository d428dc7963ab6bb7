"""MCP servers in a session: their tools, offered to the model or searched for, and their prompts and resources."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.ports import FoundTools, Prompt, PromptSource
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.setup import SessionSetup
from agentcli.agent.tool_context import offer
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Estimator
from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError, ToolError
from agentcli.core.event import Event, Warned
from agentcli.core.history import History
from agentcli.core.mcp_servers import (
    CALL,
    LOADED,
    MATCHED,
    PREFIX,
    SEARCH,
    Content,
    KeepFile,
    ServerPrompt,
    Servers,
    ServerState,
    ServerTool,
    loaded_tools,
)
from agentcli.core.message import TYPED, File, Part, Text, ToolResult
from agentcli.core.model import ToolSchema
from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import until_interrupted
from agentcli.core.tool import Tool, ToolOutput, Traits
from agentcli.features.mcp import schema
from agentcli.features.mcp.names import server_prefix
from agentcli.program.config.general import McpSettings
from agentcli.tools.lib.server_answers import image_of, kept_data
from agentcli.tools.mcp import DESCRIPTION, SEARCH_SECONDS, no_server_tool, server_tool

CATALOGUE = "MCP servers of this session"
"""The beginning of the reminder that lists the servers."""
INSTRUCTIONS = 500
"""Characters of a server's instructions that the catalogue gives."""
CATALOGUE_SHARE = 1 / 16
"""Maximum list of servers and tools, as a share of the window."""
_CHARACTERS_A_TOKEN = 4
_SEARCHED = f"Find their tools with {SEARCH}, call them with {CALL}."
_TROUBLE = ("failed", "needs login")


class ServerTools(FoundTools):
    """MCP tools that one session may call. `traits` gains the traits of each tool that is `found`.

    `room` returns the tokens of the tools that the model sees from the start.
    """

    def __init__(
        self,
        servers: Servers,
        traits: dict[str, Traits],
        estimator: Callable[[], Estimator],
        room: Callable[[], int] = int,
    ) -> None:
        super().__init__(traits)
        self._servers = servers
        self._estimator, self._room = estimator, room
        self._changes_told = len(servers.changes())
        self._listed = False
        self._warned: set[str] = set()

    @property
    def names(self) -> Sequence[str]:
        """The names of all tools of servers."""
        return [tool.name for tool in self._servers.tools()]

    async def find(self, name: str) -> Tool | str:
        """Return the tool of that name, waiting while its server connects; or why there is none."""
        if self._known(name) is None:
            await self._servers.settle(SEARCH_SECONDS, name, again=True)
        known = self._known(name)
        if known is None:
            return self._servers.obstacle(name)
        tool = self.found[name] = server_tool(known)
        self.traits[name] = tool.traits
        return tool

    async def no_server_tool(self, given: Mapping[str, Any]) -> str:
        """Answer a call of the gate without a server's tool, listing the existing tools."""
        await self._servers.settle(SEARCH_SECONDS, again=True)
        return no_server_tool(given, self._servers.tools())

    def upfront(self) -> Sequence[ToolSchema]:
        """Return the tools that follow the built-in ones. A server's tools are among them if all fit into the room,
        smallest server first.
        """
        counter, tokens = TokenCounter(self._estimator()), self._room()
        chosen: list[ToolSchema] = []
        for _, size, schemas in sorted(self._sized(counter), key=lambda each: each[:2]):
            if size <= tokens:
                tokens -= size
                chosen += schemas
        return sorted(chosen, key=lambda tool: tool.name)

    def loading(self, output: ToolOutput, history: History) -> ToolOutput:
        """Return a search's output with the definitions of the found tools, for a model that loads them itself.

        The output is unchanged if no provider accepts a definition, or if the model has loaded a different one. A
        changed one would change earlier requests.
        """
        upfront = {tool["name"] for tool in history.tools}
        known = {tool.name: tool for tool in loaded_tools(_results(history))}
        fresh: list[ToolSchema] = []
        for name in output.metadata.get(MATCHED, ()):
            tool = self._known(name)
            if name in upfront or tool is None:
                continue
            definition = _schema(tool)
            if definition is None or known.get(name, definition) != definition:
                return output
            fresh.append(definition)
        if not fresh:
            return output
        return replace(output, metadata={**output.metadata, LOADED: [definition.raw for definition in fresh]})

    def catalogue(self, tokens: int, offered: Collection[str] = ()) -> str:
        """Return the reminder that lists servers and tools; empty without servers.

        Tools in `offered` are in each request anyway: they are neither named nor searched for.
        """
        states = self._servers.states()
        if not states:
            return ""
        if not self._listed:
            self._listed, self._changes_told = True, len(self._servers.changes())
        tools = [tool for tool in self._servers.tools() if tool.name not in offered]
        waiting = any(not tool.aside for tool in tools) or any(state.status != "connected" for state in states)
        head = f"{CATALOGUE}. " + (_SEARCHED if waiting else "Call their tools by name.")
        whole = "\n".join([head, *(_entry(state, tools, names=True) for state in states)])
        if len(whole) <= tokens * _CHARACTERS_A_TOKEN:
            return whole
        short = "\n".join([head, *(_entry(state, tools, names=False) for state in states)])
        return short[: tokens * _CHARACTERS_A_TOKEN]

    def changes(self) -> Sequence[str]:
        """Return the changes among the servers since the last call, and since the catalogue."""
        lines = self._servers.changes()
        fresh, self._changes_told = lines[self._changes_told :], len(lines)
        return fresh

    def warnings(self) -> Iterator[Event]:
        """Yield a line for the person, once, about each server that fails or has an unusable part."""
        for state in self._servers.states():
            if state.status in _TROUBLE and state.name not in self._warned:
                self._warned.add(state.name)
                yield Warned(state.sentence)
            if state.odd and state.odd[0] not in self._warned:
                self._warned.add(state.odd[0])
                more = f" (and {len(state.odd) - 1} more: `/mcp tools {state.name}`)" if len(state.odd) > 1 else ""
                yield Warned(f"Server {state.name}, {state.odd[0]}{more}.")

    def _known(self, name: str) -> ServerTool | None:
        return next((tool for tool in self._servers.tools() if tool.name == name), None)

    def _sized(self, counter: TokenCounter) -> Iterator[tuple[bool, int, Sequence[ToolSchema]]]:
        """Yield for each connected server whether it may wait, its tools' tokens, and the tools."""
        tools = [tool for tool in self._servers.tools() if not tool.aside]
        for state in self._servers.states():
            own = [tool for tool in tools if tool.server == state.name and state.status == "connected"]
            schemas = [found for tool in own if (found := _schema(tool)) is not None]
            if schemas:
                yield not own[0].always, counter.overhead((), schemas), schemas


def _results(history: History) -> Iterator[ToolResult]:
    return (entry.body for entry in history.entries if isinstance(entry.body, ToolResult))


def _schema(tool: ServerTool) -> ToolSchema | None:
    parameters = schema.upfront(tool.parameters)
    return None if parameters is None else ToolSchema(tool.name, tool.description[:DESCRIPTION], parameters)


def _entry(state: ServerState, tools: Sequence[ServerTool], *, names: bool) -> str:
    own = [tool.name for tool in tools if tool.server == state.name and not tool.aside]
    said = " ".join(state.instructions.split())[:INSTRUCTIONS] if names else ""
    lines = [f"- {state.name} ({state})"]
    lines += [f"  says of itself: {said}"] if said else []
    lines += [f"  tools: {', '.join(own)}"] if own and names else []
    return "\n".join(lines)


class LoadingStage(Stage):
    """Adds definitions of tools to the output of a search."""

    def __init__(self, setup: SessionSetup, server_tools: ServerTools, builder: RequestBuilder) -> None:
        self._setup, self._server_tools, self._builder = setup, server_tools, builder

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            call = await run(call)
            if (
                call.output is None
                or call.call.name != SEARCH
                or not self._setup.models.defers(self._builder.model.spec)
            ):
                return call
            return replace(call, output=self._server_tools.loading(call.output, self._builder.journal.history))

        return ran


MENTION = re.compile(r"""(?:^|(?<=[\s("']))@([A-Za-z0-9_-]{1,40}):([^\s"')]+)""")
"""The mention of a resource of a server: `@server:uri`."""


def prompt_of(servers: Servers | None, text: str) -> ServerPrompt | None:
    """Return the server prompt in a line, as `/server:prompt` or `/mcp__server__prompt`; None if there is none."""
    if servers is None or not text.startswith("/"):
        return None
    name = text[1:].split(None, 1)[0] if text[1:].split() else ""
    return next((one for one in servers.prompts() if name in (one.command, f"{PREFIX}{one.server}__{one.name}")), None)


class ServerPrompts(PromptSource):
    """Prompts and resources of servers, for a session's prompts."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def named(self, text: str) -> bool:
        """Return True if a prompt begins with `/name` of a server's prompt."""
        return prompt_of(self._servers, text) is not None

    async def attached(self, prompt: Prompt, keep: KeepFile, check: Callable[[str], None]) -> Prompt:
        """Return the prompt, preceded by every resource that it mentions."""
        return await with_resources(self._servers, prompt, keep, check)

    async def expanded(self, prompt: Prompt, keep: KeepFile) -> Prompt:
        """Return the prompt with a server's texts, if it contains a server's prompt."""
        found = prompt_of(self._servers, prompt.text)
        return await with_prompt(self._servers, found, prompt, keep) if found is not None else prompt


async def with_prompt(servers: Servers, found: ServerPrompt, prompt: Prompt, keep: KeepFile) -> Prompt:
    """Return the prompt with the server's texts. Raises InputError if an argument is missing, or the server fails."""
    line = prompt.text
    try:
        contents = await servers.prompt(found.server, found.name, _arguments(found, line))
    except ToolError as error:
        raise InputError(str(error)) from error
    parts = [_part(content, found.command, keep) for content in contents]
    if not parts:
        raise InputError(f"The prompt {found.command} is empty.")
    first = next((part for part in parts if isinstance(part, Text)), None)
    marked = (
        replace(part, meta={TYPED: {"line": line}}) if part is first and isinstance(part, Text) else part
        for part in parts
    )
    before = (part for part in prompt.parts if part != Text(line))
    return replace(prompt, parts=(*before, *marked))


async def with_resources(
    servers: Servers, prompt: Prompt, keep: KeepFile, check: Callable[[str], None] = lambda _: None
) -> Prompt:
    """Return the prompt, preceded by every resource that it mentions as `@server:uri`.

    Raises InputError for an unreadable resource, and the errors of `check` for an address.
    """
    if ":" not in prompt.text:
        return prompt
    names = {state.name for state in servers.states()}
    found: list[Part] = []
    for server, uri in dict.fromkeys((match[1], match[2].rstrip(".,;!?")) for match in MENTION.finditer(prompt.text)):
        if server not in names:
            continue
        check(uri)
        try:
            answer = await servers.read(server, uri)
        except ToolError as error:
            raise InputError(f"Can't read @{server}:{safe_line(uri)}: {error}") from error
        found += [_part(content, f"{server}:{uri}", keep, file=True) for content in answer.contents]
    return replace(prompt, parts=(*found, *(prompt.parts or (Text(prompt.text),)))) if found else prompt


def _arguments(found: ServerPrompt, line: str) -> Mapping[str, str]:
    """Assign the arguments by position; the last one takes all remaining words."""
    try:
        words = shlex.split(line.partition(" ")[2])
    except ValueError as error:
        raise InputError(f"Can't read the arguments of /{found.command}: {error}.") from error
    names = [name for name, _ in found.arguments]
    if names and len(words) > len(names):
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    given = dict(zip(names, words, strict=False))
    missing = [name for name, required in found.arguments if required and name not in given]
    if missing:
        form = " ".join(name.upper() if required else f"[{name.upper()}]" for name, required in found.arguments)
        raise InputError(f"/{found.command} needs {', '.join(missing)}. Use /{found.command} {form}.")
    return given


def _part(content: Content, name: str, keep: KeepFile, *, file: bool = False) -> Part:
    """Turn a piece of a server's answer into a part of a prompt.

    Data that no model accepts is stored as a file mentioned in the text.
    """
    if (image := image_of(content)) is not None:
        return image
    if content.kind == "text":
        return File("text/plain", name, content.text) if file or content.uri else Text(content.text)
    if content.kind == "link":
        return Text(f"[resource {content.name}: {content.uri}]", True)
    text = kept_data(keep, re.sub(r"[^A-Za-z0-9_-]+", "_", name), content)
    return File("text/plain", name, text) if file else Text(text, True)


class McpSession(SessionPart):
    """The MCP servers of a session."""

    name = "mcp"

    def __init__(self, core: SessionCore, servers: Servers, settings: McpSettings) -> None:
        setup = core.setup

        def room() -> int:
            return 0 if setup.settings.agent.is_small(core.model.window) else settings.upfront_tokens

        self._core, self._servers, self._settings = core, servers, settings
        self._denied_told = False
        estimator = partial(setup.models.estimator, setup.settings.context.policy)
        self.found: ServerTools = ServerTools(servers, core.traits, estimator, room)
        self.stages = [LoadingStage(setup, self.found, core.builder)]
        self.services = [offer(Servers, servers), offer(PromptSource, ServerPrompts(servers))]

    async def opened(self, interrupt: asyncio.Event) -> None:
        """Wait for connecting servers.

        With a person present it waits only briefly: later servers are reached through the gate.
        """
        attended = self._core.setup.person.attended
        if not self._core.journal.history.system or not attended:
            await until_interrupted(interrupt, self._servers.settle(self._settings.wait if attended else None))

    def listing(self) -> str:
        """Return the list of servers and tools, in the room that the window leaves."""
        most = int(self._core.model.window * CATALOGUE_SHARE)
        offered = {tool.name for tool in self._core.builder.tools}
        listed = self.found.catalogue(min(self._settings.catalogue_tokens, most), offered)
        denied = ", ".join(self._denied())
        return f"{listed}\nNo one can approve calls of these servers: {denied}." if listed and denied else listed

    def _denied(self) -> Sequence[str]:
        """Return the servers of which no tool may be called, as nobody is there and no rule allows one."""
        if self._core.setup.person.attended or self._core.approval.mode == "yolo":
            return ()
        allow = self._core.approval.allowing
        tools = self._servers.tools()
        free = {tool.server for tool in tools if any(rule.is_for(tool.name) for rule in allow)}
        return sorted({tool.server for tool in tools} - free)

    def news(self) -> Sequence[str]:
        return self.found.changes()

    def notices(self) -> Iterator[Event]:
        yield from self.found.warnings()
        if not self._denied_told and (denied := self._denied()):
            self._denied_told = True
            rules = " ".join(f"--allow '{server_prefix(server)}*'" for server in denied)
            yield Warned(f"No one can approve calls of MCP servers. Allow them: {rules}.")
