"""Key actions: mode, transcript, folding of thoughts, interrupt, prompt search, editor, images."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.errors import INTERRUPTED, AgentError
from agentcli.core.record import in_mode
from agentcli.core.text.words import PASTED, plural
from agentcli.frontends.terminal.console import Console
from agentcli.frontends.terminal.dispatch import Repl
from agentcli.frontends.terminal.input import clipboard
from agentcli.frontends.terminal.input.handler import KeyAction
from agentcli.frontends.terminal.input.history import Memory
from agentcli.frontends.terminal.input.keys import help_rows
from agentcli.frontends.terminal.views.transcript_screen import Viewing
from agentcli.program.commands import Choice

if TYPE_CHECKING:
    from agentcli.core.record import Mode


CYCLE: tuple[Mode, ...] = ("ask", "auto-edit", "auto", "plan")
"""Modes in the order of Shift-Tab; `auto` only where a sandbox works. Others can only be set by name."""


def after(mode: Mode, *, sandboxed: bool) -> Mode:
    """Return the mode that Shift-Tab switches to."""
    offered = [each for each in CYCLE if each != "auto" or sandboxed]
    return offered[(offered.index(mode) + 1) % len(offered)] if mode in offered else offered[0]


def way_to_auto(mode: Mode) -> str:
    """Return how Shift-Tab reaches `auto` from a mode, for the banner; empty if the mode is `auto`."""
    times = 0
    while mode != "auto":
        mode, times = after(mode, sandboxed=True), times + 1
    return f": Shift-Tab{('', ' twice', ' three times')[times - 1]} for auto" if times else ""


class KeyActions:
    """Performs the key actions of a session."""

    def __init__(self, console: Console, repl: Repl, draft: DraftActions, viewing: Viewing) -> None:
        self._console, self._repl, self._draft_actions, self._viewing = console, repl, draft, viewing
        self._interrupt_keys = InterruptKeys(console, repl, draft)

    def do(self, action: KeyAction) -> None:
        """Perform the action; errors are shown."""
        try:
            self._do(action)
        except AgentError as error:
            self._console.warn(str(error))

    def _do(self, action: KeyAction) -> None:
        match action:
            case "interrupt":
                self._interrupt_keys.escape()
            case "break":
                self._interrupt_keys.control_c()
            case "signal":
                self._interrupt_keys.control_c(leaving=INTERRUPTED)
            case "leave":
                self._console.leave()
            case "mode":
                self._next_mode()
            case "output":
                self._viewing.open(self._console.session.journal)
            case "thinking":
                self._fold_thinking()
            case "keys":
                keys, theme = self._console.keys, self._console.look.theme
                self._viewing.show("Keys", lambda columns: ["", *help_rows(keys, columns, theme)])
            case "search":
                self._repl.beside(self._draft_actions.search())
            case "editor":
                self._repl.beside(self._draft_actions.edit())
            case "picture":
                self._repl.beside(self._draft_actions.attach())
            case "background":
                self._send_to_background()
            case "queue":
                self._repl.send_queue()
            case "redraw":
                self._console.screen.erase()

    def _next_mode(self) -> None:
        session = self._console.session
        mode = after(session.core.approval.mode, sandboxed=session.report.status().sandboxed)
        self._console.show_events(session.switch(mode=mode))
        self._console.notice(in_mode(mode), MODE_SHOWN)

    def _fold_thinking(self) -> None:
        console, look = self._console, self._console.look
        console.look = replace(look, thinking=not look.thinking)
        if (last := console.state.considered) and not look.thinking:
            console.screen.print(last)
        console.notice(f"Thinking: {'folded' if look.thinking else 'shown'}.")

    def _send_to_background(self) -> None:
        if not self._console.session.core.jobs.send_away():
            self._console.notice("Nothing is running that can be sent to the background.")


MODE_SHOWN = 5.0
"""Seconds for which the effect of a mode is shown after a switch."""
TWICE = 1.5
"""Seconds within which a second Ctrl-C exits, and a second Esc rewinds."""


class InterruptKeys:
    """Esc and Ctrl-C: interrupt the work, else clear the draft, else, pressed twice, rewind or quit.

    A draft cleared by Ctrl-C joins the prompt history.
    """

    def __init__(self, console: Console, repl: Repl, draft: DraftActions) -> None:
        self._console, self._repl, self._draft_actions = console, repl, draft
        self._pressed_at, self._interrupted = 0.0, False
        self._escaped_at = 0.0

    def escape(self) -> None:
        """Esc: interrupt; pressed twice while idle with an empty draft, rewind."""
        now = time.monotonic()
        twice, self._escaped_at = now - self._escaped_at < TWICE, now
        if self._console.beside.stop():
            self._escaped_at = 0.0
        elif self._repl.working:
            self._repl.interrupt()
            self._escaped_at = 0.0
        elif self._console.editor.draft.text or not self._console.session.history.turn:
            return
        elif twice:
            self._repl.submit("/rewind")
        else:
            self._console.notice("Press Esc again to rewind.", TWICE)

    def control_c(self, leaving: int = 0) -> None:
        """Ctrl-C: interrupt, else clear, else, pressed twice, exit; `leaving` is the exit code if nothing was
        interrupted.
        """
        now, editor = time.monotonic(), self._console.editor
        twice, self._pressed_at = now - self._pressed_at < TWICE, now
        self._interrupted = self._repl.working or (twice and self._interrupted)
        if twice and not editor.draft.text:
            self._console.leave(INTERRUPTED if self._interrupted else leaving)
        elif self._repl.working:
            self._repl.interrupt()
        elif editor.draft.text:
            self._draft_actions.remember(editor.take())
        else:
            self._console.notice("Press Ctrl-C again to exit.", TWICE)


SEARCHED = 1_000
"""Characters of an earlier prompt that are searched and shown."""


class DraftActions:
    """Operations on the draft other than editing: restore, search of earlier prompts, external editor, images.

    `folder` stores prompts, drafts and images; without it they last as long as the process.
    """

    def __init__(self, console: Console, folder: Path | None) -> None:
        self._console, self._editor, self._folder = console, console.editor, folder
        self.memory = Memory(folder)

    def restore(self) -> None:
        """Restore the draft and queue that a crash left to their session, and texts of other sessions to the history."""
        own, others, queue = self.memory.lost(self._console.session.journal.id)
        if own and not self._editor.draft.text:
            self._console.draft(own)
            self._console.notice("Restored what you were typing when the session ended unexpectedly.")
        elif own:
            self.remember(own)
        if others or (own and self._editor.draft.text != own):
            self._console.notice("Text typed in a session that ended unexpectedly: press ↑.")
        if queue:
            console = self._console
            console.screen.change(replace(console.state, queue=(*console.state.queue, *queue)))
            console.notice(
                f"Restored {plural(len(queue), 'queued message')}: Enter sends, ↑ takes the last one back, /tasks queue lists."
            )
        self._editor.remember(self.memory.texts)

    def remember(self, text: str) -> None:
        """Add a prompt of this session to the earlier prompts."""
        self.memory.remember(text, self._console.session.cwd)

    def keep(self) -> None:
        """Save the draft and the queue to disk."""
        session = self._console.session
        text, queue = self._editor.pastes.unfold(self._editor.draft.text), [one.text for one in self._console.waiting]
        self.memory.keep(text, session.journal.id, session.cwd, queue)

    def leave(self) -> None:
        """Move an unsent draft to the history and delete its file."""
        if self._editor.draft.text.strip():
            self.remember(self._editor.take())
        self.memory.close()

    async def search(self) -> None:
        """Pick an earlier prompt of any session or project, newest first."""
        seen = self.memory.newest_first
        here = str(self._console.session.cwd)
        choices = [
            Choice(one.text[:SEARCHED].replace("\n", " ⏎ "), about="" if one.folder == here else one.folder)
            for one in seen
        ]
        chosen = await self._console.pick("Earlier prompts", choices)
        if chosen is not None:
            self._console.draft(seen[chosen].text)

    async def edit(self) -> None:
        """Edit the draft in the user's editor."""
        self._console.draft(await self._console.compose(self._editor.pastes.unfold(self._editor.draft.text)))

    async def attach(self) -> None:
        """Attach the picture on the clipboard."""
        if self._folder is None:
            return
        try:
            self._editor.attach(await clipboard.save_picture(self._folder / PASTED))
        except AgentError as error:
            self._console.notice(str(error))
