"""The host of a terminal: other sessions, models, reports, trust."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal

from agentcli.agent.session import AgentSession
from agentcli.core.errors import InputError
from agentcli.core.model import ModelSpec
from agentcli.core.text.plural import plural
from agentcli.core.text.secrets import known_secrets
from agentcli.frontends.reports import ProgramReports
from agentcli.frontends.sharing import Sharing
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.program.host import Setting
from agentcli.program.program import Program
from agentcli.program.project import TRUSTED
from agentcli.program.trust import trust, what_it_would_load
from agentcli.sessions.session import Session
from agentcli.system.paths import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.context.compaction.handoff import Handoff
    from agentcli.frontends.terminal.console import Console
    from agentcli.program.definition import Definition


class TerminalHost(ProgramReports):
    """The host of a REPL. `agentcli.program.host.Host` documents each operation."""

    def __init__(self, program: Program, sharing: Sharing | None = None) -> None:
        super().__init__(program)
        self.sharing = sharing if sharing is not None else Sharing()
        self.choosing = program.options.session == ""
        self.wanted = ""

    def beside(self, console: Console) -> Sequence[Coroutine[Any, Any, None]]:
        """Return the work that runs while the terminal is open: the status command, if the configuration names one."""
        command = self._program.config[UiSettings].status_command
        if not command:
            return ()
        from agentcli.frontends.terminal.status_command import StatusCommand

        return [StatusCommand(command, console).run()]

    def new(self) -> AgentSession:
        """Start a new session in the current folder."""
        return self._program.sessions.new("clear")

    def open(self, selector: str) -> AgentSession:
        """Open a session by id, unique prefix or name. Raises InputError, or SessionBusy if it is open elsewhere."""
        program = self._program
        info = program.store.find(selector, program.project)
        session = program.sessions.resume(info) if self.choosing else program.sessions.open(info)
        self.choosing = False
        return session

    def may_mean(self, words: str) -> bool:
        """Return True if these words name no session or several, and stored sessions have them in their titles or contents."""
        program = self._program
        try:
            program.store.find(words, program.project)
        except InputError:
            titles = (f"{info.name} {info.title}".lower() for info in program.store.list(program.project))
            return any(words.lower() in title for title in titles) or bool(self.passages(words))
        return False

    def fork(self, session: AgentSession) -> AgentSession:
        """Open a copy of a session, independent of it from here on."""
        program = self._program
        return program.sessions.open(program.store.fork(program.store.find(session.journal.id)), "fork")

    def hand_off(self, session: AgentSession, handoff: Handoff) -> AgentSession:
        """Start a new session that continues another with this handoff."""
        return self._program.sessions.hand_off(session, handoff)

    def rename(self, session_id: str, name: str) -> None:
        """Name a session that is not open here."""
        program = self._program
        program.store.rename(program.store.find(session_id), name, program.project)

    def delete(self, session_id: str) -> None:
        """Move a session to the trash."""
        self._program.store.delete(self._program.store.find(session_id))

    def lacking_keys(self) -> Set[str]:
        """Return the names of the providers that need a key and have none."""
        from agentcli.providers.settings import BUILT_IN, key_variable, needs_key

        known, env = {**BUILT_IN, **self._program.models.providers}, self._program.env
        return {name for name, one in known.items() if needs_key(one, env) and not key_variable(one, env)}

    def models(self) -> Sequence[ModelSpec]:
        """Return the known models."""
        from agentcli.program.model_lists import specs
        from agentcli.providers.catalog import models

        return [*models(), *specs(self._program.models)]

    def model_aliases(self) -> Mapping[str, str]:
        """Return the user's aliases of models, each with the model that it means."""
        return self._program.config.aliases

    async def refresh_models(self) -> Sequence[str]:
        """Ask endpoints for their models if their lists are old; return warnings. What takes long is not waited for."""
        from agentcli.program.model_lists import PATIENCE, refresh, stale

        models = self._program.models
        if self._program.options.no_session or not stale(models):
            return ()
        return (await asyncio.to_thread(refresh, models, PATIENCE)).warnings

    def saved_rules(self) -> Sequence[str]:
        """Return the rules that "always" has saved for this project. Raises ConfigError if they cannot be read."""
        return self._program.workspace_policy.saved.listed()

    def forget_rule(self, session: AgentSession, rule: str) -> None:
        """Remove a saved rule, from the session as well. Raises InputError for one that is not saved here."""
        self._program.workspace_policy.saved.remove(rule)
        session.forget_rule(rule)

    def export(self, session: AgentSession, form: Literal["md", "json", "html"]) -> str:
        """Export the whole session as text, with secrets redacted."""
        from agentcli.sessions.exporting import collect, export

        secrets = known_secrets(self._program.env)
        return export(collect(session.journal), form, secrets=secrets)

    async def log_in(
        self, server: str, say: Callable[[str], None], pasted: Callable[[], Awaitable[str | None]]
    ) -> bool:
        """Log in to a server. Raises InputError if that fails, or the server takes no login."""
        from agentcli.features.mcp.run_servers import servers_of
        from agentcli.features.mcp.server_login import log_in

        return await log_in(self._program, servers_of(self._program).to_log_in(server), say, pasted)

    def settings(self) -> Sequence[Setting]:
        """Every setting with its value in force."""
        from agentcli.program.setting_list import settings

        return list(settings(self._program))

    def change(self, key: str, text: str) -> str:
        """Set a setting in the user's config.toml; return a line about the value in force."""
        from agentcli.program.setting_list import change

        return change(self._program, key, text)

    def keep_copied(self, text: str) -> str:
        """Write a copied text to a file in the cache folder, and return its path; empty if it can't be written."""
        file = self._program.dirs.cache / "copied.txt"
        try:
            replace_file(file, text, mode=0o600)
        except (OSError, UnicodeEncodeError):
            return ""
        return str(file)

    def view(self, session: AgentSession) -> str:
        """Write the session's page and open it; return a line with its path."""
        from agentcli.frontends.session_page import view

        program = self._program
        return view(session.journal, program.dirs.cache, program.env)

    def unloaded(self, session: AgentSession) -> Sequence[str]:
        """Return the files that the session's folder would load once it is trusted; none if it is."""
        program = self._program
        if program.trusted:
            return []
        here = f"{os.path.realpath(program.cwd)}{os.sep}"
        files = [str(found).removeprefix(here) for found in what_it_would_load(program.cwd)]
        return [*files, *program.running_its_code]

    def offered_rules(self) -> Sequence[str]:
        """Return the allow rules of the project's settings for other programs, which apply only if the user takes them over."""
        from agentcli.program.project_rules import offered_rules

        return offered_rules(self._program, self._program.traits)

    def restrictions(self) -> Sequence[str]:
        """Return the rules of the project that deny or ask whether or not it is trusted."""
        from agentcli.program.project_rules import restrictions

        return restrictions(self._program, self._program.traits)

    def without_effect(self) -> str:
        """Return a line about the settings of the project's files for other programs that have no effect here; empty if there are none."""
        from agentcli.program.project_rules import entries_without_effect

        if not (count := entries_without_effect(self._program)):
            return ""
        have, named = ("has", "names it") if count == 1 else ("have", "lists them")
        which = f"{plural(count, 'entry')} of the project's settings for other programs"
        return f"{which} {have} no effect here; `agentcli doctor` {named}."

    def trust(self, session: AgentSession, allow: Sequence[str] = ()) -> AgentSession:
        """Remember that the person trusts the folder, and these rules as saved answers; the same session with all of it loaded."""
        from agentcli.permissions.rules import parse_rules

        program = self._program
        if allow:
            program.workspace_policy.saved.add(parse_rules(allow).allow)
        trust(program.cwd, program.dirs.state / TRUSTED)
        program.reload()
        return self._reopened(session, "The folder is trusted now. Restart agentcli to load its settings.")

    def own_instructions(self) -> Path:
        """Return the user's instruction file for all projects."""
        return self._program.dirs.config / "AGENTS.md"

    def undecided(self, session: AgentSession, *, declined: bool = False) -> Sequence[Definition]:
        """Return the trusted folder's hooks, servers and plugins that wait for an answer, or that were `declined`."""
        from agentcli.program.approvable import definitions

        approvals, found = self._program.approvals, definitions(self._program)
        return approvals.refused(found) if declined else approvals.undecided(found)

    def decide(self, session: AgentSession, answers: Sequence[tuple[Definition, bool]]) -> AgentSession:
        """Remember whether these may be started; return the same session with the approved ones."""
        self._program.approvals.decide(answers)
        if not any(approved for _, approved in answers):
            return session
        return self._reopened(session, "Approved. Restart agentcli to start it.")

    def _reopened(self, session: AgentSession, otherwise: str) -> AgentSession:
        """Reopen the session with the program's current state. Raises InputError with the text `otherwise` if the session is not stored."""
        journal = session.journal
        if not isinstance(journal, Session):
            raise InputError(otherwise)
        reopened = self._program.sessions.session_for(journal)
        reopened.go_on_from(session)
        self._program.start_parts()
        return reopened
