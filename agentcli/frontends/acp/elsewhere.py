"""Sessions that other programs of the user share, for an editor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from agentcli.core.history import History, evolve_all, fold
from agentcli.core.record import Undo
from agentcli.core.text.secrets import known_secrets
from agentcli.frontends.serve.following import Following
from agentcli.frontends.serve.machine import Machine
from agentcli.sessions.exporting.redactor import Redactor
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.store import Store

NAME = "the editor"
"""Name of the program for the sessions that it asks."""


def machine_of(store: Store, state: Path, env: Mapping[str, str]) -> Machine:
    """Return the sessions of this user on this machine; `state` is agentcli's state folder."""
    return Machine(store, state, Redactor(known_secrets(env)), NAME)


def shared_elsewhere(machine: Machine, session_id: str) -> SharedElsewhere | None:
    """Return a session that another program shares; None if none does."""
    return SharedElsewhere(machine, machine.found(session_id)) if machine.shared(session_id) else None


class SharedElsewhere:
    """A session that another program has open and shares."""

    def __init__(self, machine: Machine, info: SessionInfo) -> None:
        self._machine, self._info = machine, info
        self.clean = machine.clean

    @property
    def id(self) -> str:
        """The session's id."""
        return self._info.id

    def history(self, known: History | None = None) -> History:
        """Return the stored state of the session; `known` is what was read before."""
        self._info = self._machine.found(self._info.id)
        new = [*self._machine.records(self._info, known.last_seq)] if known is not None else []
        if known is not None and not any(isinstance(record.body, Undo) for record in new):
            return evolve_all(known, new)
        return fold(self._machine.records(self._info), self._info.foreign)

    def events(self, after: int) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the events after a record endlessly, each once and in order."""
        return Following(self._machine, self._info, after).events()

    async def request(self, **asked: Any) -> Mapping[str, Any]:
        """Send a request. Raise AgentError if the session is no longer shared, or does not answer."""
        return await self._machine.request(self._info.id, **asked)
