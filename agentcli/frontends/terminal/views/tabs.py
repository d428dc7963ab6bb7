"""Reports as tabs above the input. The one that is shown is printed once they close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.core.errors import AgentError
from agentcli.core.streams import closing
from agentcli.core.tasks import run_beside
from agentcli.frontends.commands.outputs import rows_of
from agentcli.frontends.terminal.render.frame import Panel
from agentcli.frontends.terminal.render.pieces import Printed
from agentcli.program.commands import Said

if TYPE_CHECKING:
    from agentcli.frontends.commands.base import CommandContext
    from agentcli.frontends.terminal.screen import Screen
    from agentcli.program.commands import Output, OutputCommand

PAGE = 10
"""Rows by which Page Up and Page Down scroll."""


class Tabs:
    """The open reports of a screen, if any."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._commands: Sequence[OutputCommand] = ()
        self._said: tuple[Output, ...] = ()
        self._context: CommandContext | None = None

    @property
    def open(self) -> bool:
        """True while they are shown."""
        return self._screen.state.panel is not None

    async def show(self, context: CommandContext, commands: Sequence[OutputCommand], at: int) -> None:
        """Show the report of each command as a tab, first the one at `at`."""
        self.close()
        self._context, self._commands, self._said = context, commands, ()
        labels = tuple(one.tab or one.now.split()[1] for one in commands)
        self._change(Panel(commands[at].now.split()[0].capitalize(), labels, at))
        await self._load()

    def press(self, key: str) -> None:
        """Switch, scroll or close."""
        panel = self._screen.state.panel
        if panel is None:
            return
        steps = {"left": -1, "s-tab": -1, "right": 1, "tab": 1}
        scrolls = {"up": -1, "down": 1, "pageup": -PAGE, "pagedown": PAGE}
        if key in steps:
            at = (panel.at + steps[key]) % len(panel.labels)
            self._said = ()
            self._change(replace(panel, at=at, rows=(), top=0))
            run_beside(self._load())
        elif key in scrolls:
            most = len(panel.rows) - self._screen.size.panel
            self._change(replace(panel, top=max(0, min(panel.top + scrolls[key], most))))
        else:
            self.close()

    def close(self) -> None:
        """Print the report that is shown, and close the tabs."""
        panel = self._screen.state.panel
        if panel is not None:
            self._change(None)
            if panel.rows:
                self._screen.print(Printed(panel.rows))
                self._screen.tick()  # otherwise one frame would have neither

    def resized(self) -> None:
        """Lay the report out for the new size."""
        panel = self._screen.state.panel
        if panel is not None:
            self._change(replace(panel, rows=self._rows(), top=0))

    async def _load(self) -> None:
        """Read the report of the open tab, unless another one was opened meanwhile."""
        panel, context = self._screen.state.panel, self._context
        if panel is None or context is None:
            return
        said: list[Output] = []
        try:
            async with closing(self._commands[panel.at].yields(context.everywhere, "")) as outputs:
                async for output in outputs:
                    said.append(output)
        except AgentError as error:
            said.append(Said([str(error)]))
        now = self._screen.state.panel
        if now is not None and now.at == panel.at:
            self._said = tuple(said)
            self._change(replace(now, rows=self._rows()))

    def _rows(self) -> tuple[str, ...]:
        columns = self._screen.size.columns
        return tuple(
            row for one in self._said if isinstance(one, Said) for row in rows_of(one, columns - 2, self._screen.look)
        )

    def _change(self, panel: Panel | None) -> None:
        self._screen.change(replace(self._screen.state, panel=panel))
