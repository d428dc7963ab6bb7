"""What the keys do that edit nothing: change the mode, open an output, fold thoughts, send a command away."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import INTERRUPTED, AgentError
from agentcli.ui.dialogs.dialogs import Choice
from agentcli.ui.input import clipboard
from agentcli.ui.input.handler import Act
from agentcli.ui.input.history import Memory
from agentcli.ui.input.keys import help_rows
from agentcli.ui.render.scrollback import called
from agentcli.ui.terminal.console import Console
from agentcli.ui.terminal.dispatch import Repl

if TYPE_CHECKING:
    from agentcli.core.record import Mode


CYCLE: tuple[Mode, ...] = ("ask", "auto-edit", "plan")


"""The modes that Shift-Tab goes through; the others are only set by name."""


class Acts:
    """What each act does in one session; `keys` are those that the help names."""

    def __init__(self, console: Console, repl: Repl, drafting: Drafting, keys: Mapping[Act, str]) -> None:
        self._console, self._drafting, self._keys = console, drafting, keys
        self._breaking = Breaking(console, repl, drafting.memory)
        self._opened = 0

    def do(self, act: Act) -> None:
        """Do it; what stands in the way is told."""
        try:
            self._do(act)
        except AgentError as error:
            self._console.warn(str(error))

    def begin_anew(self) -> None:
        """Something has been done: the next output that is opened is again the newest."""
        self._opened = 0

    def _do(self, act: Act) -> None:
        match act:
            case "interrupt":
                self._breaking.escape()
            case "break":
                self._breaking.break_off()
            case "signal":
                self._breaking.break_off(leaving=INTERRUPTED)
            case "leave":
                self._console.leave()
            case "mode":
                self._next_mode()
            case "output":
                self._whole_output()
            case "thinking":
                self._fold_thinking()
            case "keys":
                console = self._console
                console.show("", *help_rows(self._keys, console.columns - 1, console.look.theme))
            case "search":
                self._meanwhile(self._drafting.search())
            case "editor":
                self._meanwhile(self._drafting.edit())
            case "picture":
                self._meanwhile(self._drafting.attach())
            case "background":
                self._send_to_background()
            case "redraw":
                self._console.screen.erase()

    def _meanwhile(self, work: Coroutine[Any, Any, None]) -> None:
        self._console.editor.application.create_background_task(work)

    def _next_mode(self) -> None:
        now = self._console.session.mode
        after = CYCLE[(CYCLE.index(now) + 1) % len(CYCLE)] if now in CYCLE else CYCLE[0]
        self._console.tell(self._console.session.switch(mode=after))

    def _whole_output(self) -> None:
        """Print the newest call's whole output; with each further Ctrl-O that of the call before."""
        outputs, console = self._console.state.outputs, self._console
        if not outputs:
            console.notice("No tool has run yet.")
            return
        self._opened = self._opened % len(outputs) + 1
        one = outputs[-self._opened]
        result = one.result
        if result.output_file:
            result = replace(result, output=console.session.journal.output(result.output_file) or result.output)
        console.show("", *called(replace(one, result=result), console.columns, console.look, whole=True))

    def _fold_thinking(self) -> None:
        console, look = self._console, self._console.look
        console.look = replace(look, thinking=not look.thinking)
        if (last := console.state.considered) and not look.thinking:
            console.screen.print(last)
        console.notice(f"Thinking is {'folded' if look.thinking else 'shown'} from now on.")

    def _send_to_background(self) -> None:
        if not self._console.session.background():
            self._console.notice("No command runs that could go to the background.")


# MERGED agentcli.ui.breaking: What Esc and Ctrl-C mean: stop what goes on, else clear what is typed, else, when they come twice, go back or leave.


TWICE = 1.5


"""Seconds within which a second Ctrl-C leaves, and a second Esc goes back."""


class Breaking:
    """The two keys in one session; what Ctrl-C clears goes to `memory`."""

    def __init__(self, console: Console, repl: Repl, memory: Memory) -> None:
        self._console, self._repl, self._memory = console, repl, memory
        self._broken_at, self._broke_off = 0.0, False
        self._escaped_at = 0.0

    def escape(self) -> None:
        """Esc: interrupt; twice where nothing goes on and nothing is typed, go back to an earlier prompt."""
        now = time.monotonic()
        twice, self._escaped_at = now - self._escaped_at < TWICE, now
        if self._repl.working:
            self._repl.interrupt()
            self._escaped_at = 0.0
        elif self._console.editor.draft.text or not self._console.session.history.turn:
            return
        elif twice:
            self._repl.submit("/rewind")
        else:
            self._console.notice("Esc again goes back to one of your prompts.")

    def break_off(self, leaving: int = 0) -> None:
        """Ctrl-C: interrupt, else clear, else leave when it comes twice; `leaving` is the exit code where nothing was broken off."""
        now, editor = time.monotonic(), self._console.editor
        twice, self._broken_at = now - self._broken_at < TWICE, now
        self._broke_off = self._repl.working or (twice and self._broke_off)
        if twice and not editor.draft.text:
            self._console.leave(INTERRUPTED if self._broke_off else leaving)
        elif self._repl.working:
            self._repl.interrupt()
        elif editor.draft.text:
            self._memory.remember(editor.take())
        else:
            self._console.notice("Ctrl-C again leaves.")


# MERGED agentcli.ui.drafting: What can be done with the draft besides editing it: find an earlier prompt, use another editor, attach a picture, keep it.


SEARCHED = 1_000


"""Characters of an earlier prompt that are searched and shown."""


class Drafting:
    """`folder` is where prompts, drafts and pictures lie; without one they last as long as the program. `limit` prompts are kept."""

    def __init__(self, console: Console, folder: Path | None, limit: int) -> None:
        self._console, self._editor, self._folder = console, console.editor, folder
        self.memory = Memory(folder, limit)

    def bring_back(self) -> None:
        """What was typed in a program that broke off comes back into its session, else behind the Up key."""
        own, others = self.memory.lost(self._console.session.journal.id)
        if own and not self._editor.draft.text:
            self._console.draft(own)
            self._console.notice("This is what you were typing when the session broke off.")
        elif own:
            self.memory.remember(own)
        if others or (own and self._editor.draft.text != own):
            self._console.notice("What was typed in a session that broke off is behind Up.")
        self._editor.remember(self.memory.texts)

    def keep(self) -> None:
        """Have the draft on disk as it is now."""
        self.memory.keep(self._editor.pastes.unfold(self._editor.draft.text), self._console.session.journal.id)

    def leave(self) -> None:
        """A draft that is not sent is a prompt of the past from now on."""
        if self._editor.draft.text.strip():
            self.memory.remember(self._editor.take())
        self.memory.close()

    async def search(self) -> None:
        """Choose from the earlier prompts of all sessions and projects, newest first."""
        seen = self.memory.newest_first
        choices = [Choice(one.text[:SEARCHED].replace("\n", " ⏎ "), one.folder) for one in seen]
        chosen = await self._console.pick("Earlier prompts", choices)
        if chosen is not None:
            self._console.draft(seen[chosen].text)

    async def edit(self) -> None:
        """Write on in the person's own editor."""
        self._console.draft(await self._console.compose(self._editor.pastes.unfold(self._editor.draft.text)))

    async def attach(self) -> None:
        """Attach the picture that is on the clipboard."""
        if self._folder is None:
            return
        try:
            self._editor.attach(await clipboard.save_picture(self._folder / "pictures"))
        except AgentError as error:
            self._console.notice(str(error))
