"""What the keys do that edit nothing: change the mode, open an output, fold thoughts, send a command away."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import INTERRUPTED, AgentError
from agentcli.ui.breaking import Breaking
from agentcli.ui.console import Console
from agentcli.ui.drafting import Drafting
from agentcli.ui.handler import Act
from agentcli.ui.keys import help_rows
from agentcli.ui.repl import Repl
from agentcli.ui.scroll import called

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
        now = self._console.desk.mode
        after = CYCLE[(CYCLE.index(now) + 1) % len(CYCLE)] if now in CYCLE else CYCLE[0]
        self._console.tell(self._console.desk.switch(mode=after))

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
            result = replace(result, output=console.desk.journal.output(result.output_file) or result.output)
        console.show("", *called(replace(one, result=result), console.columns, console.look, whole=True))

    def _fold_thinking(self) -> None:
        console, look = self._console, self._console.look
        console.look = replace(look, thinking=not look.thinking)
        if (last := console.state.considered) and not look.thinking:
            console.screen.print(last)
        console.notice(f"Thinking is {'folded' if look.thinking else 'shown'} from now on.")

    def _send_to_background(self) -> None:
        if not self._console.desk.background():
            self._console.notice("No command runs that could go to the background.")
