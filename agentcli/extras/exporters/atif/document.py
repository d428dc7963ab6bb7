"""The ATIF export: a session with its subagents in the Agent Trajectory Interchange Format v1.8, which benchmarks read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentcli import __version__
from agentcli.core.codec.encode import dumps, usage_to_json
from agentcli.core.errors import AgentError
from agentcli.core.journal import Journal
from agentcli.core.message import Image
from agentcli.core.record import Settings
from agentcli.extras.exporters.atif.steps import PICTURES, StepBuilder, data_url, tool_definitions
from agentcli.sessions.exporting.transcript import Clean, cleaned
from agentcli.sessions.info import SessionInfo, info_to_json
from agentcli.sessions.session import Session
from agentcli.sessions.storage.records import Through
from agentcli.sessions.store import Store
from agentcli.sessions.summaries import is_subagent

VERSION = "ATIF-v1.8"
Subagents = Callable[[str], Sequence[Journal]]
"""A function that returns the sessions of a session's subagents, by its id."""
_STATED = ("id", "schema", "head", "shelf", "touched", "usage", "cost", "version", "model")
"""Fields of `session.json` that are elsewhere in the document, or meaningless outside the store."""


def to_atif(
    journal: Journal,
    subagents: Subagents = lambda _: (),
    clean: Clean = str,
    place: Callable[[Image], str] = data_url,
    through: Through = iter,
) -> Iterator[str]:
    """Return the document in pieces, one per step, so that a large session is never in memory as a whole.

    `place` returns an image's path or URL. The session's records pass `through`, a callback that may show progress.
    """
    yield from _trajectory(journal, subagents, clean, place, through, frozenset())
    yield "\n"


class ImageFolder:
    """Images as files in a folder, created with the first one; paths are relative to the folder's parent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, image: Image) -> str:
        """Write an image; return its relative path, or a URL if its data is damaged.

        Raises OSError if the folder is not writable.
        """
        try:
            data = base64.b64decode(image.data)
        except ValueError:
            return data_url(image)
        path = self._folder / f"{hashlib.sha256(data).hexdigest()[:16]}{PICTURES[image.mime]}"
        self._folder.mkdir(exist_ok=True)
        path.write_bytes(data)
        return f"{self._folder.name}/{path.name}"


def subagents_in(store: Store, info: SessionInfo) -> Subagents:
    """Return a function that opens the subagents of a session in the project of `info`, read-only."""
    found = [each for each in reversed(store.list(info.project_id)) if is_subagent(each)]

    def of(id: str) -> Sequence[Session]:
        mine = [each for each in found if each.parent is not None and each.parent.session == id]
        return [session for each in mine if (session := _opened(store, each))]

    return of


def _opened(store: Store, info: SessionInfo) -> Session | None:
    """Open a session to read it; None if it cannot be opened."""
    try:
        return store.open(info.project_id, info.id, read_only=True)
    except AgentError:
        return None


def _trajectory(
    journal: Journal,
    subagents: Subagents,
    clean: Clean,
    place: Callable[[Image], str],
    through: Through,
    within: frozenset[str],
) -> Iterator[str]:
    """Yield one trajectory. `within` are the ids of enclosing trajectories: a session never contains itself."""
    within |= {journal.id}
    embedded = [each for each in subagents(journal.id) if each.id not in within]
    info = _info(journal)
    copied = info.parent.seq if info.parent and info.parent.kind == "fork" else 0
    builder = StepBuilder(clean, place, journal.output, [each.id for each in embedded], copied)
    yield f"{dumps(_head(journal, info, clean))[:-1]},"
    yield '"steps":['
    between = ""
    for record in through(journal.records()):
        for step in builder.add(record):
            yield f"{between}{dumps(step)}"
            between = ",\n"
    for step in builder.finish():
        yield f"{between}{dumps(step)}"
        between = ",\n"
    yield "],"
    if embedded:
        yield '"subagent_trajectories":['
        for number, each in enumerate(embedded):
            yield ",\n" if number else ""
            yield from _trajectory(each, subagents, clean, place, iter, within)
        yield "],"
    yield dumps({"final_metrics": _final_metrics(info, builder)})[1:]


def _info(journal: Journal) -> SessionInfo:
    info = getattr(journal, "info", None)
    if isinstance(info, SessionInfo):
        return info
    history = journal.history
    return SessionInfo(
        journal.id, "", "", model=history.model, mode=history.mode, usage=history.usage, cost=history.cost
    )


def _head(journal: Journal, info: SessionInfo, clean: Clean) -> dict[str, Any]:
    bodies = (record.body for record in journal.records_of("settings"))
    tools = next((body.tools for body in bodies if isinstance(body, Settings) and body.tools), journal.history.tools)
    program = info.imported.get("program") or "agentcli"
    agent = {
        "name": program,
        "version": info.version or __version__ if program == "agentcli" else "unknown",
        **({"model_name": info.model} if info.model else {}),
        **({"tool_definitions": cleaned(tool_definitions(tools), clean)} if tools else {}),
    }
    stated = {name: value for name, value in info_to_json(info).items() if name not in _STATED and value}
    return {
        "schema_version": VERSION,
        "session_id": journal.id,
        "trajectory_id": journal.id,
        "agent": agent,
        "extra": {name: cleaned(value, clean) if name != "parent" else value for name, value in stated.items()},
    }


def _final_metrics(info: SessionInfo, builder: StepBuilder) -> dict[str, Any]:
    """Return the tokens of the agent's steps; the cost, and `usage` in `extra`, also count subagents, summaries and titles."""
    return {
        "total_prompt_tokens": builder.usage.prompt,
        "total_completion_tokens": builder.usage.output,
        "total_cached_tokens": builder.usage.cache_read,
        **({} if info.cost is None else {"total_cost_usd": info.cost}),
        "total_steps": builder.count,
        "extra": {"llm_calls": builder.requests, "usage": usage_to_json(info.usage)},
    }
