"""A person's consent: trust in the folder, and approval of what its files would start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentcli.core.errors import InputError
from agentcli.permissions.rules import parse_rules
from agentcli.program.project import TRUSTED
from agentcli.program.trust import trust
from agentcli.sessions.session import Session

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.program.definition import Definition
    from agentcli.program.program import Program


def undecided(program: Program, *, declined: bool = False) -> Sequence[Definition]:
    """Return the trusted folder's hooks, servers and plugins without an answer, or those that may not start if
    `declined`.
    """
    found = program.definitions()
    return program.approvals.refused(found) if declined else program.approvals.undecided(found)


def decide(program: Program, session: AgentSession, answers: Sequence[tuple[Definition, bool]]) -> AgentSession:
    """Record whether these may start; return the session with the approved ones in force."""
    program.approvals.decide(answers)
    if not any(approved for _, approved in answers):
        return session
    return reopened(program, session, "Approved. Restart agentcli to start it.")


def trust_folder(program: Program, session: AgentSession, allow: Sequence[str] = ()) -> AgentSession:
    """Record the user's trust in the folder, and save `allow` for the project; return the session with its files loaded."""
    if allow:
        program.workspace_policy.saved.add(parse_rules(allow).allow)
    trust(program.cwd, program.dirs.state / TRUSTED)
    program.reload()
    return reopened(program, session, "The folder is trusted now. Restart agentcli to load its settings.")


def reopened(program: Program, session: AgentSession, otherwise: str) -> AgentSession:
    """Reopen the session with the program's current state. Raises InputError(otherwise) if it is not stored."""
    journal = session.journal
    if not isinstance(journal, Session):
        raise InputError(otherwise)
    reopened = program.sessions.session_for(journal)
    reopened.go_on_from(session)
    program.start_parts()
    return reopened
