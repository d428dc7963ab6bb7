"""The beginning of a run's requests, compared with a lock file and with the session's last run."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agentcli import __version__
from agentcli.agent.core import SessionCore
from agentcli.agent.setup import INSTRUCTIONS, RUN_LOCK, WHERE, SessionSetup, beginning
from agentcli.core.errors import InputError
from agentcli.core.event import Event, Warned
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.model import ModelSpec
from agentcli.core.record import FeatureState, Mode
from agentcli.core.sanitise import safe_line
from agentcli.sessions.session import Session

FORMAT = 1
"""The version of the format."""
_SECTION = re.compile(r"^(?=#{1,2} )", re.MULTILINE)
_ENTRY = re.compile(r"- ([\w.-]+(?::[\w.-]+)*)")
_LISTS = ("# Skills", "# Agents")
"""Sections with one entry a line; each entry is compared."""
_NAME = 60
"""Characters of the name of a section."""

Json = Mapping[str, Any]


def lock_of(history: History, model: str, mode: str, version: str = __version__) -> Json:
    """Return the lock of a session, without its folder and circumstances, which differ from machine to machine."""
    return {
        "lock": FORMAT,
        "agentcli": version,
        "model": model,
        "mode": mode,
        "policy": history.policy,
        "tools": tool_digests(history.tools),
        "prompt": {name: digest(text) for name, text in sections(history.system)},
    }


def read_lock(file: str) -> Json:
    """Return the lock in a file. Raises InputError for any other file."""
    try:
        found = json.loads(Path(file).read_bytes())
    except OSError as error:
        raise InputError(f"Can't read {file}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON.") from error
    tables = ("tools", "prompt")
    if not isinstance(found, dict) or not all(isinstance(found.get(name), dict) for name in tables):
        raise InputError(f"{file} is not a lock file. `agentcli sessions lock SESSION` writes one.")
    if found.get("lock") != FORMAT:
        raise InputError(f"{file} has a format that this version can't read. Create it again.")
    return found


def require_same(lock: Json, now: Json) -> None:
    """Raise InputError, listing the differences, if a run does not match its lock."""
    found = [*differences(lock, now)]
    if found:
        raise InputError("\n".join(["This run differs from its lock file:", *(f"- {line}" for line in found)]))


def differences(lock: Json, now: Json) -> Iterator[str]:
    """Yield the differences of a run from its lock, one a line."""
    for name in ("agentcli", "model", "mode", "policy"):
        if lock.get(name) != now[name]:
            yield f"{name}: {now[name]}, locked {lock.get(name)}"
    for table, what in (("tools", "tool"), ("prompt", "prompt")):
        for name, change in changes(lock[table], now[table]):
            yield f"{what}: {name} {_WORDS[change]}"


Change = Literal["new", "gone", "changed"]
_WORDS: Mapping[Change, str] = {"new": "is new", "gone": "is missing", "changed": "has changed"}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Change]]:
    """Yield the names with different values in order, each with what changed."""
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield name, "new" if name not in before else "gone" if name not in after else "changed"


def sections(system: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the sections of a system prompt with their names; files below the session's folder by relative path."""
    folder = next((found[1] for block in system if (found := re.search(r"^Folder: (.+)$", block, re.MULTILINE))), "")
    seen: dict[str, int] = {}
    for block in system:
        if block.startswith(WHERE):
            continue
        for section in _SECTION.split(block.replace(f"{folder}/", "") if folder else block):
            for name, text in _entries(section):
                seen[name] = seen.get(name, 0) + 1
                yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), text


def tool_digests(tools: Iterable[Json]) -> Mapping[str, str]:
    """Return the hash of each tool by its name."""
    return {str(tool["name"]): digest(json.dumps(tool, sort_keys=True)) for tool in tools}


def digest(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _entries(section: str) -> Iterator[tuple[str, str]]:
    """Yield a section with its name, or the entries of a list of skills or agents."""
    title = section.strip().partition("\n")[0]
    if not title:
        return
    rest = []
    for line in section.split("\n"):
        entry = _ENTRY.match(line) if title in _LISTS else None
        if entry is None:
            rest.append(line)
        else:
            yield f"{title.lstrip('# ').lower()}: {entry[1]}", line
    yield title.lstrip("# ")[:_NAME], "\n".join(rest).strip()


RUN = "last run"
"""The name of the record of a run's facts."""
_NAMED = 4
"""Maximum tools, skills or agents of one kind to list."""
_KEPT = ("tool", "system prompt")
"""Prefixes of differences that do not affect a session that has begun."""

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
