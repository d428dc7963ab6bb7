"""The terminal of the REPL: the painter of its screen, the editor of its keys, and its size."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentcli.ui.input.editor import Editor
from agentcli.ui.render.frame import Size
from agentcli.ui.terminal.paint import Painter, to_terminal

if TYPE_CHECKING:
    from agentcli.ui.input.handler import InputHandler
    from agentcli.ui.terminal.early import EarlyTerminal


class Device:
    """Painter and editor of one terminal. The keys go to `handler` until another is set as `editor.handler`."""

    def __init__(self, early: EarlyTerminal, handler: InputHandler) -> None:
        self.early = early
        self.painter = Painter(to_terminal(early.screen))
        self.editor = Editor(handler)

    @property
    def size(self) -> Size:
        """The terminal's size now; 80 by 24 where it does not tell."""
        try:
            found = os.get_terminal_size(self.early.screen)
        except OSError:
            return Size(80, 24)
        return Size(found.columns or 80, found.lines or 24)

    def arrive(self) -> None:
        """Take over what stands on the screen, and the keys that were pressed so far."""
        self.painter.assume(self.early.lines, (1, len(self.early.lines[1])))
        self.editor.type_ahead(self.early.hand_over())
