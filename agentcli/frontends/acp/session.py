"""One session that an editor has open: its turns, and its questions to the person."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PromptResponse,
    SessionModeState,
    ToolCallProgress,
    UnstructuredCommandInput,
    Usage,
)

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, AskUser, TextEditor
from agentcli.agent.session import AgentSession
from agentcli.core.errors import UsageError
from agentcli.core.event import Emit, Event, Noticed, Recorded, ToolProgress, TurnEnded
from agentcli.core.message import ToolResult
from agentcli.core.message import Usage as Tokens
from agentcli.core.sanitise import safe
from agentcli.core.tasks import run_beside
from agentcli.frontends.acp import options
from agentcli.frontends.acp.buffers import ClientBuffers, Offers
from agentcli.frontends.acp.dialogs import Dialogs
from agentcli.frontends.acp.errors import BUSY, INVALID_REQUEST, answered, stop_reason
from agentcli.frontends.acp.host import EditorProject
from agentcli.frontends.acp.prompts import Block, prompt_of, typed_text
from agentcli.frontends.acp.questions import NO, approval_options
from agentcli.frontends.acp.replay import replay
from agentcli.frontends.acp.tool_calls import text_content
from agentcli.frontends.acp.updates import Update, Updates, message_chunk, shown, thought_chunk
from agentcli.frontends.commands.outputs import Answer, as_turn
from agentcli.frontends.commands.prompt_files import items
from agentcli.frontends.commands.registry import SlashCommands
from agentcli.frontends.commands.unknown import no_command, unknown_command
from agentcli.program.commands import Context, OutputCommand
from agentcli.program.program import Program

Opened = Callable[[Approve, AskUser, TextEditor | None], tuple[EditorProject, AgentSession]]
"""Opens the session, given its functions for approvals and questions and, if its buffers are readable, its editor."""
_COMMAND = re.compile(r"\s*/([a-z][a-z-]*)(?:\s+(.*\S))?\s*", re.DOTALL)


class EditorSession:
    """A session that is open for an editor; `roots` are its folders as the editor names them."""

    def __init__(self, client: Client, offers: Offers, roots: Sequence[Path], opened: Opened) -> None:
        self._client = client
        self._dialogs = Dialogs(client, offers.form, self.cancel)
        self._buffers = ClientBuffers(client, offers.saves, roots)
        self.project, self.session = opened(self._approve, self._dialogs.ask, self._buffers if offers.reads else None)
        self.id = self._buffers.session_id = self._dialogs.session_id = self.session.journal.id
        self._models = self.project.models()
        self._updates = Updates(shown(self.session))
        self._tails = OutputTails(self._send_tail)
        self._interrupt: asyncio.Event | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._notes = self._opening_notes()
        self._reported = self._settings

    @property
    def working(self) -> bool:
        """True while a turn runs."""
        return self._interrupt is not None

    @property
    def modes(self) -> SessionModeState:
        """Modes that the editor may switch to."""
        return options.modes(self.session, self.project.sandboxed)

    @property
    def config_options(self) -> options.ConfigOptions:
        """Settings that the editor may change."""
        return options.config_options(self.session, self.project.sandboxed, self._models)

    async def announce(self) -> None:
        """Run the hooks of the session's start, whose notices are sent with the first prompt, and list the slash commands."""
        self.session.begin(self._note)
        await self._send(
            AvailableCommandsUpdate(
                session_update="available_commands_update",
                available_commands=available(self.session, self.project.commands),
            )
        )

    def _note(self, events: Sequence[Event]) -> None:
        self._notes = [*self._notes, *(update for event in events for update in self._updates.of(event))]

    async def _send_notes(self) -> None:
        notes, self._notes = self._notes, []
        for update in notes:
            await self._send(update)

    async def replay(self) -> None:
        """Send the contents of the session."""
        for update in replay(self.session.history, self._updates):
            await self._send(update)

    async def prompt(self, blocks: Sequence[Block]) -> PromptResponse:
        """Run one turn. Raise RequestError if it fails, or while another runs."""
        if self.working:
            raise RequestError(INVALID_REQUEST, BUSY)
        self._interrupt = asyncio.Event()
        self._idle.clear()
        before = self.session.history.usage
        try:
            with answered():
                ended = await self._turn(blocks, self._interrupt)
        finally:
            await self._tails.end_all()
            self._interrupt = None
            self._idle.set()
        return PromptResponse(
            stop_reason=stop_reason(ended, self.session.history), usage=_usage(self.session.history.usage - before)
        )

    async def _turn(self, blocks: Sequence[Block], interrupt: asyncio.Event) -> TurnEnded:
        text = typed_text(blocks)
        command = command_in(text, self.project.commands)
        await self._send_notes()
        if command is not None:
            ended = await run_command(*command, self.session, self.project.program, interrupt, self._show)
        else:
            self._refuse_unknown(text)
            self._buffers.begin()
            prompt = await prompt_of(blocks, self.session.cwd, self.session.core.buffers)
            ended = await self.session.run(prompt, interrupt, self._show)
        if ended.ending == "blocked" and ended.error is not None:
            await self._send(message_chunk(str(ended.error)))
        if command is not None and ended.text and not ended.steps:  # the answer of a model was sent as it came
            await self._send(message_chunk(ended.text))
        return ended

    def _refuse_unknown(self, text: str) -> None:
        """Raise InputError for an unknown command."""
        unknown = unknown_command(
            text,
            lambda _: self.session.prompt_files.is_entry(text),
            lambda server: any(state.name == server for state in self.session.servers),
        )
        if unknown:
            raise no_command(unknown, not self.project.unloaded(), self.project.commands.everywhere)

    def cancel(self) -> None:
        """Interrupt the running turn, if any."""
        if self._interrupt is not None:
            self._interrupt.set()

    async def close(self) -> None:
        """End the running turn, and the session."""
        self.cancel()
        await self._idle.wait()
        await self.session.end("other")
        await self.project.close()

    async def switch(self, setting: str, value: str) -> None:
        """Change a setting. The caller has checked the effort.

        Raise RequestError for an unknown mode or model, and for a model or effort during a turn.
        """
        if setting != options.MODE and self.working:
            raise RequestError(INVALID_REQUEST, BUSY)
        with answered():
            match setting:
                case options.MODE:
                    self.session.switch(mode=value)
                case options.MODEL:
                    self.session.switch(model=value)
                case _:
                    self.session.core.builder.effort = "" if value == options.DEFAULT else value
        await self._report_settings()

    async def _show(self, event: Event) -> None:
        match event:
            case ToolProgress(call_id, text):
                self._tails.add(call_id, text)
            case Recorded(record) if isinstance(record.body, ToolResult):
                await self._tails.end(record.body.call_id)
            case _:
                pass
        await self._send_notes()
        for update in self._updates.of(event):
            await self._send(update)
        await self._report_settings()

    async def _report_settings(self) -> None:
        """Report settings that changed by themselves: the mode after a plan, another model after a failure."""
        if self._settings == self._reported:
            return
        before, self._reported = self._reported, self._settings
        if before[0] != self._reported[0]:
            await self._send(
                CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self.session.core.approval.mode)
            )
        await self._send(ConfigOptionUpdate(session_update="config_option_update", config_options=self.config_options))

    @property
    def _settings(self) -> tuple[str, str, str]:
        return self.session.core.approval.mode, self.session.core.model.name, self.session.core.builder.effort

    async def _approve(self, request: ApprovalRequest) -> ApprovalResponse | None:
        """Ask the person for an approval. Return None if no answer comes, which denies the call."""
        own = self._updates.is_own(request.call.call_id)
        start, shown = self._updates.asking(request)
        if start is not None:
            await self._send(start)
        chosen = await self._dialogs.choose(shown, approval_options(request))
        if not own:
            status = "failed" if chosen in (None, NO) else "completed"
            await self._send(
                ToolCallProgress(
                    session_update="tool_call_update",
                    tool_call_id=shown.tool_call_id,
                    status="failed" if status == "failed" else "completed",
                )
            )
        return None if chosen is None else ApprovalResponse(cast("Any", chosen))

    async def _send_tail(self, call_id: str, tail: str) -> None:
        await self._send(
            ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=call_id,
                status="in_progress",
                content=[text_content(tail, "execute")],
            )
        )

    async def _send(self, update: Update) -> None:
        """Send an update; if the client has disconnected, interrupt the turn instead."""
        try:
            await self._client.session_update(self.id, update)
        except ConnectionError:
            self.cancel()

    def _opening_notes(self) -> Sequence[Update]:
        """Return a message about an untrusted folder's unloaded files, and notes about the session and its settings."""
        notes: list[Update] = [thought_chunk(note) for note in self.session.notes]
        if unloaded := self.project.unloaded():
            listed = "\n".join(f"- {line}" for line in unloaded)
            text = f"This folder is not trusted, so this is not loaded:\n\n{listed}\n\nTo load it, have the editor start `agentcli acp --trust`.\n\n"
            return [message_chunk(text), *notes]
        return notes


