"""The host of a terminal: other sessions, models, reports, trust."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agentcli.agent.session import AgentSession
from agentcli.app.program import Program
from agentcli.app.project import TRUSTED
from agentcli.app.trust import trust, what_it_would_load
from agentcli.core.errors import InputError
from agentcli.core.model import ModelSpec
from agentcli.core.text.secrets import known_secrets
from agentcli.sessions.info import info_to_json
from agentcli.sessions.session import Session
from agentcli.ui.host import Setting, Topic

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.context.compaction.handoff import Handoff
    from agentcli.integrations.definition import Definition


class TerminalHost:
    """The host of a REPL. See `agentcli.ui.host.Host` for what each operation promises."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.choosing = program.options.session == ""

    def new(self) -> AgentSession:
        """A fresh session in the current folder."""
        return self._program.sessions.new("clear")

    def open(self, selector: str) -> AgentSession:
        """A session by id, unique prefix or name. Raises InputError, or SessionBusy when it is open elsewhere."""
        program = self._program
        info = program.store.find(selector, program.project)
        session = program.sessions.resume(info) if self.choosing else program.sessions.open(info)
        self.choosing = False
        return session

    def fork(self, session: AgentSession) -> AgentSession:
        """A copy of a session that goes its own way from here."""
        program = self._program
        return program.sessions.open(program.store.fork(program.store.find(session.journal.id)), "fork")

    def hand_off(self, session: AgentSession, handoff: Handoff) -> AgentSession:
        """A new session that goes on from another with this handoff."""
        return self._program.sessions.hand_off(session, handoff)

    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """`session.json` of this project's sessions, newest first; `place` is where those were led that were not led here."""
        program = self._program
        project = program.store.project(program.cwd)  # anew: another place may have got its first session meanwhile
        infos = program.store.list(project)
        return [{**info_to_json(info), "place": str(project.elsewhere(info) or "")} for info in infos]

    def models(self) -> Sequence[ModelSpec]:
        """The models that are known."""
        from agentcli.providers.catalog import models

        return models()

    def report(self, topic: Topic, session: AgentSession) -> Sequence[str]:
        """Lines for people."""
        match topic:
            case "permissions":
                return self._rules(session)
            case "doctor":
                from agentcli.app.doctor import examine

                return [finding.line for finding in examine(self._program)]
            case "stats":
                from agentcli.app.stats import collect, lines

                return lines(collect(self._program.store.list(self._program.project)))
            case "budget":
                return session.report.budget()
            case "hooks":
                from agentcli.app.extensions.hook_report import lines as hook_lines

                return hook_lines(self._program, session)

    def export(self, session: AgentSession, form: Literal["md", "json", "html"]) -> str:
        """The whole session as a text, secrets redacted."""
        from agentcli.sessions.exporting import collect, export

        secrets = known_secrets(self._program.env)
        return export(collect(session.journal), form, secrets=secrets, settings=self._program.config.sessions)

    def status(self, session: AgentSession) -> Sequence[tuple[str, str]]:
        """Status of the session as names and values."""
        from agentcli.app.status import status

        return list(status(self._program, session))

    async def log_in(
        self, server: str, say: Callable[[str], None], pasted: Callable[[], Awaitable[str | None]]
    ) -> bool:
        """Log in to a server. Raises InputError where that fails, or the server takes no login."""
        from agentcli.app.extensions.server_login import log_in

        return await log_in(self._program, self._program.servers.to_log_in(server), say, pasted)

    def settings(self) -> Sequence[Setting]:
        """Every setting with its value in force."""
        from agentcli.app.settings import settings

        return list(settings(self._program))

    def change(self, key: str, text: str) -> str:
        """Set a setting in the user's config.toml; a line about what holds now."""
        from agentcli.app.settings import change

        return change(self._program, key, text)

    def view(self, session: AgentSession) -> str:
        """Write the session's page and open it; a line that says where it is."""
        from agentcli.app.viewing import view

        program = self._program
        return view(session.journal, program.dirs.cache, program.config.sessions, program.env)

    def unloaded(self, session: AgentSession) -> Sequence[str]:
        """The files that the session's folder would load once it is trusted; none when it is."""
        program = self._program
        return [] if program.trusted else [str(found) for found in what_it_would_load(program.cwd)]

    def trust(self, session: AgentSession) -> AgentSession:
        """Remember that the person trusts the folder; the same session with all of it loaded."""
        program = self._program
        trust(program.cwd, program.dirs.state / TRUSTED)
        program.reload()
        return self._reopened(session, "The folder is trusted now. Restart agentcli to load its settings.")

    def own_instructions(self) -> Path:
        """The instruction file of the user, for all projects."""
        return self._program.dirs.config / "AGENTS.md"

    def undecided(self, session: AgentSession, *, declined: bool = False) -> Sequence[Definition]:
        """The hooks, servers and plugins of the trusted folder that nobody has answered about yet, or that were `declined`."""
        from agentcli.app.starting import definitions

        approvals, found = self._program.approvals, definitions(self._program)
        return approvals.refused(found) if declined else approvals.undecided(found)

    def decide(self, session: AgentSession, answers: Sequence[tuple[Definition, bool]]) -> AgentSession:
        """Remember whether these may be started; the same session with those that may."""
        self._program.approvals.decide(answers)
        if not any(approved for _, approved in answers):
            return session
        return self._reopened(session, "Approved. Restart agentcli to start it.")

    def _reopened(self, session: AgentSession, otherwise: str) -> AgentSession:
        """The same session, opened as the program is now. Raises InputError, saying `otherwise`, for one that is not stored."""
        journal = session.journal
        if not isinstance(journal, Session):
            raise InputError(otherwise)
        reopened = self._program.sessions.session_for(journal)
        reopened.go_on_from(session)
        self._program.servers.start()
        return reopened

    def _rules(self, session: AgentSession) -> Sequence[str]:
        lines = [f"{kind:6} {rule}  ({rule.origin})" for kind, rule in session.rules.listed()]
        return [
            f"Mode: {session.mode}. {self._program.workspace_policy.sandbox.report}",
            *(lines or ["No rules set."]),
        ]
