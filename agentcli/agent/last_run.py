"""Differences from the session's last run, or from its lock: shown to the person on resume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentcli import __version__
from agentcli.agent.core import SessionCore
from agentcli.agent.run_lock import changes, differences, digest, lock_of, sections, tool_digests
from agentcli.agent.setup import INSTRUCTIONS, RUN_LOCK, WHERE, SessionSetup, beginning
from agentcli.core.event import Event, Warned
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.model import ModelSpec
from agentcli.core.record import FeatureState, Mode
from agentcli.core.sanitise import safe_line
from agentcli.sessions.session import Session

RUN = "last run"
"""The name of the record of a run's facts."""
_NAMED = 4
"""Maximum tools, skills or agents of one kind to list."""
_KEPT = ("tool", "system prompt")
"""Prefixes of differences that do not affect a session that has begun."""

Json = Mapping[str, Any]
Show = Callable[[Sequence[Event]], None]


class RunComparison:
    """Compares an opened session with its last run, and with the lock of this or an earlier run."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._told: set[str] = set()
        self._facts: Json | None = None
        """Facts of this run, once they are known to differ from the recorded ones."""

    async def opened(self, show: Show) -> None:
        """Show the differences. Nothing is recorded before the session is used."""
        lock, history = self._lock(), self._core.journal.history
        if lock is not None:
            begun = history if history.system else await asyncio.to_thread(self._beginning)
            show([*self._from_lock(lock, begun)])
        elif history.system:
            before, model, mode = recorded(self._core.journal), self._core.model, self._core.approval.mode
            now = await asyncio.to_thread(facts_now, self._core.setup, model, mode)
            if found := [*_changes(before, now)]:
                self._facts = now
                kept = any(line.startswith(_KEPT) for line in found)
                more = " The session keeps its tools and system prompt; a new one has the present ones." if kept else ""
                show([Warned(f"Changed since this session last ran: {'; '.join(found)}.{more}")])

    def prompted(self) -> Iterator[Event]:
        """Yield the differences from a lock now that the servers' tools are known, and record the facts of this run."""
        asked, history = self._core.setup.run.lock, self._core.journal.history
        kept = history.features.get(RUN_LOCK)
        if asked is not None and (kept is None or kept.data != asked):
            yield self._core.record(FeatureState(RUN_LOCK, asked))
        if (lock := self._lock()) is not None:
            yield from self._from_lock(lock, history)
        facts, self._facts = self._facts, None
        if facts is not None:
            yield self._core.record(FeatureState(RUN, facts))

    def _lock(self) -> Json | None:
        kept = self._core.journal.history.features.get(RUN_LOCK)
        return self._core.setup.run.lock or (kept.data if kept is not None else None)

    def _beginning(self) -> History:
        setup, model, mode = self._core.setup, self._core.model, self._core.approval.mode
        begun = beginning(setup, model, mode)
        return History(system=begun.system, tools=begun.tools, policy=begun.policy)

    def _from_lock(self, lock: Json, now: History) -> Iterator[Event]:
        held = lock_of(now, self._core.model.name, self._core.approval.mode)
        lines = [line for line in differences(lock, held) if line not in self._told]
        if not self._core.journal.history.system:  # no server is connected yet
            lines = [line for line in lines if not ("__" in line and line.startswith("tool: "))]
        self._told.update(lines)
        if lines:
            yield Warned("\n".join(["This session differs from its lock file:", *(f"- {line}" for line in lines)]))


def recorded(journal: Journal) -> Json:
    """Return the facts of the session's last run: recorded ones, or those with which it began."""
    history = journal.history
    kept = history.features.get(RUN)
    if kept is not None and not any(kept.data.keys() ^ _facts("", "", (), ()).keys()):
        return kept.data
    version = journal.info.version if isinstance(journal, Session) else ""
    return _facts(version, history.answered_by, history.system, history.tools)


def facts_now(setup: SessionSetup, model: ModelSpec, mode: Mode) -> Json:
    """Return the facts of a session that would begin now."""
    begun = beginning(setup, model, mode, lasting=True)
    return _facts(__version__, model.name, begun.system, begun.tools)


def _facts(version: str, model: str, system: Sequence[str], tools: Sequence[Json]) -> Json:
    """Return the facts to compare, texts as hashes. Servers' tools are omitted: they are known only later."""
    own = dict(sections([block for block in system if not block.startswith((INSTRUCTIONS, WHERE))]))
    listed = {name: text for name, text in own.items() if name.startswith(_LISTED)}
    instructions = "\n".join(block.partition("\n\n")[2] for block in system if block.startswith(INSTRUCTIONS))
    return {
        "agentcli": version,
        "model": model,
        "tools": tool_digests(tool for tool in tools if "__" not in str(tool["name"])),
        "prompt": {name: digest(text) for name, text in own.items() if name not in listed},
        "listed": {name: digest(text) for name, text in listed.items()},
        "instructions": digest(instructions),
    }


_LISTED = ("skills: ", "agents: ")


def _changes(before: Json, now: Json) -> Iterator[str]:
    """Yield the differences of two runs."""
    for name in ("agentcli", "model"):
        if before[name] and before[name] != now[name]:
            yield f"{name} {safe_line(now[name])}, was {safe_line(str(before[name]))}"
    if before["instructions"] != now["instructions"]:
        yield "instruction files"
    yield from _named((name.replace("s: ", " "), what) for name, what in changes(before["listed"], now["listed"]))
    yield from _named((f"tool {name}", what) for name, what in changes(before["tools"], now["tools"]))
    # A section that only one of them has depends on flags, on the sandbox, or on a person being present.
    if any(text != before["prompt"].get(name, text) for name, text in now["prompt"].items()):
        yield "system prompt"


def _named(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the first differences, and the number of the rest."""
    named = [f"{safe_line(name)} {what}" for name, what in found]
    yield from named[:_NAMED]
    if len(named) > _NAMED:
        yield f"{named[0].partition(' ')[0]}s: {len(named) - _NAMED} more"