def _usage(tokens: Tokens) -> Usage:
    """Convert a turn's tokens; the protocol's input excludes tokens read from the cache."""
    return Usage(
        total_tokens=tokens.total,
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        thought_tokens=tokens.reasoning,
        cached_read_tokens=tokens.cache_read,
        cached_write_tokens=tokens.cache_write,
    )


EVERY = 0.25
"""Shortest time between two updates of one call, in seconds."""
TAIL_CHARACTERS = 8_000
"""Characters at the end of the output that an update contains."""


class OutputTails:
    """Tail of each running call's output; `send(call_id, tail)` gets it at most every `EVERY` seconds."""

    def __init__(self, send: Callable[[str, str], Awaitable[None]], every: float = EVERY) -> None:
        self._send, self._every = send, every
        self._tails: dict[str, str] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}

    def add(self, call_id: str, text: str) -> None:
        """Add a piece of output."""
        self._tails[call_id] = (self._tails.get(call_id, "") + text)[-TAIL_CHARACTERS:]
        if call_id not in self._sending:
            self._sending[call_id] = run_beside(self._keep_sending(call_id))

    async def end(self, call_id: str) -> None:
        """Remove a call: its result contains all output."""
        self._tails.pop(call_id, None)
        if task := self._sending.pop(call_id, None):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def end_all(self) -> None:
        """Remove all calls."""
        for call_id in list(self._sending):
            await self.end(call_id)

    async def _keep_sending(self, call_id: str) -> None:
        sent = ""
        while (tail := self._tails.get(call_id, "")) != sent:
            sent = tail
            await self._send(call_id, tail)
            await asyncio.sleep(self._every)
        self._sending.pop(call_id, None)


