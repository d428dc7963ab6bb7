"""Editor: prompt_toolkit reads and edits; painting is left to the input handler."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Literal, TextIO

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100 import raw_mode
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.layout import BufferControl, HSplit, Layout, Window
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.renderer import Renderer
from wcwidth import grapheme_boundary_before, iter_graphemes

from agentcli.core.tasks import log_failure
from agentcli.frontends.terminal.input.attachments import Pastes
from agentcli.frontends.terminal.input.completion import Menu
from agentcli.frontends.terminal.input.handler import InputHandler
from agentcli.frontends.terminal.input.keyboard import Keyboard
from agentcli.frontends.terminal.render.frame import Edit

if TYPE_CHECKING:
    from prompt_toolkit.layout.layout import Layout as AnyLayout


FLUSH = 0.05
"""Seconds that a lone Esc waits for the rest of a sequence."""
AGAIN = 0.02
"""Seconds after which more completions are looked for."""

LONG = 20_000
"""Characters of a draft beyond which each key would take too long."""


class Editor:
    """The draft, a dialog's line, and the completion menu.

    `typed_at` is when the draft last grew (monotonic seconds).
    """

    def __init__(self, handler: InputHandler, stdin: TextIO = sys.stdin) -> None:
        self.handler = handler
        self.pastes = Pastes()
        self.menu, self.chosen = Menu(), -1
        self.typed_at = float("-inf")
        self.failure: BaseException | None = None
        """The unexpected error that ended `run`."""
        self.draft: Buffer = ClusterBuffer(multiline=True, on_text_changed=self._draft_changed)
        self.line: Buffer = ClusterBuffer(multiline=False, on_text_changed=self._line_changed)
        self.keyboard = Keyboard(stdin)
        self.application: Application[int] = Application(
            layout=Layout(HSplit([Window(BufferControl(self.draft)), Window(BufferControl(self.line))])),
            input=self.keyboard,
            output=DummyOutput(),
            terminal_size_polling_interval=None,
            max_render_postpone_time=None,
        )
        self.application.ttimeoutlen = self.application.timeoutlen = FLUSH
        self.application.renderer = _Painted(self.application, self)
        self.keyboard.processed = self._echo

    @property
    def edit(self) -> Edit:
        """Snapshot of the focused buffer and its menu."""
        if self.handler.asking:
            return Edit(self.line.text, self.line.cursor_position)
        mark = ": " if self._commanding else "! " if self.draft.text.startswith("!") else ""
        return Edit(self.draft.text, self.draft.cursor_position, self.menu.items, self.chosen, mark, self.menu.cut)

    def type_ahead(self, data: bytes) -> None:
        """Process keys received before the editor started."""
        store_typeahead(self.keyboard, [*self.keyboard.keys_of(data), *self.keyboard.flush_keys()])

    async def run(self) -> int:
        """Read keys until `leave`."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self.suspend)
        loop.add_signal_handler(signal.SIGCONT, self._continue)
        loop.set_exception_handler(self._callback_failed)
        try:
            return await self.application.run_async(set_exception_handler=False)
        finally:
            loop.set_exception_handler(None)
            loop.remove_signal_handler(signal.SIGTSTP)
            loop.remove_signal_handler(signal.SIGCONT)

    def suspend(self) -> None:
        """Suspend the process until the shell resumes it; do nothing without job control."""
        loop = asyncio.get_running_loop()

        def stop() -> None:
            self.handler.go_away()
            loop.remove_signal_handler(signal.SIGTSTP)
            loop.remove_signal_handler(signal.SIGCONT)
            os.kill(0, signal.SIGTSTP)  # the whole process group, so that the other programs of a pipe stop as well
            loop.add_signal_handler(signal.SIGTSTP, self.suspend)
            loop.add_signal_handler(signal.SIGCONT, self._continue)

        if self.application.is_running:
            run_in_terminal(stop)

    def _continue(self) -> None:
        """Set the terminal's modes again after SIGSTOP, which no program can notice before: the shell has set its own."""
        terminal = self.keyboard.fileno()
        with contextlib.suppress(OSError, termios.error):
            if self.application.is_running and os.tcgetpgrp(terminal) == os.getpgrp():
                with contextlib.ExitStack() as modes:
                    modes.enter_context(raw_mode(terminal))
                    modes.pop_all()  # they stay: the editor's own context restores the previous state
                self.handler.come_back()
                self.handler.resize()

    def remember(self, past: Sequence[str]) -> None:
        """Set the history of the Up key, oldest first; very long prompts are found only by search."""
        text, cursor = self.draft.text, self.draft.cursor_position
        self.draft.history = InMemoryHistory([one for one in past if len(one) <= LONG])
        self._reset(Document(text, cursor))

    @property
    def vi(self) -> bool:
        """True if vi key bindings are on."""
        return self.application.editing_mode == EditingMode.VI

    @property
    def _commanding(self) -> bool:
        """True in vi's navigation mode, which has its own prompt mark."""
        return self.vi and self.application.vi_state.input_mode == InputMode.NAVIGATION

    def edit_like(self, mode: Literal["emacs", "vi"]) -> None:
        """Set the editing mode."""
        self.application.editing_mode = EditingMode.VI if mode == "vi" else EditingMode.EMACS

    def leave(self, code: int) -> None:
        """End `run`."""
        if self.application.is_running and not self.application.is_done:
            self.application.exit(result=code)

    def fail(self, error: BaseException) -> None:
        """End `run` with an unexpected error: a screen that nothing paints any more would look alive."""
        if self.failure is None:
            self.failure = error
        if self.application.is_running and not self.application.is_done:
            self.application.exit(exception=error)
        elif error is not self.failure:
            log_failure(error)

    def _callback_failed(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        """Fail with an exception from an event loop callback, such as a key handler.

        A library's error is only logged.
        """
        error = context.get("exception")
        if "handle" in context and isinstance(error, Exception) and _passes_through_us(error):
            self.fail(error)
        else:
            loop.default_exception_handler(dict(context))

    def repaint(self) -> None:
        """Schedule a repaint."""
        self.application.invalidate()

    def focus(self, dialog: bool, text: str = "") -> None:
        """Focus the dialog's line, or the draft, which is unchanged."""
        self.menu, self.chosen = Menu(), -1
        if dialog:
            self.line.text = text
            self.line.cursor_position = len(text)
        self.application.layout.focus(self.line if dialog else self.draft)

    def take(self) -> str:
        """Return the draft with its pastes unfolded, add it to the history and clear the buffer."""
        text = self.draft.text
        self.draft.append_to_history()
        self._reset()
        self._draft_changed(self.draft)
        return self.pastes.unfold(text)

    def put(self, text: str) -> None:
        """Replace the draft; a very long text is folded like a paste."""
        text = self.pastes.with_labels(self.pastes.fold(text) if len(text) > LONG else text)
        self.draft.text = text
        self.draft.cursor_position = len(text)

    def attach(self, picture: Path) -> None:
        """Insert a picture's label into the draft."""
        before = self.draft.document.text_before_cursor
        gap = " " if before and not before[-1].isspace() else ""
        self.draft.insert_text(f"{gap}{self.pastes.picture(picture)} ")
        self.repaint()

    def move(self, step: int) -> None:
        """Choose another menu item."""
        self.chosen = (
            (self.chosen + step) % len(self.menu.items) if self.chosen >= 0 or step > 0 else len(self.menu.items) - 1
        )

    def page(self, step: int) -> None:
        """Choose a menu item some rows further, at most the last one."""
        self.chosen = min(max(self.chosen + step, 0), len(self.menu.items) - 1)

    def accept(self, sends: bool = False) -> bool:
        """Insert the chosen menu item, or the first; an explanation inserts nothing.

        Return True if it is ready to be sent and `sends`.
        """
        item = self.menu.items[max(self.chosen, 0)]
        if not item.label:
            return False
        sends = sends and item.runs
        self.draft.delete_before_cursor(self.menu.length)
        ends = "" if sends or item.label.endswith(("/", ":")) else " "
        self.draft.insert_text(item.label + ends)
        return sends

    def close_menu(self) -> None:
        """Close the menu until the next edit."""
        self.menu, self.chosen = Menu(), -1

    def _echo(self) -> None:
        """Paint at once: the application would first let other work run, such as an arriving reply."""
        if self.application.is_running and not self.application.is_done:
            self.handler.paint()

    def _reset(self, document: Document | None = None) -> None:
        self.draft.reset(document)
        # Drawing a control would load the history for Up; nothing is drawn here.
        if self.application.is_running:
            self.draft.load_history_if_not_yet_loaded()

    def _line_changed(self, _: Buffer) -> None:
        self.handler.line_changed()

    def _draft_changed(self, draft: Buffer) -> None:
        if draft.text:
            self.typed_at = time.monotonic()
        self._complete()

    def _complete(self) -> None:
        self.menu = self.handler.complete(self.draft.document.text_before_cursor)
        self.chosen = 0 if self.menu.first and self.menu.items else -1
        if self.menu.more:
            asyncio.get_running_loop().call_later(AGAIN, self._look_again, self.menu)

    def _look_again(self, menu: Menu) -> None:
        """Retry an unfinished completion; the chosen item stays chosen."""
        if self.menu is not menu or self.handler.asking:
            return
        chosen = menu.items[self.chosen] if self.chosen > 0 else None
        self._complete()
        if chosen in self.menu.items:
            self.chosen = self.menu.items.index(chosen)
        self.repaint()


def _passes_through_us(error: Exception) -> bool:
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    return any(frame.f_globals.get("__name__", "").startswith("agentcli.") for frame in frames)


class _Painted(Renderer):
    """Renderer that forwards prompt_toolkit's painting to the input handler; suspend and resize work unchanged."""

    def __init__(self, application: Application[int], editor: Editor) -> None:
        self._editor: Editor | None = None  # the base class resets itself before there is anything to reset
        super().__init__(application._merged_style, application.output)
        self._editor = editor

    def render(self, app: Application[Any], layout: AnyLayout, is_done: bool = False) -> None:
        if not is_done and self._editor is not None:
            self._editor.handler.paint()

    def erase(self, leave_alternate_screen: bool = True) -> None:
        if self._editor is None:
            return
        if leave_alternate_screen:
            self._editor.handler.erase()
        else:  # called this way only for a change of the terminal's size
            self._editor.handler.resize()

    def reset(self, _scroll: bool = False, leave_alternate_screen: bool = True) -> None:
        super().reset(_scroll, leave_alternate_screen)
        if self._editor is not None:
            self._editor.handler.come_back()

    def request_absolute_cursor_position(self) -> None:
        """Do nothing: painting does not depend on the cursor's position."""


_LONGEST = 64
"""Characters that are searched for the end of a cluster."""


class ClusterBuffer(Buffer):
    """A buffer whose cursor is never within a cluster (UAX 29)."""

    @property
    def cursor_position(self) -> int:
        """The place of the cursor, in characters."""
        return super().cursor_position

    @cursor_position.setter
    def cursor_position(self, value: int) -> None:
        before = super().cursor_position
        value = max(0, min(value, len(self.text)))
        start, end = cluster(self.text, value)
        if start < value < end:
            value = start if value < before else end
        vars(Buffer)["cursor_position"].__set__(self, value)

    def delete_before_cursor(self, count: int = 1) -> str:
        """Delete the cluster before the cursor, or `count` characters if more than one is given."""
        if count == 1 and (place := self.cursor_position):
            count = place - cluster(self.text, place - 1)[0]
        return super().delete_before_cursor(count)

    def delete(self, count: int = 1) -> str:
        """Delete the cluster after the cursor, or `count` characters if more than one is given."""
        if count == 1:
            count = max(1, cluster(self.text, self.cursor_position)[1] - self.cursor_position)
        return super().delete(count)


def cluster(text: str, place: int) -> tuple[int, int]:
    """Return the start of the cluster that contains the character at `place`, and the position after it."""
    if place >= len(text) or text[max(0, place - 1) : place + 2].isascii():
        return place, place + 1

    start = grapheme_boundary_before(text, place + 1)
    return start, start + len(next(iter(iter_graphemes(text[start : start + _LONGEST])), " "))
