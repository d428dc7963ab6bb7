"""Terminal device of the REPL: painter, editor, size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.frontends.terminal.input.editor import Editor
from agentcli.frontends.terminal.input.keys import bind
from agentcli.frontends.terminal.paint import Painter, to_terminal
from agentcli.frontends.terminal.render.frame import Size, terminal_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcli.frontends.terminal.early import EarlyTerminal
    from agentcli.frontends.terminal.input.handler import InputHandler


DRAIN = 0.1
"""Seconds to wait for the terminal's last answers, before another program reads its input."""


class Device:
    """Painter and editor of one terminal. Keys go to `handler` until another is set as `editor.handler`."""

    def __init__(self, early: EarlyTerminal, handler: InputHandler) -> None:
        self.early = early
        self.painter = Painter(to_terminal(early.screen))
        self.editor = Editor(handler)
        bind(self.editor)

    @property
    def size(self) -> Size:
        """Current size of the terminal; 80 by 24 if unknown."""
        return terminal_size(self.early.screen)

    @property
    def keys_wait(self) -> bool:
        """True if keys wait: they are processed before pending output."""
        return self.editor.keyboard.waiting

    def check_paints(self, answered: Callable[[int], None]) -> Callable[[], None]:
        """Query the terminal's width with each paint; `answered` gets the answers.

        Return the reader of those still to come.
        """
        log, keyboard = self.painter.check(), self.editor.keyboard
        keyboard.on_width = answered
        return lambda: keyboard.await_widths(lambda: log.outstanding, DRAIN)

    def arrive(self) -> None:
        """Take over the early terminal's screen and keys."""
        self.painter.assume(self.early.lines, (1, len(self.early.lines[1])))
        self.editor.type_ahead(self.early.hand_over())
