"""Slash commands below the terminal: their definition, the context that they run in, and the outputs that every front end shows.

Help comes from a function's docstring; names, completions, where and when a command runs come from its decorator.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError, UsageError
from agentcli.core.sanitise import safe_line

if TYPE_CHECKING:
    from agentcli.agent.ports import Interruptible
    from agentcli.agent.session import AgentSession
    from agentcli.core.event import Event
    from agentcli.core.message import Part
    from agentcli.program.host import Host, Reports

Group = Literal["Sessions", "Work", "Context", "Model and permissions", "Cost and state", "Terminal", "Extensions"]
"""Groups of commands, in the order of /help."""


@dataclass(frozen=True, slots=True)
class Item:
    """One completion: `label` is inserted as it is; `name` and `detail` are displayed, both sanitised. Enter sends one that `runs`."""

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
class Choice:
    """One choice of a dialog; any of the characters in `keys`, and the key named `shortcut`, chooses it at once.

    `about` is shown below a searched list while the cursor is on the choice. The texts are sanitised: names of sessions, models and
    rules come from outside.
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


class Terminal(Protocol):
    """Port to the terminal for commands that ask a person there."""

    @property
    def host(self) -> Host: ...
    @property
    def session(self) -> AgentSession: ...
    @property
    def acts(self) -> Sequence[str]:
        """Automatic actions of the terminal in this session."""
        ...

    def say(self, *lines: str) -> None:
        """Print lines of text, sanitised and wrapped."""
        ...

    async def pick(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Let the person pick from a searchable list that starts on the item `start`, and return the index; None if cancelled."""
        ...

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """Ask a yes-or-no question; no is the default."""
        ...

    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        """Ask for one line, `text` to begin with; None if cancelled."""
        ...

    async def move_to(self, session: AgentSession) -> None:
        """Switch to another session and end the open one."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """Context of a command in any front end: the open session, the program's reports, and the terminal if there is one."""

    session: AgentSession
    host: Reports
    terminal: Terminal | None = None

    def only_in_terminal(self, usage: str) -> Terminal:
        """Return the terminal. Raises InputError, naming the usage that needs it, in other front ends."""
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
    """Markdown that a terminal sets off from the conversation: under a title, with notes after it and a line at its end."""

    title: str = ""
    body: str = ""
    notes: Sequence[str] = ()
    foot: str = ""


@dataclass(frozen=True, slots=True)
class Acted:
    """Events of a finished action. `done` is its message at a terminal, given the tokens now in the context."""

    events: Sequence[Event]
    done: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """Long work that can be interrupted; `doing` names it."""

    doing: str
    run: Interruptible


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt for the model, always the last output of a command; the parts in `along` are sent with it and not shown."""

    text: str
    along: tuple[Part, ...] = ()


Output = Said | Acted | Work | Sent


Yields = Callable[[Context, str], AsyncIterator[Output]]
Arguments = Callable[[Terminal], Sequence[Item]]


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. The first line of `help` is `Summary: /name [ARGUMENT]`."""

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


def command(
    group: Group,
    *,
    at_once: bool | tuple[str, ...] = False,
    arguments: Arguments | None = None,
    aliases: Sequence[str] = (),
    values: Sequence[str] | None = None,
) -> Callable[[Yields], Command]:
    """Make a slash command of a function whose docstring is its help, and which yields outputs, so that it works in every front end.

    `values` are its possible arguments, if they are few.
    """

    def decorate(function: Yields) -> Command:
        taken = None if values is None else tuple(values)
        return Command(help_of(function), group, at_once, arguments, tuple(aliases), taken, function)

    return decorate


def help_of(function: Callable[..., object]) -> str:
    """Return the help of a command, from its function's docstring."""
    return inspect.cleandoc(function.__doc__ or "")
