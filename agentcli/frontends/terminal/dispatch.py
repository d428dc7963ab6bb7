"""Dispatch of input: runs prompts, slash commands and shell commands one after another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from agentcli.agent.ports import AGAIN, Prompt
from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Event, Noticed, ToolProgress, ToolStarted
from agentcli.core.message import ToolCall
from agentcli.core.sanitise import safe
from agentcli.core.tasks import run_beside, start_task, watch_task
from agentcli.frontends.terminal.console import Console
from agentcli.frontends.terminal.idle import Idle
from agentcli.frontends.terminal.input import user_shell
from agentcli.frontends.terminal.input.attachments import with_attachments
from agentcli.frontends.terminal.render.pieces import Note, UserMessage
from agentcli.frontends.terminal.turns import typed

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession

PATIENCE = 1.0
"""Seconds for interrupted work to end at exit."""


class Repl:
    """Queue of submitted input, and the `Front` of the terminal. `finished` gets the seconds that each took; `failed` gets unexpected exceptions."""

    def __init__(
        self, console: Console, finished: Callable[[float], None], failed: Callable[[BaseException], None]
    ) -> None:
        self._console, self._finished, self._failed = console, finished, failed
        self._work: asyncio.Task[None] | None = None
        self._asides: WeakSet[asyncio.Task[None]] = WeakSet()
        self.idle = Idle(self, failed=failed)

    @property
    def session(self) -> AgentSession:
        """The open session."""
        return self._console.session

    @property
    def working(self) -> bool:
        """True while work runs."""
        return self._work is not None and not self._work.done()

    def submit(self, text: str) -> None:
        """Run the input, or queue it while work runs; commands that do not affect the turn run at once."""
        if self.working:
            command = self._console.commands.is_command(text, self._console.session)
            if command and self._console.commands.acts_at_once(text):
                self.beside(self._perform(text))
                return
            self._queue(text)
            if command:
                self._console.notice(_waits(text))
            return
        self._begin(self._through(text))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self.idle.pause()
        self._work = watch_task(start_task(work), self._failed, lambda _: self.idle.begin())

    def steer(self, text: str) -> None:
        """Send a message to the running turn; commands are submitted as with Enter."""
        files = self._console.session.prompt_files
        entry = files.is_entry(text) or files.mentioned(text)
        if entry or self._console.commands.is_command(text, self._console.session) or text.startswith("!"):
            self.submit(text)
            return
        self._console.session.steer(with_attachments(text, self._console.session.cwd))
        state = self._console.state
        self._console.screen.change(replace(state, steering=(*state.steering, text)))

    def _queue(self, text: str) -> None:
        state = self._console.state
        self._console.screen.change(replace(state, queue=(*state.queue, text)))

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the turn; it is cancelled at exit."""
        self._asides.add(run_beside(self._attempt(work), self._failed))

    def take(self, text: str) -> str:
        """Send an external message to the running turn, or begin one with it."""
        if self.working:
            self.steer(text)
            return "steered"
        self.submit(text)
        return "begun"

    def tell(self, text: str) -> None:
        """Show a notice."""
        self._console.screen.apply(Noticed(text))

    def show_events(self, events: Sequence[Event]) -> None:
        """Show events."""
        self._console.show_events(events)

    def recall(self) -> str | None:
        """Remove and return the newest queued message."""
        if not self._console.waiting:
            return None
        *rest, last = self._console.waiting
        self._console.requeue(rest)
        if last.text.strip():
            self._console.withdraw(_waits(last.text))
        return last.text

    def send_queue(self) -> None:
        """Send the messages that a crash left in the queue if nothing runs.

        Otherwise send the last request again if its turn failed.
        """
        queue = self._console.state.queue
        if queue and not self.working:
            self._console.screen.change(replace(self._console.state, queue=queue[1:], notice=""))
            self.submit(queue[0])
        elif self._console.state.failed and not self.working:
            self._begin(self._through(AGAIN))

    def wake(self) -> None:
        """Begin the turn of a prompt that is due by itself, unless something runs or a question is open."""
        if not self.working and self._console.state.dialog is None and self._console.session.is_due():
            self._begin(self._woken())

    async def _woken(self) -> None:
        console, before = self._console, self._console.state.queue
        console.interrupt.clear()
        prompt = await console.session.due(console.interrupt, console.show_events)
        if prompt is None and console.state.queue != before:  # typed meanwhile
            prompt, *rest = console.state.queue
            console.screen.change(replace(console.state, queue=tuple(rest), notice=""))
        if prompt is not None:
            await self._through(prompt)

    def interrupt(self) -> None:
        """Interrupt the running work; the queue continues after it."""
        if self.working:
            self._console.interrupt.set()

    async def stop(self) -> None:
        """Stop the work: interrupt, then cancel; the queue is dropped."""
        await self.idle.stop()
        asides = set(self._asides)
        for aside in asides:
            aside.cancel()
        if asides:
            await asyncio.wait(asides, timeout=PATIENCE)
        if self._work is None or self._work.done():
            return
        self._console.screen.change(replace(self._console.state, queue=()))
        self._console.interrupt.set()
        await asyncio.wait({self._work}, timeout=PATIENCE)
        if not self._work.done():
            self._work.cancel()
            await asyncio.wait({self._work}, timeout=PATIENCE)

    async def _through(self, text: str | Prompt) -> None:
        while True:
            began = time.monotonic()
            await self._attempt(self._perform(text))
            self._finished(time.monotonic() - began)
            self._console.queue_late()
            queue = self._console.state.queue
            if not queue:
                return
            text, *rest = queue
            # Remove the notice about the wait.
            self._console.screen.change(replace(self._console.state, queue=tuple(rest), notice=""))

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except AgentError as error:
            self._console.warn(str(error))
        self._console.screen.refresh()

    async def _perform(self, text: str | Prompt) -> None:
        console = self._console
        if isinstance(text, Prompt):
            prompt, session = text, console.session
            await console.play("Working", partial(session.run, prompt))
            return
        if console.commands.is_command(text, console.session):
            await console.run_command(text)
        elif text.startswith("!"):
            await self._shell(text.lstrip("!").strip(), shared=not text.startswith("!!"))
        else:
            given = await self._with_files(text)

            def give_back() -> None:
                if not console.editor.draft.text:
                    console.draft(text)

            await console.play("Working", typed(console.session, given, text, give_back))

    async def _with_files(self, text: str) -> Prompt:
        """Return the prompt with its attachments. If one is unreadable, restore the text to an empty input and raise InputError."""
        console = self._console
        try:
            prompt = await asyncio.to_thread(with_attachments, text, console.session.cwd, tuple(console.before_prompt))
        except InputError:
            if not console.editor.draft.text:
                console.draft(text)
            raise
        console.before_prompt = []
        return prompt

    async def _shell(self, command: str, shared: bool) -> None:
        console = self._console
        console.screen.print(UserMessage(safe(f"{'!' if shared else '!!'} {command}")))
        with console.screen.working("Running"):
            console.interrupt.clear()
            console.screen.apply(ToolStarted(ToolCall("!", "bash", {"command": command}), f"$ {command}"))
            ran = await user_shell.run(
                command,
                console.session.cwd,
                lambda text: console.screen.apply(ToolProgress("!", text)),
                console.interrupt,
                console.session.shared_command if shared else None,
            )
        console.say(*(ran.output.rstrip("\n").split("\n") if ran.output.strip() else ()))
        if ran.code or ran.interrupted:
            console.screen.print(Note("warn", "interrupted" if ran.interrupted else f"exit code {ran.code}"))
        if shared:
            console.before_prompt.append(user_shell.as_text(ran))


def _waits(command: str) -> str:
    """Return the notice about a command that waits for the end of the turn."""
    name = command.split()[0]
    return f"{name} will run after this turn. Esc stops the turn, ↑ cancels {name}."
