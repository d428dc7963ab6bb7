"""A client of the protocol: the SDK's own connection over memory, every message of the agent checked against the SDK's models."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from acp import RequestError, schema
from acp._transport import memory_transport_pair
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
)
from pydantic import TypeAdapter

from agentcli.frontends.acp.agent import SESSIONS, EditorAgent
from agentcli.frontends.acp.host import EditorHost
from agentcli.program.options import Options

Json = dict[str, Any]
_SENT = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "elicitation/create": schema.CreateElicitationRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
}
_ANSWERS = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/fork": schema.ForkSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
}


def in_loop(test: Callable[..., Any]) -> Callable[..., None]:
    """A test that is a coroutine, run in a loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


class Checked:
    """The agent's end of the connection; `sent` are the messages of the agent, each valid."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._asked: dict[Any, str] = {}
        self.sent: list[Json] = []

    async def receive(self) -> Json | None:
        message: Json | None = await self._inner.receive()
        if message and "method" in message and "id" in message:
            self._asked[message["id"]] = message["method"]
        return message

    async def send(self, message: Json) -> None:
        message = json.loads(json.dumps(message))
        validate(message, self._asked)
        self.sent.append(message)
        await self._inner.send(message)

    async def close(self) -> None:
        await self._inner.close()


def validate(message: Json, asked: Mapping[Any, str]) -> None:
    """Raise where a message of the agent is not as the SDK's models have it. `asked`: methods of the client's requests by id."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        strict(_SENT[message["method"]], message["params"])
    elif "result" in message:
        strict(_ANSWERS[asked[message["id"]]], message["result"])
    else:
        assert isinstance(message["error"]["code"], int)
        assert message["error"]["message"]


def strict(model: Any, value: Any) -> None:
    """Validate a value, and see that nothing of it was dropped as invalid on the way."""
    adapter = TypeAdapter(model)
    read = adapter.validate_python(value)
    back = adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True)
    assert back == value


class Person:
    """The client: it notes the updates and answers what it is asked. `choose` picks an option's id; None answers with an error."""

    def __init__(self, choose: Callable[[Json], str | None], form: Mapping[str, Any] | None = None) -> None:
        self.choose, self.form = choose, form
        self.updates: list[Json] = []
        self.questions: list[Json] = []
        self.asked = asyncio.Event()
        self.buffers: dict[str, str] = {}
        self.files_asked: list[str] = []
        self.answer_for: Callable[[str], Any] = self._text_of
        self.save: Callable[[str, str], None] = lambda path, text: None
        self._updated = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        self._updated.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **_: Any
    ) -> RequestPermissionResponse:
        question = {
            "call": tool_call.model_dump(mode="json", by_alias=True, exclude_none=True),
            "options": [option.model_dump(mode="json", by_alias=True) for option in options],
        }
        self.questions.append(question)
        self.asked.set()
        chosen = self.choose(question)
        if chosen is None:
            raise RequestError(-32603, "no dialog here")
        if chosen == "wait":
            await asyncio.Event().wait()
        if chosen == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> AcceptElicitationResponse:
        self.questions.append({"message": message, "form": mode.model_dump(mode="json", by_alias=True)})
        return AcceptElicitationResponse(action="accept", content=dict(self.form or {}))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> Any:
        self.files_asked.append(path)
        answer = self.answer_for(path)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        self.save(path, content)

    def _text_of(self, path: str) -> ReadTextFileResponse:
        """A buffer, or a file on disk, as editors have it: line ends are `\\n`."""
        if path not in self.buffers and not Path(path).is_file():
            raise RequestError(-32002, f"{path} is not found")
        text = self.buffers.get(path) or Path(path).read_bytes().decode()
        return ReadTextFileResponse(content=text.replace("\r\n", "\n"))

    def save_to_disk(self, path: str, text: str) -> None:
        """Save as editors do: the file gets the text, and the buffer is clean."""
        Path(path).write_text(text)
        self.buffers.pop(path, None)

    async def until(self, wanted: Callable[[list[Json]], bool]) -> None:
        """Wait for updates that are wanted."""
        while not wanted(self.updates):
            self._updated.clear()
            await self._updated.wait()

    def of(self, kind: str) -> list[Json]:
        """The updates of one kind."""
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def text(self) -> str:
        """The text of the answers."""
        return "".join(update["content"]["text"] for update in self.of("agent_message_chunk"))


class Editor:
    """An initialized connection in a project folder."""

    def __init__(self, connection: ClientSideConnection, person: Person, work: Path, sent: list[Json]) -> None:
        self.connection, self.person, self.work, self.sent = connection, person, work, sent

    async def new(self, **more: Any) -> str:
        """A new session's id."""
        return (await self.connection.new_session(cwd=str(self.work), mcp_servers=[], **more)).session_id

    async def say(self, session: str, text: str) -> str:
        """Prompt; the stop reason."""
        block = TextContentBlock(type="text", text=text)
        return (await self.connection.prompt(session_id=session, prompt=[block])).stop_reason


def script(folder: Path, *replies: Json) -> str:
    """The name of a model that gives these replies."""
    file = folder / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return f"script:{file}"


@asynccontextmanager
async def editing(
    base: Path,
    *replies: Json,
    choose: Callable[[Json], str | None] = lambda _: "once",
    form: Mapping[str, Any] | None = None,
    most: int = SESSIONS,
    files: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> AsyncIterator[Editor]:
    """An editor that has a scripted agent open. `files` are the file system methods that it offers: `r`, `w`.

    `more` is added to the environment of the agent.
    """
    work = base / "work"
    work.mkdir(exist_ok=True)
    env = {f"XDG_{kind}_HOME": str(base / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    env |= {"HOME": str(base), "PATH": "/usr/bin:/bin", **more}
    if replies:
        options["model"] = script(base, *replies)
    agent = EditorAgent(EditorHost(Options(**options), env), most)
    near, far = memory_transport_pair()
    checked = Checked(near)
    agent_side = AgentSideConnection(agent, checked, use_unstable_protocol=True)
    person = Person(choose, form)
    connection = ClientSideConnection(person, far, use_unstable_protocol=True)
    forms = ElicitationCapabilities(form=ElicitationFormCapabilities()) if form is not None else None
    fs = FileSystemCapabilities(read_text_file="r" in files, write_text_file="w" in files)
    capabilities = ClientCapabilities(elicitation=forms, fs=fs)
    await connection.initialize(protocol_version=1, client_capabilities=capabilities)
    try:
        yield Editor(connection, person, work, checked.sent)
    finally:
        await agent.close()
        await connection.close()
        await agent_side.close()
