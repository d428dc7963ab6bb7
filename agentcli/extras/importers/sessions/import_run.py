"""Import sessions into the store, each once: an imported session is known by its program, id and content."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError
from agentcli.core.message import Message, Usage
from agentcli.core.record import Body, Compaction, Title
from agentcli.extras.importers.sessions import read_all
from agentcli.extras.importers.sessions.compressed import opened
from agentcli.extras.importers.sessions.discover import Candidate
from agentcli.sessions.copying import Draft, draft, settle_drafts
from agentcli.sessions.imported import Imported, Shown, unshown
from agentcli.sessions.info import SessionInfo, stamp
from agentcli.sessions.store import Store
from agentcli.system import probe

Price = Callable[[str, Usage, str], float | None]
"""Price of a usage of the model `provider/id` at a time, in USD; None if unknown."""
AT_ONCE = 50
"""Number of sessions to write before each wait for the disk."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome for one session. `session` is its id if the store has it. `why` is the reason if it is not new."""

    source: Candidate
    status: Literal["imported", "skipped", "failed"]
    session: str = ""
    why: str = ""
    info: SessionInfo | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON data that `sessions import --json` prints."""
        source = self.source
        return {
            "status": self.status,
            "session": self.session or None,
            "file": str(source),
            "program": source.program,
            "id": source.id,
            "directory": self.info.directory if self.info else source.folder,
            "title": (self.info.name or self.info.title) if self.info else "",
            "why": self.why,
            "notes": list(self.notes),
        }


_Waiting = tuple[Candidate, Imported, Draft]


@dataclasses.dataclass
class ImportRun:
    """One run of an import.

    A session goes to the folder in which it ran. If that is gone, it goes to `here` with `gather`, and otherwise waits
    there for `sessions move`. With `again`, sessions that were imported before are imported once more. All get `name`.
    The lines and then the records of a session pass `through`. `price` prices replies for which the file has only the
    usage.
    """

    store: Store
    here: Path
    gather: bool = False
    again: bool = False
    name: str = ""
    through: Shown = unshown
    price: Price = lambda model, usage, time: None
    _known: dict[tuple[str, str], list[tuple[str, str, bool]]] = field(default_factory=dict)
    _names: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for infos, trashed in ((self.store.list(), False), (self.store.trashed(), True)):
            for info in infos:
                if info.imported:
                    self._remember(info.imported, info.id, trashed)
                if not trashed:
                    self._names.setdefault(info.project_id, set()).add(info.name)

    def is_known(self, source: Candidate) -> bool:
        """Return True if the session was imported before, as it is now or shorter."""
        return (source.program, source.id) in self._known if source.id else bool(self._found(source, _content(source)))

    def run(self, sources: Iterable[Candidate]) -> Iterator[Outcome]:
        """Import sessions, yielding one outcome for each. A failure of one does not stop the others."""
        waiting: list[_Waiting] = []
        try:
            for source in sources:
                result = self._drafted(source)
                if isinstance(result, Outcome):
                    yield result
                    continue
                waiting.append(result)
                if len(waiting) == AT_ONCE:
                    ready, waiting = waiting, []
                    yield from self._settled(ready)
            ready, waiting = waiting, []
            yield from self._settled(ready)
        finally:
            for _, _, drafted in waiting:  # interrupted
                drafted.discard()

    def _drafted(self, source: Candidate) -> _Waiting | Outcome:
        try:
            content = _content(source)
            if not self.again and (found := self._found(source, content)):
                return Outcome(source, "skipped", *found)
            imported = next(read_all(source.path, source.session, source.program, self.through))
            if not any(isinstance(body, Message) for _, body in imported.bodies):
                return Outcome(source, "failed" if source.named else "skipped", why=f"{source}: nothing was said in it")
            if self.name:
                imported = replace(imported, bodies=(*imported.bodies, (stamp(), Title(name=self.name))))
            if source.program != "agentcli":
                bodies = tuple((time, self._priced(body, time)) for time, body in imported.bodies)
                imported = replace(imported, bodies=bodies)
            origin = {"program": source.program, "id": source.id, "sha256": content}
            home = self._home(imported.cwd or source.folder)
            drafted = draft(self.store.root, imported, home, origin, through=self.through)
        except AgentError as error:
            return Outcome(source, "failed", why=str(error).replace(str(source.path), str(source)))
        self._remember(origin, drafted.info.id, False)
        return source, imported, drafted

    def _priced(self, body: Body, time: str) -> Body:
        """Return the body with its cost, if the program stored only the usage."""
        match body:
            case Message(role="assistant", usage=Usage() as usage, cost=None) if body.model:
                return replace(body, cost=self.price(f"{body.provider}/{body.model}", usage, time))
            case Compaction(usage=usage, cost=None, model=model) if usage.total and model:
                return replace(body, cost=self.price(model, usage, time))
            case _:
                return body

    def _settled(self, waiting: list[_Waiting]) -> Iterator[Outcome]:
        try:
            infos = settle_drafts([drafted for _, _, drafted in waiting])
        except AgentError as error:
            yield from (Outcome(source, "failed", why=str(error)) for source, _, _ in waiting)
            return
        for (source, imported, _), info in zip(waiting, infos, strict=True):
            notes = imported.notes
            if source.program == "agentcli":  # it keeps its exported content, including its name
                if info.name and info.name in self._names.get(info.project_id, ()):
                    notes = (
                        *notes,
                        f"another session is called {info.name!r} too: rename one of them to resume it by name",
                    )
            else:
                info = self._named(info)
            yield Outcome(source, "imported", info.id, "", info, notes)

    def _named(self, info: SessionInfo) -> SessionInfo:
        """Make the session's name unique in its project, if it has a name."""
        used = self._names.setdefault(info.project_id, set())
        if info.name and info.name in used:
            info = self.store.rename(info, self.store.unused_name(info.name, info.project_id))
        used.add(info.name)
        return info

    def _home(self, folder: str) -> Path:
        led = Path(folder)
        return led if led.is_absolute() and (probe.is_dir(led) or not self.gather) else self.here

    def _remember(self, origin: Mapping[str, str], session: str, trashed: bool) -> None:
        key = (origin.get("program", ""), origin.get("id", "") or origin.get("sha256", ""))
        self._known.setdefault(key, []).append((origin.get("sha256", ""), session, trashed))

    def _found(self, source: Candidate, content: str) -> tuple[str, str] | None:
        before = self._known.get((source.program, source.id or content), [])
        for known, session, trashed in before:
            if known == content:
                where = f", which is in the trash (`agentcli sessions delete --undo {session}`)" if trashed else ""
                return session, f"{source} was imported already: {session}{where}"
        for _, session, _ in before:
            return session, f"{source} has grown since it was imported as {session}: --again imports it as it is now"
        return None


def _content(source: Candidate) -> str:
    """Hash the content of a session's source. Raises InputError if it is unreadable."""
    if source.version:
        return hashlib.sha256(source.version.encode("utf-8", "replace")).hexdigest()
    with opened(source.path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
