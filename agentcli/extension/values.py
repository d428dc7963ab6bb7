"""What an extension gets of a session: its Context and the values that it returns."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.event import Ending
from agentcli.tools.function_tool import Provided

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a turn. `answered` is true if a model has replied."""

    text: str
    ending: Ending
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
class Fetched:
    """Answer of a web server. `kind` is its content type."""

    status: int
    kind: str
    body: str


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

    def warn(self, text: str) -> None:
        """Show a line as a warning."""
        ...

    def show(
        self, content: str | RenderableType, *, title: str = "", notes: Sequence[str] = (), foot: str = ""
    ) -> None:
        """Show Markdown, or a renderable of rich, which is shown as it is: `rich.text.Text` is a plain text.

        With a title, it is set off from the conversation; `notes` and a last line `foot` follow it.
        """
        ...

    def status(self, text: str) -> None:
        """Show a text in the status line, with its colours; an empty one removes it."""
        ...

    async def confirm(self, question: str, default: bool = False) -> bool:
        """Ask a yes-or-no question."""
        ...

    async def select(self, question: str, options: Sequence[str], default: str | None = None) -> str:
        """Ask for one of several answers. The person may type another one; Esc gives the default."""
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
        """USD of each turn of the session, oldest first; a turn that spent nothing before a resume is left out."""
        ...

    def turn_cost(self) -> TurnCost | None:
        """Return the cost of the newest turn with its causes; None if it spent nothing."""
        ...

    async def run(self, command: str, timeout: float = 120.0) -> Completed:
        """Run a shell command with the usual rules, questions and sandbox; `timeout` is in seconds."""
        ...

    async def execute(self, command: str, *, stdin: str = "", timeout: float = 120.0) -> Completed:
        """Run a shell command that the person wrote, as one in `ctx.settings`, and return what it printed to stdout.

        No rule, question or sandbox applies: never pass on a text of the model or of a file. git in it starts no
        programs of the repository.
        """
        ...

    async def fetch(
        self, url: str, *, headers: Mapping[str, str] | None = None, body: str = "", private: bool = False
    ) -> Fetched:
        """Send a request to a web server, a POST if it has a body, and return a text.

        Addresses that are not public are refused, unless `private` says that the person gave the address. Redirects
        are not followed. The limits are those of `web_fetch`. Raises AgentError if there is no answer.
        """
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

    def prompt(self, text: str, *, more: str = "") -> None:
        """Send a prompt to the model once no turn runs, and with it `more`, which the person does not see."""
        ...

    def pin(self, number: int) -> None:
        """Keep the message with this number word for word in compactions, also in one that is about to begin."""
        ...

    def log(self, text: str) -> None:
        """Write a line to the log."""
        ...
