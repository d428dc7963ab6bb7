"""Public API of extensions: one Python file adds tools, slash commands and reactions to events.

`agentcli help extensions` explains it with examples. Names that are not listed in `__all__` may change at any time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from agentcli.core.costs import money
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, UsageError
from agentcli.core.text.words import one_of
from agentcli.tools.function_tool import Provided, tool

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "API",
    "EVENTS",
    "AgentError",
    "Answer",
    "Cause",
    "Changed",
    "Command",
    "Compaction",
    "Completed",
    "Context",
    "Decision",
    "Ended",
    "FileChanged",
    "Idle",
    "Prompt",
    "Reply",
    "Request",
    "Said",
    "SessionEnd",
    "SessionStart",
    "ToolCall",
    "ToolResult",
    "Turn",
    "TurnCost",
    "TurnEnd",
    "Ui",
    "around_turn",
    "command",
    "money",
    "on",
    "settings",
    "tool",
]

API = 1
"""Version of this module. A change that breaks an extension raises it."""
SECONDS = 5.0
"""Seconds that a handler may take by default."""
MARK = "__agentcli__"
"""Attribute of a function or class with its uses, as a tuple."""

EventName = Literal[
    "session_start",
    "session_end",
    "prompt",
    "before_request",
    "tool_call",
    "tool_result",
    "reply",
    "turn_end",
    "before_compact",
    "after_compact",
    "model_changed",
    "mode_changed",
    "idle",
    "file_changed",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """Return value of a handler that is more than a text; methods of the events make it."""

    kind: Literal["deny", "ask", "replace", "block", "add"]
    text: str = ""
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SessionStart:
    """Event `session_start`. A returned text goes to the model with the first prompt."""

    source: str
    """`startup`, `resume`, `fork`, `clear`, or `compact` after a compaction."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """Event `session_end`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Event `prompt`: a prompt of the person before it is sent. A returned text replaces it."""

    text: str

    def add(self, text: str) -> Decision:
        """Send a text for the model along with the prompt."""
        return Decision("add", text)

    def block(self, why: str) -> Decision:
        """Keep the prompt from being sent; the person sees the reason."""
        return Decision("block", why)


@dataclass(frozen=True, slots=True)
class Request:
    """Event `before_request`. A returned text is added to the newest user message."""

    model: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Event `tool_call`: a call of the model before rules and the person decide about it."""

    name: str
    input: Mapping[str, Any]
    paths: tuple[Path, ...] = ()
    """The files or the folder that a file tool names: absolute, links resolved. A shell command's are not among them."""
    edits: bool = False
    """True if a file tool changes these files."""

    def deny(self, why: str) -> Decision:
        """Refuse the call; the model sees the reason."""
        return Decision("deny", why)

    def ask(self, why: str) -> Decision:
        """Ask the person about the call, even if a rule allows it."""
        return Decision("ask", why)

    def replace(self, **input: Any) -> Decision:
        """Run the call with other values of these parameters."""
        return Decision("replace", input={**self.input, **input})


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Event `tool_result`. A returned text replaces the output that the model sees."""

    name: str
    input: Mapping[str, Any]
    status: str
    """`success`, `error`, `denied` or `interrupted`."""
    output: str

    def add(self, text: str) -> Decision:
        """Add a text to the output."""
        return Decision("add", text)


@dataclass(frozen=True, slots=True)
class Reply:
    """Event `reply`: a reply that ends the turn. With a returned text the turn continues."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Event `turn_end`: the turn is over. A returned text is the prompt of one more turn."""

    text: str
    ending: str
    """`done`, `interrupted`, `failed`, `limit`, `incomplete`, `refused` or `blocked`."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """Events `before_compact` and `after_compact`.

    Before, a returned text is the focus of the summary. After, a returned text goes to the model.
    """

    trigger: str
    """`manual`, `auto` or `overflow`."""
    focus: str = ""
    summary: str = ""

    def block(self, why: str) -> Decision:
        """Cancel the compaction, unless the window is full."""
        return Decision("block", why)


@dataclass(frozen=True, slots=True)
class Changed:
    """Events `model_changed` and `mode_changed`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Event `idle`: no turn runs."""

    seconds: float
    """Seconds since the last turn, or since the session was opened."""


@dataclass(frozen=True, slots=True)
class FileChanged:
    """Event `file_changed`: a file that the model has seen was changed outside of the session."""

    path: Path


EVENTS: Mapping[str, type] = {
    "session_start": SessionStart,
    "session_end": SessionEnd,
    "prompt": Prompt,
    "before_request": Request,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
    "reply": Reply,
    "turn_end": TurnEnd,
    "before_compact": Compaction,
    "after_compact": Compaction,
    "model_changed": Changed,
    "mode_changed": Changed,
    "idle": Idle,
    "file_changed": FileChanged,
}
"""Events by name, with the type of their value."""


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a turn. `ending` has the values of TurnEnd; `answered` is true if a model has replied."""

    text: str
    ending: str
    error: Exception | None = None
    answered: bool = True


