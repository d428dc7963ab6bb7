"""All sessions of this machine by what they want: an answer, time, a look, or to be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError
from agentcli.frontends.serve.background import Background, Kept
from agentcli.frontends.serve.machine import Machine, Running, State, machine_of
from agentcli.program.named_worktree import summary
from agentcli.program.project import Project
from agentcli.sessions.info import SessionInfo
from agentcli.system.git import GitError

STARTS = 10.0
"""Seconds that a background session may need to start; if it is not there then, it has ended."""
LISTED = 7 * 86_400.0
"""Seconds for which a session that is done stays listed, unless it has a worktree."""
ORDER: Sequence[State] = ("waits", "works", "failed", "ended", "stopped", "done", "idle")
STATES: Mapping[State, str] = {
    "works": "works",
    "waits": "needs your answer",
    "idle": "idle",
    "ended": "ended",
    "done": "done",
    "failed": "failed",
    "stopped": "stopped",
}
"""The words for each state, in the order of the list."""


class Listing:
    """Lists the sessions again and again; what only changes with a session is read once."""

    def __init__(self, machine: Machine, kept: Kept, env: Mapping[str, str]) -> None:
        self.machine, self.kept, self.env = machine, kept, env
        self._rows: dict[str, tuple[object, Running]] = {}
        """The row of each session that has ended, with what it was made from."""

    async def rows(self) -> Sequence[Running]:
        """Return the open sessions, and the background sessions that have ended, by what they want."""
        running = {each.session: each for each in await self.machine.running()}
        known = {each.session: each for each in await asyncio.to_thread(self._known)}
        ended = [
            await asyncio.to_thread(self._ended, each) for session, each in known.items() if session not in running
        ]
        rows = [_marked(each, known.get(each.session)) for each in (*running.values(), *ended)]
        return sorted(rows, key=lambda row: (ORDER.index(row.state), row.session))

    def _known(self) -> Sequence[Background]:
        """Return the background sessions, without those that were done long ago and have no worktree."""
        found = []
        for each in self.kept:
            if each.ended == "done" and each.worktree is None and _age(each.started) > LISTED:
                self.kept.remove(each.session)
            else:
                found.append(each)
        return found

    def _ended(self, background: Background) -> Running:
        """Return a background session without a process."""
        state: State = background.ended or "ended"
        # A start in the future was recorded before the clock was set back, so it tells nothing.
        if not background.ended and 0 <= _age(background.started) < STARTS:
            state = "works"
        try:
            info = self.machine.found(background.session)
        except InputError:
            info = None
        made_from, known = (background, info, state), self._rows.get(background.session)
        if known is None or known[0] != made_from:
            known = self._rows[background.session] = made_from, self._row(background, info, state)
        return known[1]

    def _row(self, background: Background, info: SessionInfo | None, state: State) -> Running:
        if info is not None:
            made = self.machine.stored(info, state)
        else:
            made = Running(background.session, "", "", background.folder, state, None, "", 0, False, background.started)
        error = "Its process was killed, or the machine restarted." if state == "ended" else background.error
        return replace(made, error=self.machine.clean(error), changes=self._changed(background, made))

    def _changed(self, background: Background, row: Running) -> str:
        if background.worktree is None:
            return row.changes
        tree = background.named_worktree(self.env)
        try:
            return "" if tree is None or not tree.is_changed else summary(tree.stat())
        except GitError as error:
            return error.line


def listing_of(project: Project, name: str) -> Listing:
    """Return the sessions of a project's user on this machine; `name` is how sessions see the client."""
    return Listing(machine_of(project, name), Kept(project.dirs.state), project.given_env)


def _marked(row: Running, background: Background | None) -> Running:
    if background is None:
        return row
    named = background.worktree
    return replace(row, background=True, worktree=named["name"] if named else "")


def _age(started: str) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds()
    except ValueError:
        return STARTS
