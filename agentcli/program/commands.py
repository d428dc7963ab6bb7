"""Slash commands below the terminal: their context, and the outputs that every front end shows.

Help comes from a function's docstring; names, completions, and where and when a command runs come from its decorator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.sanitise import safe_line
from agentcli.program.command import Command as Command
from agentcli.program.command import Group, help_of
from agentcli.program.command import Item as Item

if TYPE_CHECKING:
    from agentcli.agent.ports import Interruptible
    from agentcli.agent.session import AgentSession
    from agentcli.core.event import Event
    from agentcli.core.message import Part
    from agentcli.program.program import Program


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a dialog; any character in `keys`, and the key `shortcut`, chooses it at once.

    `about` is shown below a searched list while the cursor is on the choice. The texts are sanitised: names of
    sessions, models and rules are external.
    """

    label: str
    detail: str = ""
    keys: str = ""
    shortcut: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", safe_line(self.label))
        object.__setattr__(self, "detail", safe_line(self.detail))
        object.__setattr__(self, "about", safe_line(self.about))


class Terminal(ABC):
    """A terminal, as commands of every front end use it if there is one."""

    @abstractmethod
    def say(self, *lines: str) -> None:
        """Print lines of text, sanitised and wrapped."""

    @abstractmethod
    async def pick(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Let the person pick from a searchable list, and return the index; None if cancelled.

        The list starts on the item `start`.
        """

    @abstractmethod
    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """Ask a yes-or-no question; no is the default."""

    @abstractmethod
    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        """Ask for one line, beginning with `text`; None if cancelled."""

    @abstractmethod
    async def move_to(self, session: AgentSession) -> None:
        """Switch to another session and end the open one; the same session reopened is not ended."""


@dataclass(frozen=True, slots=True)
class Context:
    """Context of a command in any front end."""

    session: AgentSession
    """The open session."""
    program: Program
    """The program around it."""
    terminal: Terminal | None = None
    """The terminal, if there is one."""
    acts: Sequence[str] = ()
    """Automatic actions of the terminal in this session."""

    def only_in_terminal(self, usage: str) -> Terminal:
        """Return the terminal. Raises InputError, mentioning the usage that needs it, in other front ends."""
        if self.terminal is None:
            raise InputError(f"{usage} works only in the terminal.")
        return self.terminal


@dataclass(frozen=True, slots=True)
class Said:
    """Lines of an answer. `markdown`: they are Markdown, no report."""

    lines: Sequence[str]
    markdown: bool = False


@dataclass(frozen=True, slots=True)
class Framed(Said):
    """A text that a terminal sets off from the conversation."""

    title: str = ""
    """A title above it."""
    body: str = ""
    notes: Sequence[str] = ()
    """Notes after it."""
    foot: str = ""
    """A line at its end."""


@dataclass(frozen=True, slots=True)
class Acted:
    """Events of a finished action. `done` is its message at a terminal, given the tokens now in the context."""

    events: Sequence[Event]
    done: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """Long work that can be interrupted; `doing` is its name."""

    doing: str
    run: Interruptible


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt for the model, always the last output of a command."""

    text: str
    along: tuple[Part, ...] = ()
    """Parts that are sent with it but not shown."""


Output = Said | Acted | Work | Sent


Yields = Callable[[Context, str], AsyncIterator[Output]]
Arguments = Callable[[Context], Sequence[Item]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCommand(Command):
    """A slash command that yields outputs, so that it works in every front end."""

    yields: Yields


def command(
    group: Group,
    *,
    at_once: bool | tuple[str, ...] = False,
    arguments: Arguments | None = None,
    aliases: Sequence[str] = (),
    values: Sequence[str] | None = None,
    former: str = "",
    tab: str = "",
) -> Callable[[Yields], OutputCommand]:
    """Make a slash command of a function that yields outputs, so that it works in every front end.

    The function's docstring is the help. `values` are its possible arguments, if they are few.
    """

    def decorate(function: Yields) -> OutputCommand:
        taken = None if values is None else tuple(values)
        return OutputCommand(
            help_of(function), group, at_once, arguments, tuple(aliases), taken, former, tab, yields=function
        )

    return decorate