def available(session: AgentSession, commands: SlashCommands) -> list[AvailableCommand]:
    """Return the commands in the protocol's form, then the skills and commands from files, which are prompts."""
    own = [
        _listed(name, command.summary, command.usage.partition(" ")[2])
        for name, command in commands.everywhere.items()
        if name in commands.listed
    ]
    from_files = [
        _listed(item.label, item.detail or item.label, "what it is about")
        for item in items(session, commands.everywhere)
    ]
    return [*own, *from_files]


def _listed(name: str, summary: str, hint: str) -> AvailableCommand:
    given = AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None
    return AvailableCommand(name=name, description=summary, input=given)


def command_in(text: str, commands: SlashCommands) -> tuple[OutputCommand, str, str] | None:
    """Return the command in a prompt, with its argument, and a sentence if it has another name by now.

    Return None for a prompt for the model.
    """
    found = _COMMAND.fullmatch(text)
    if found is None or commands.known_as(found[1]) not in commands.all:
        return None
    try:
        meant = commands.meant(text)
    except UsageError:
        return None
    command = commands.everywhere.get(meant.command.name)
    return None if command is None else (command, meant.argument, commands.told(meant))


async def run_command(
    command: OutputCommand, argument: str, told: str,
    session: AgentSession, program: Program, interrupt: asyncio.Event, emit: Emit,
) -> TurnEnded:  # fmt: skip
    """Run a command: emit its events, and return its end with the answer."""
    if told:
        await emit(Noticed(told))
    outputs = command.yields(Context(session, program), argument)
    return await as_turn(outputs, session, interrupt, emit, _answer_text, notices=False)


def _answer_text(answer: Answer) -> str:
    """Return the text of an answer: a report as preformatted text, an action as lines, Markdown unchanged."""
    if answer.window:
        return "\n".join([*answer.notices, *(["", *answer.lines] if answer.lines else [answer.window])])
    report = "\n".join(answer.lines)
    if answer.markdown:
        return safe(report)
    return f"```\n{safe(report)}\n```" if answer.lines else answer.why
