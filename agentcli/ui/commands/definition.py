"""Definition of a slash command: function, help from its docstring, aliases, argument completions, where and when it runs."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Literal, overload

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.outputs import Context, Output, show
from agentcli.ui.render.frame import Item

Group = Literal["Sessions", "Work", "Context", "Model and permissions", "Cost and state", "Terminal", "Extensions"]
"""Groups of commands, in the order of /help."""
Run = Callable[[CommandContext, str], Awaitable[None]]
Yields = Callable[[Context, str], AsyncIterator[Output]]
Arguments = Callable[[CommandContext], Sequence[Item]]


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. The first line of `help` is `Summary: /name [ARGUMENT]`."""

    run: Run
    help: str
    group: Group
    at_once: bool | tuple[str, ...] = False
    """It changes nothing under a running turn and does not wait for its end; or only with these arguments."""
    arguments: Arguments | None = None
    """Completions of the argument."""
    aliases: tuple[str, ...] = ()
    """Names of the same command in other programs."""
    values: tuple[str, ...] | None = None
    """The arguments that it takes; None if any will do."""
    yields: Yields | None = None
    """Yields the command's output in every front end; None for a command of the terminal."""

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
    def takes_text(self) -> bool:
        """True if the argument may be any text, also of several lines."""
        return self.takes_argument and self.values is None

    def takes(self, argument: str) -> bool:
        """Return whether the command can be called with this argument."""
        return not argument or (self.takes_argument and (self.values is None or argument in self.values))

    def acts_at_once(self, argument: str) -> bool:
        """Return whether it runs with this argument without waiting for the end of a turn."""
        return self.at_once if isinstance(self.at_once, bool) else argument in self.at_once

    def check(self, argument: str, typed: str) -> None:
        """Raise UsageError for an argument that it does not take; `typed` is the name that it was called by."""
        if self.takes(argument):
            return
        if not self.takes_argument:
            raise UsageError(f"/{typed} takes no argument. See /help {self.name}.")
        raise UsageError(f"Use {', or '.join(f'/{self.name} {value}'.strip() for value in self.values or ())}.")

    @property
    def _first(self) -> tuple[str, str]:
        summary, _, usage = self.help.split("\n")[0].partition(": /")
        return summary, usage


@overload
def command(
    group: Group,
    *,
    where: Literal["terminal"] = "terminal",
    at_once: bool | tuple[str, ...] = False,
    arguments: Arguments | None = None,
    aliases: Sequence[str] = (),
    values: Sequence[str] | None = None,
) -> Callable[[Run], Command]: ...


@overload
def command(
    group: Group,
    *,
    where: Literal["everywhere"],
    at_once: bool | tuple[str, ...] = False,
    arguments: Arguments | None = None,
    aliases: Sequence[str] = (),
    values: Sequence[str] | None = None,
) -> Callable[[Yields], Command]: ...


def command(
    group: Group,
    *,
    where: Literal["terminal", "everywhere"] = "terminal",
    at_once: bool | tuple[str, ...] = False,
    arguments: Arguments | None = None,
    aliases: Sequence[str] = (),
    values: Sequence[str] | None = None,
) -> Callable[[Any], Command]:
    """Make a slash command of a function whose docstring is its help.

    A command `everywhere` works at terminals, with `-p` and in editors: its function yields outputs (`agentcli.ui.commands.outputs`), and
    each front end shows them. A command of the `terminal` calls the terminal directly. `values` are its possible arguments, if they are few.
    """

    def decorate(function: Any) -> Command:
        yields: Yields | None = function if where == "everywhere" else None
        run: Run = partial(_shown, yields) if yields is not None else function
        taken = None if values is None else tuple(values)
        text = inspect.cleandoc(function.__doc__ or "")
        return Command(run, text, group, at_once, arguments, tuple(aliases), taken, yields)

    return decorate


async def _shown(yields: Yields, terminal: CommandContext, argument: str) -> None:
    await show(yields(Context(terminal.session, terminal.host, terminal), argument), terminal)
