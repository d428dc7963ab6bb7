"""A slash command in a list: its name, group, help, and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line

Group = Literal["Sessions", "Work", "Context", "Model and permissions", "Cost and state", "Terminal", "Extensions"]
"""Groups of commands, in the order of /help."""


@dataclass(frozen=True, slots=True)
class Item:
    """One completion: `label` is inserted unchanged; `name` and `detail` are displayed; all are sanitised.

    Enter sends it if it `runs`.
    """

    label: str
    detail: str = ""
    runs: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", safe_line(self.detail))

    @property
    def name(self) -> str:
        """The label for a terminal."""
        return safe_line(self.label)


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. The first line of `help` is `Summary: /name [ARGUMENT]`."""

    help: str
    group: Group
    at_once: bool | tuple[str, ...] = False
    """True if it changes nothing under a running turn and does not wait for its end.

    A tuple limits this to these arguments.
    """
    arguments: Callable[..., Sequence[Item]] | None = None
    """Return completions of the argument, given the terminal."""
    aliases: tuple[str, ...] = ()
    """Names of the same command in other programs."""
    values: tuple[str, ...] | None = None
    """The arguments that it takes; None if any will do."""
    former: str = ""
    """Its own name if it is a part of another command, such as `cost` of `/usage turn`. Lists leave it out."""
    tab: str = ""
    """What it shows itself, if it shows its parts beside it as tabs."""

    @property
    def name(self) -> str:
        """The name after the slash."""
        return self.former or self.now

    @property
    def now(self) -> str:
        """The name that help shows, two words for a part: `usage turn`."""
        words = self.usage.removeprefix("/").split(" ")
        return " ".join(
            words[:2] if self.former and words[1:] and words[1].isalpha() and words[1].islower() else words[:1]
        )

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
        """The help as paragraphs of one line each, for wrapping to any width."""
        return [" ".join(paragraph.split()) for paragraph in self.help.split("\n\n")]

    @property
    def takes_argument(self) -> bool:
        """True if an argument may follow the name."""
        return self.usage != f"/{self.now}"

    @property
    def takes_text(self) -> bool:
        """True if the argument may be any text, including several lines."""
        return self.takes_argument and self.values is None

    def takes(self, argument: str) -> bool:
        """Return whether the command can be called with this argument."""
        return not argument or (self.takes_argument and (self.values is None or argument in self.values))

    def acts_at_once(self, argument: str) -> bool:
        """Return True if it runs with this argument without waiting for the end of a turn."""
        return self.at_once if isinstance(self.at_once, bool) else argument in self.at_once

    def check(self, argument: str, typed: str) -> None:
        """Raise UsageError for an argument that it does not take; `typed` is the name used to call it."""
        if self.takes(argument):
            return
        if not self.takes_argument:
            raise UsageError(f"/{typed} takes no argument. See /help {self.name}.")
        raise UsageError(f"Use {', or '.join(f'/{self.now} {value}'.strip() for value in self.values or ())}.")

    @property
    def _first(self) -> tuple[str, str]:
        summary, _, usage = self.help.split("\n")[0].partition(": /")
        return summary, usage


def help_of(function: Callable[..., object]) -> str:
    """Return the help of a command, from its function's docstring."""
    return inspect.cleandoc(function.__doc__ or "")
