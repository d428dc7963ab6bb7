"""Reports of the program on itself and a session, for the slash commands of every front end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentcli.agent.session import AgentSession
from agentcli.program.host import Topic
from agentcli.program.program import Program
from agentcli.sessions.info import info_to_json

if TYPE_CHECKING:
    from agentcli.frontends.commands.registry import SlashCommands


_FOUND = 30
"""Largest number of sessions that are found by their contents."""


class ProgramReports:
    """The reports. `agentcli.program.host.Reports` documents each."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def commands(self) -> SlashCommands:
        """The slash commands that the program's features bring."""
        from agentcli.frontends.commands.registry import slash_commands

        return slash_commands(self._program.features)

    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """Return `session.json` of this project's sessions, newest first; `place` is the folder of sessions that ran elsewhere."""
        program = self._program
        project = program.store.project(
            program.cwd
        )  # look again: another place may have got its first session meanwhile
        infos = program.store.list(project)
        return [{**info_to_json(info), "place": str(project.elsewhere(info) or "")} for info in infos]

    def passages(self, words: str) -> Mapping[str, str]:
        """Return a passage of each session of this project that contains all the words, by the session's id."""
        from agentcli.sessions.search import search

        store = self._program.store
        found = search(store.root, words, store.project(self._program.cwd).ids, limit=_FOUND, hits=1)
        return {one.info.id: one.hits[0].text for one in found if one.hits}

    def report(self, topic: Topic, session: AgentSession) -> Sequence[str]:
        """Lines for people."""
        match topic:
            case "permissions":
                return self._rules(session)
            case "doctor":
                from agentcli.frontends.doctor import examine

                return [finding.line for finding in examine(self._program)]
            case "stats":
                from agentcli.features.costs.stats import collect, lines

                return lines(collect(self._program.store.list(self._program.project)))
            case "budget":
                return session.report.budget()
            case feature:
                return next(one for one in self._program.features if one.name == feature).report(self._program, session)

    def status(self, session: AgentSession) -> Sequence[tuple[str, str]]:
        """Status of the session as names and values."""
        from agentcli.program.status import status

        return list(status(self._program, session))

    def _rules(self, session: AgentSession) -> Sequence[str]:
        lines = [f"{kind:6} {rule}  ({rule.origin})" for kind, rule in session.rules.listed()]
        timed = session.core.approval.timed.now
        saved = any(rule.origin == "your answers" for rule in session.rules.allow)
        return [
            f"Mode: {session.mode}. {self._program.workspace_policy.sandbox.report}",
            *([*lines, *(timed.lines() if timed is not None else ())] or ["No rules set."]),
            *(["/permissions remove takes a rule back that you saved for this project."] if saved else []),
        ]
