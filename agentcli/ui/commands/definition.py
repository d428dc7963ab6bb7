"""Definition of a slash command: function, help from its docstring, aliases, argument completions, when it runs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.render.frame import Item

Run = Callable[[CommandContext, str], Awaitable[None]]
Arguments = Callable[[CommandContext], Sequence[Item]]


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. The first line of `help` is `Summary: /name [ARGUMENT]`."""

    run: Run
    help: str
    at_once: bool = False
    """It changes nothing under a running turn and does not wait for its end."""
    arguments: Arguments | None = None
    """Completions for what comes after the name."""
    aliases: tuple[str, ...] = ()
    """Names of the same command in other programs."""

    @property
    def name(self) -> str:
        """The name after the slash."""
        return self.usage.split()[0].removeprefix("/")

    @property
    def summary(self) -> str:
        """Its help in one line."""
        return self._first[0]

    @property
    def usage(self) -> str:
        """Usage line: `/name [ARGUMENT]`."""
        return "/" + self._first[1]

    @property
    def paragraphs(self) -> list[str]:
        """The help as paragraphs of one line each, to be wrapped to any width."""
        return [" ".join(paragraph.split()) for paragraph in self.help.split("\n\n")]

    @property
    def takes_argument(self) -> bool:
        """True if an argument may follow the name."""
        return " " in self.usage

    @property
    def _first(self) -> tuple[str, str]:
        summary, _, usage = self.help.split("\n")[0].partition(": /")
        return summary, usage


def command(
    *, at_once: bool = False, arguments: Arguments | None = None, aliases: Sequence[str] = ()
) -> Callable[[Run], Command]:
    """Make a slash command of a function whose docstring is its help."""

    def decorate(run: Run) -> Command:
        return Command(run, inspect.cleandoc(run.__doc__ or ""), at_once, arguments, tuple(aliases))

    return decorate
