"""Port of front ends and slash commands to the program: sessions, models, reports, exports, trust."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentcli.core.dataclass import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.agent.session import AgentSession
    from agentcli.context.compaction.handoff import Handoff
    from agentcli.core.model import ModelSpec
    from agentcli.program.definition import Definition

Topic = Literal["permissions", "doctor", "stats", "budget"] | str


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its value as text, the place where it is set, its possible values if they are few, and what it does."""

    key: str
    value: str
    origin: str
    choices: tuple[str, ...] = ()
    about: str = ""


class Reports(Protocol):
    """Reports of the program around the open session, the same for every front end."""

    def report(self, topic: Topic, session: AgentSession) -> Sequence[str]:
        """Return a report on a topic as lines of text."""
        ...

    def status(self, session: AgentSession) -> Sequence[tuple[str, str]]:
        """Return the status of the session as names and values."""
        ...

    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """`session.json` of this project's sessions, newest first; `place` is the folder of sessions from elsewhere."""
        ...

    def passages(self, words: str) -> Mapping[str, str]:
        """Return a passage of each session of this project that contains all the words, by the session's id."""
        ...


class Host(Reports, Protocol):
    """Services of the program around the session that is open in a terminal."""

    @property
    def choosing(self) -> bool:
        """True until the session for `agentcli resume` is chosen."""
        ...

    @property
    def wanted(self) -> str:
        """The words by which `agentcli resume` chooses among the sessions, as none has such a name; empty otherwise."""
        ...

    def new(self) -> AgentSession:
        """Create a session in the current folder."""
        ...

    def open(self, selector: str) -> AgentSession:
        """Open a session by id, unique prefix or name; the one to be chosen as the command line asks, such as a copy.

        Raises InputError, or SessionBusy if another process has it open.
        """
        ...

    def fork(self, session: AgentSession) -> AgentSession:
        """Open an independent copy of a session."""
        ...

    def hand_off(self, session: AgentSession, handoff: Handoff) -> AgentSession:
        """Create a session that continues another with this handoff."""
        ...

    def rename(self, session_id: str, name: str) -> None:
        """Name a session that is not open here. Raises InputError for a name that is in use, SessionBusy if it is open elsewhere."""
        ...

    def delete(self, session_id: str) -> None:
        """Move a session to the trash. Raises SessionBusy if it is open."""
        ...

    def models(self) -> Sequence[ModelSpec]:
        """Return the known models: of the table, and of the lists of endpoints as they were last read."""
        ...

    def model_aliases(self) -> Mapping[str, str]:
        """Return the user's aliases of models, each with the model that it means."""
        ...

    async def refresh_models(self) -> Sequence[str]:
        """Ask endpoints for their models if their lists are old; return warnings. What takes long is not waited for."""
        ...

    def lacking_keys(self) -> Set[str]:
        """Return the names of the providers that need a key and have none."""
        ...

    def saved_rules(self) -> Sequence[str]:
        """Return the rules that "always" has saved for this project. Raises ConfigError if they cannot be read."""
        ...

    def forget_rule(self, session: AgentSession, rule: str) -> None:
        """Remove a saved rule, from the session as well. Raises InputError for one that is not saved here."""
        ...

    def export(self, session: AgentSession, form: Literal["md", "json", "html"]) -> str:
        """Export the whole session as text, secrets redacted."""
        ...

    async def log_in(
        self, server: str, say: Callable[[str], None], pasted: Callable[[], Awaitable[str | None]]
    ) -> bool:
        """Log in to an MCP server in the browser; False if it needs no login. Raises InputError if the login fails.

        `pasted` waits for the address at which the browser ends; None gives the login up.
        """
        ...

    def settings(self) -> Sequence[Setting]:
        """Return every setting with its value in force."""
        ...

    def change(self, key: str, text: str) -> str:
        """Set a setting in the user's config.toml; return a line about the value in force. Raises ConfigError."""
        ...

    def keep_copied(self, text: str) -> str:
        """Write a copied text to a file, and return its path; empty if it can't be written."""
        ...

    def view(self, session: AgentSession) -> str:
        """Write the session's HTML page and open it in the browser; return a line with its path."""
        ...

    def unloaded(self, session: AgentSession) -> Sequence[str]:
        """Return the files that trusting the session's folder would load, one line each; empty if it is trusted or has none."""
        ...

    def offered_rules(self) -> Sequence[str]:
        """Return the allow rules of the folder's settings for other programs; the user may save them as answers for this project."""
        ...

    def restrictions(self) -> Sequence[str]:
        """Return the rules of the folder that deny or ask whether or not it is trusted."""
        ...

    def without_effect(self) -> str:
        """Return a line about the settings of the project's files for other programs that have no effect here; empty if there are none."""
        ...

    def trust(self, session: AgentSession, allow: Sequence[str] = ()) -> AgentSession:
        """Record the user's trust in the folder, and save `allow` for the project; returns the session with its files loaded."""
        ...

    def own_instructions(self) -> Path:
        """Return the path of the user's instruction file for all projects."""
        ...

    def undecided(self, session: AgentSession, *, declined: bool = False) -> Sequence[Definition]:
        """Hooks, servers and plugins of the trusted folder that the user has not answered about yet, or has `declined`."""
        ...

    def decide(self, session: AgentSession, answers: Sequence[tuple[Definition, bool]]) -> AgentSession:
        """Record whether these may be started; returns the session with the approved ones in force."""
        ...
