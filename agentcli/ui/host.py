"""What a front end needs of the program around a session: other sessions, models, reports, exports, trust."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.core.model import ModelSpec

Topic = Literal["permissions", "doctor", "stats", "budget"]


class Host(Protocol):
    """The program around the open session."""

    def new(self) -> AgentSession:
        """A fresh session in the current folder."""
        ...

    def open(self, selector: str) -> AgentSession:
        """A session by id, unique prefix or name. Raises InputError, or SessionBusy when it is open elsewhere."""
        ...

    def fork(self, session: AgentSession) -> AgentSession:
        """A copy of a session that goes its own way from here."""
        ...

    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """`session.json` of this project's sessions, newest first; `place` is where those were led that were not led here."""
        ...

    def models(self) -> Sequence[ModelSpec]:
        """The models that are known."""
        ...

    def report(self, topic: Topic, session: AgentSession) -> Sequence[str]:
        """Lines for people."""
        ...

    def export(self, session: AgentSession, form: Literal["md", "json", "html"]) -> str:
        """The whole session as a text, secrets redacted."""
        ...

    def unloaded(self, session: AgentSession) -> Sequence[str]:
        """What the session's folder would load, a line each; nothing when it is trusted already or holds nothing of that kind."""
        ...

    def trust(self, session: AgentSession) -> AgentSession:
        """Remember that the person trusts the folder; the same session with all of it loaded."""
        ...
