"""What a host or a desk may offer beyond its port; a command whose offer is missing says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from agentcli.agent.ports import Desk, Glance
from agentcli.core.event import Event

Topic = Literal["permissions", "doctor", "stats", "budget"]


@runtime_checkable
class Reports(Protocol):
    """A host that can tell about itself and a session."""

    def report(self, topic: Topic, desk: Desk) -> Sequence[str]:
        """Lines for people."""
        ...


@runtime_checkable
class Exports(Protocol):
    """A host that can write a session down."""

    def export(self, desk: Desk, form: Literal["md", "json", "html"]) -> str:
        """The whole session as a text."""
        ...


@runtime_checkable
class Trusts(Protocol):
    """A host that loads nothing from a folder before the person trusts it."""

    def unloaded(self, desk: Desk) -> Sequence[str]:
        """What the session's folder would load, a line each; nothing when it is trusted already or holds nothing of that kind."""
        ...

    def trust(self, desk: Desk) -> Desk:
        """Remember that the person trusts the folder; the same session with all of it loaded."""
        ...


@runtime_checkable
class Restores(Protocol):
    """A desk that can put files back."""

    def undo(self) -> Sequence[Event]:
        """Put the files back as they were before the newest change that was not undone yet. Raises InputError when there is none."""
        ...

    def redo(self) -> Sequence[Event]:
        """Take the newest undo back. Raises InputError when there is none."""
        ...


@runtime_checkable
class Rewinds(Protocol):
    """A desk that can put files back as they were before a prompt."""

    def rewind_files(self, seq: int) -> Sequence[Event]:
        """Put files back as they were before the prompt with this seq. Raises InputError when none was changed since."""
        ...


@runtime_checkable
class Titles(Protocol):
    """A desk that can have its session named by a model."""

    async def improve_title(self) -> Sequence[Event]:
        """Name it if that is wanted and was not done yet; may call a model."""
        ...


@runtime_checkable
class Backgrounds(Protocol):
    """A desk whose running command can go on behind the conversation."""

    def background(self) -> bool:
        """Send it there; false when no command runs."""
        ...


@runtime_checkable
class Glances(Protocol):
    """A desk that tells more than its window for the status line."""

    def glance(self) -> Glance:
        """How things stand; cheap enough for every frame."""
        ...


@runtime_checkable
class Watches(Protocol):
    """A desk that knows how its cache does, what runs behind the conversation, and what was done unasked earlier."""

    def cache_report(self) -> Sequence[str]:
        """Lines for people: hit rate, tokens and cost by kind, and what rewrote the cache."""
        ...

    def tasks_report(self) -> Sequence[str]:
        """The background jobs, a line or two each."""
        ...

    def acts_report(self) -> Sequence[str]:
        """What was done unasked before the session was opened this time, oldest first."""
        ...