class Turn(Protocol):
    """A turn that has not begun, for functions marked with `around_turn`."""

    def remind(self, text: str) -> None:
        """Add a text for the model to the prompt. Call it before `run`."""
        ...

    async def run(self) -> Ended:
        """Run the turn, and return its end."""
        ...

    async def go_on(self, text: str) -> Ended:
        """Continue with a text for the model, within the limits of the turn, and return the new end."""
        ...


@dataclass(frozen=True, slots=True)
class Completed:
    """A finished shell command. `exit_code` is None if it was refused or stopped; `output` is then the reason."""

    output: str
    exit_code: int | None = 0

    @property
    def ok(self) -> bool:
        """True if the exit code is 0."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the session. `tool` is the tool of a result or of a call, `input` the input of a call.

    `number` is that of its record.
    """

    role: Literal["user", "assistant", "call", "result"]
    text: str
    tool: str = ""
    input: Mapping[str, Any] | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a side question. `notes` say why it may be incomplete; `cost` is a text for people."""

    text: str
    notes: tuple[str, ...] = ()
    cost: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """A part of a turn's cost, in USD (None: no price is known), and its tokens.

    `lost` tokens were sent again because the cache was missed.
    """

    kind: str
    """`lost`, `large output`, `new`, `read`, `output`, `retries`, `summaries`, or the purpose of other requests."""
    text: str
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What a turn cost, in USD, and the causes that add up to it, the largest first. Without a price it is None."""

    cost: float | None
    tokens: int
    causes: tuple[Cause, ...]


class Ui(Protocol):
    """The person's screen. Without a person, questions have their default, or raise UsageError."""

    def notify(self, text: str) -> None:
        """Show a line."""
        ...

    def show(
        self, content: str | RenderableType, *, title: str = "", notes: Sequence[str] = (), foot: str = ""
    ) -> None:
        """Show Markdown, or a renderable of rich.

        With a title, it is set off from the conversation; `notes` and a last line `foot` follow it.
        """
        ...

    def status(self, text: str) -> None:
        """Show a text in the status line; an empty one removes it."""
        ...

    async def confirm(self, question: str, default: bool = False) -> bool:
        """Ask a yes-or-no question."""
        ...

    async def select(self, question: str, options: Sequence[str], default: str | None = None) -> str:
        """Ask for one of several answers."""
        ...

    async def input(self, question: str, default: str | None = None) -> str:
        """Ask for a text."""
        ...


