"""What the agent asks of people, and what a front end may ask of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from agentcli.core.event import Event
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import Part, ToolCall
from agentcli.core.model import ModelSpec
from agentcli.core.record import Mode
from agentcli.core.tool import Question, Tool


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that only a person may allow. `preview` is the whole command, or a unified diff, or the whole input.

    `always` is the exact rule that the choice "always" would save, or empty where no rule may be saved; `unsaved` then says why.
    """

    call: ToolCall
    title: str
    why: str
    preview: str
    kind: Literal["command", "diff", "input", "plan"] = "input"
    always: str = ""
    unsaved: str = ""
    others: tuple[Ask, ...] = ()
    """The later calls of the same reply that will be asked about as well, in their order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person said: allow once, for this session, always, or no. `words` go to the model with a no.

    `all` allows this call once and, as they were shown, all `others` of the question. `input` replaces the call's input when
    the person edited the proposal.
    """

    choice: Literal["once", "session", "always", "all", "no"]
    words: str = ""
    input: Mapping[str, Any] | None = None


Approve = Callable[[Ask], Awaitable[Answer | None]]
"""Ask a person about one call. None when nobody is there: the call is denied and listed."""

AskUser = Callable[[Sequence[Question]], Awaitable[Sequence[str] | None]]
"""Put the model's questions to the user; None when nobody is there."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user sends: words and attachments in the order to be sent. `text` is what was typed, for titles and history."""

    text: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Glance:
    """What the status line tells of a session besides its window.

    `sandbox` is a word. `prunes` is the size of the window in tokens below which nothing is pruned, `early` that from
    which it is compacted where that pays, `compacts` that at which it is in any case; 0 where that does not happen by
    itself. `hit_rate` is the share of all input that came from the cache, 0 to 1, None before the first request.
    `budget` is the share used of the budget that is used most, None where none is set. `jobs` run in the background.
    """

    sandbox: str = ""
    prunes: int = 0
    hit_rate: float | None = None
    budget: float | None = None
    jobs: int = 0
    early: int = 0
    compacts: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """How full the context window is now, in tokens: what the next request fills of what it may fill."""

    used: int
    usable: int


class Desk(Protocol):
    """One open session with everything that can be done to it. Every method that yields events may be interrupted."""

    @property
    def journal(self) -> Journal: ...
    @property
    def history(self) -> History: ...
    @property
    def model(self) -> ModelSpec: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def cwd(self) -> Path: ...
    @property
    def tools(self) -> Sequence[Tool]: ...
    @property
    def instructions(self) -> Sequence[tuple[Path, int]]:
        """The instruction files in force (AGENTS.md and kin) with their size in tokens."""
        ...

    def turn(self, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """The user says something; the model works until it is done. Ends with exactly one TurnEnded."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the person should know before anything is said, in words."""
        ...

    def steer(self, prompt: Prompt) -> None:
        """Add to the running turn at its next safe point."""
        ...

    def compress(self, focus: str, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """`/compress`: ends with a CompactionEnded."""
        ...

    def preview(self, focus: str) -> Sequence[str]:
        """Lines that say what `/compress` would do now, calling no model."""
        ...

    def uncompress(self) -> Sequence[Event]:
        """Take back the newest compaction."""
        ...

    def prune(self, undo: bool = False) -> Sequence[Event]:
        """Clear old outputs now, whatever it costs; or take back the newest prune."""
        ...

    def pin(self, seq: int | None, unpin: bool = False) -> Sequence[Event]:
        """Pin a message, by default the newest prompt."""
        ...

    def rewind(self, seq: int) -> Sequence[Event]:
        """Back to just before the prompt with this seq (the conversation only)."""
        ...

    def switch(self, *, model: str = "", mode: str = "") -> Sequence[Event]:
        """Change settings from now on. Raises AgentError for a name that is not known, with the near ones."""
        ...

    def rename(self, name: str) -> Sequence[Event]: ...
    def window(self) -> Window: ...
    def context_report(self, width: int = 79) -> Sequence[str]:
        """`/context`: the window drawn and the messages listed, as plain lines of about `width` characters."""
        ...

    def cost_report(self) -> Sequence[str]: ...
    def diff(self) -> str:
        """This session's changes to files as a unified diff."""
        ...

    def close(self) -> None: ...


class Host(Protocol):
    """What a front end needs of the program around the session: other sessions, settings, the outside."""

    def new(self) -> Desk: ...
    def open(self, selector: str) -> Desk:
        """By id, unique prefix or name. Raises StoreError."""
        ...

    def fork(self, desk: Desk) -> Desk: ...
    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """`session.json` of this project's sessions, newest first."""
        ...

    def models(self) -> Sequence[ModelSpec]: ...
    def setting(self, key: str) -> Any:
        """A value from the merged configuration, by dotted key."""
        ...
