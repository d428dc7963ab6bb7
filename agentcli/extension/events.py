"""Events of extensions: the value of each, and what a handler may return."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.event import Ending
from agentcli.core.message import Status as CallStatus
from agentcli.core.message import Usage
from agentcli.core.record import Trigger
from agentcli.extension.values import Said

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
    "status",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """Return value of a handler that is more than a text; methods of the events make it."""

    kind: Literal["deny", "ask", "replace", "block", "add", "summary"]
    text: str = ""
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SessionStart:
    """Event `session_start`. A returned text goes to the model with the first prompt."""

    source: Literal["startup", "resume", "fork", "clear", "compact"]
    """How the session begins; `compact` is after a compaction."""


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
    status: CallStatus
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
    ending: Ending


@dataclass(frozen=True, slots=True)
class Compaction:
    """Events `before_compact` and `after_compact`.

    Before, a returned text is the focus of the summary. After, a returned text goes to the model.
    """

    trigger: Trigger
    focus: str = ""
    summary: str = ""
    """The new summary; before a compaction that of the one before, if any."""
    messages: tuple[Said, ...] = ()
    """Before: the messages that the summary will replace."""

    def summarise(self, text: str) -> Decision:
        """Use this text as the whole summary; no model is asked.

        It is checked like every summary: statements that no record shows are marked or removed. If nothing of it
        stands, the summary is written as usual.
        """
        return Decision("summary", text)

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


@dataclass(frozen=True, slots=True)
class Status:
    """Event `status`: the facts of the status line. A returned text is the extension's part of it, colours included.

    It is called in the terminal after a change, and every so many seconds (`every`). Tokens of the window:
    `used` of `usable`; `soft`, `early` and `prunes` are where it is compacted and pruned. Costs are in USD; shares are
    between 0 and 1.
    """

    model: str
    """`provider/model`; its context window has `window` tokens."""
    mode: str
    used: int
    usable: int
    window: int
    effort: str = ""
    soft: int = 0
    early: int = 0
    prunes: int = 0
    hit_rate: float | None = None
    cost: float | None = None
    budget: float | None = None
    jobs: int = 0
    """Background commands that run."""
    sandbox: str = ""
    branch: str = ""
    folder: str = ""
    """The folder in which commands start, if it is not the session's."""
    session: str = ""
    """The session's name, title or id, short; `id`, `title` and `transcript`, the folder of its records, are whole."""
    id: str = ""
    title: str = ""
    transcript: str = ""
    seconds: float = 0.0
    """Seconds since the terminal was opened."""
    additions: int = 0
    deletions: int = 0
    """Lines that the session added and deleted."""
    usage: Usage = Usage()
    """Tokens of all requests; `last`: tokens of the newest request."""
    last: Usage | None = None


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
    "status": Status,
}
"""Events by name, with the type of their value."""