class Context(Provided, Protocol):
    """The session, as an extension sees it. Parameters of this type are filled in."""

    ui: Ui
    state: MutableMapping[str, Any]
    """JSON values of this extension. They are recorded in the session after each call."""
    settings: Any
    """The table `[extensions.NAME]` of the user's config.toml, as the dataclass marked with `settings`; else a dict."""

    @property
    def cwd(self) -> Path:
        """The folder of the session."""
        ...

    @property
    def model(self) -> str:
        """The model in use, `provider/model`."""
        ...

    @property
    def mode(self) -> str:
        """The permission mode."""
        ...

    @property
    def attended(self) -> bool:
        """True if a person can answer questions."""
        ...

    @property
    def history(self) -> Sequence[Said]:
        """The messages of the session, oldest first."""
        ...

    @property
    def costs(self) -> Sequence[float]:
        """USD of each turn since the session was opened, oldest first."""
        ...

    def turn_cost(self) -> TurnCost | None:
        """Return the cost of the newest turn with its causes; None if it spent nothing."""
        ...

    async def run(self, command: str, timeout: float = 120.0) -> Completed:
        """Run a shell command with the usual rules, questions and sandbox; `timeout` is in seconds."""
        ...

    async def ask_model(self, prompt: str, model: str = "", system: str = "") -> str:
        """Return one answer of the small model, or of the named one. Its cost is counted.

        Raises AgentError if it fails, or if a budget forbids it.
        """
        ...

    async def ask_aside(self, question: str) -> Answer:
        """Ask the session's model about the conversation, without tools; neither becomes part of the session.

        The request begins like the session's next one, so that it is mostly cached. Its cost is counted. Raises AgentError if it fails,
        or if a hook or a budget forbids it.
        """
        ...

    def prompt(self, text: str) -> None:
        """Send a prompt to the model once no turn runs."""
        ...

    def pin(self, number: int) -> None:
        """Keep the message with this number word for word in compactions, also in one that is about to begin."""
        ...

    def log(self, text: str) -> None:
        """Write a line to the log."""
        ...


F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Handler:
    """Use of a function for an event. `every` is the interval of `idle` in seconds."""

    event: str
    seconds: float
    every: float = 60.0


@dataclass(frozen=True, slots=True)
class Command:
    """Use of a function as a slash command: its name without the slash. `at_once`: it may run during a turn."""

    name: str
    complete: Callable[[], Sequence[str]] | None = None
    at_once: bool = False


class Around:
    """Use of a function around the turns of a run."""


class Settings:
    """Use of a dataclass for the settings of an extension."""


def on(event: EventName, *, timeout: float = SECONDS, every: float = 60.0) -> Callable[[F], F]:
    """Call the function at an event, with the event's value and a Context, or fewer of them.

    `timeout` is the number of seconds that it may take, questions not counted. `every` is the interval of `idle` in
    seconds. Raise UsageError for an unknown event.
    """
    if event not in EVENTS:
        raise UsageError(f"There is no event {event!r}.{one_of(event, EVENTS)}")
    return lambda function: _marked(function, Handler(event, timeout, every))


def command(
    name: str, *, complete: Callable[[], Sequence[str]] | None = None, at_once: bool = False
) -> Callable[[F], F]:
    """Make the function a slash command, `/name`. Its docstring is the help, its parameters the arguments.

    `complete` returns completions of the argument. `at_once`: it runs during a turn, too, and does not wait for its end.
    Raise AgentError to refuse: the person sees its text.
    """
    return lambda function: _marked(function, Command(name.removeprefix("/"), complete, at_once))


def around_turn(function: F) -> F:
    """Call the async function around the last turn of `-p`, and around each turn of the Python API.

    It gets a Turn and a Context. It returns the end of the turn, or that with another text or error. Raise AgentError
    to end the run with it.
    """
    return _marked(function, Around())


def settings(cls: V) -> V:
    """Declare the settings of the extension: a class with annotated fields and defaults."""
    whole: Any = cls
    made: Any = whole if dataclasses.is_dataclass(whole) else dataclasses.dataclass(whole)
    declared: V = _marked(made, Settings())
    return declared


def _marked(value: V, use: object) -> V:
    setattr(value, MARK, (*vars(value).get(MARK, ()), use))
    return value
