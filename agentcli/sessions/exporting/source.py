"""Everything of a session that an export may hold, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentcli.core.codec import encode
from agentcli.core.journal import Journal
from agentcli.core.message import ToolResult
from agentcli.core.record import Record
from agentcli.sessions.info import Info, note
from agentcli.sessions.records import Shelf, digest


@dataclass(frozen=True, slots=True)
class Source:
    """A session at a glance, its records with the bytes of their files, and the whole outputs that were kept, by file name."""

    info: Info
    records: tuple[tuple[Record, bytes], ...]
    outputs: Mapping[str, str] = field(default_factory=dict)


def collect(journal: Journal) -> Source:
    """All that a journal holds. What cannot be read is left out, as it is on resume."""
    shelf = Shelf(journal.folder / "records") if journal.folder else None
    info = Info(journal.id, "", "")
    records: list[tuple[Record, bytes]] = []
    outputs: dict[str, str] = {}
    for record in journal.records():
        data = (shelf and shelf.read(record.seq)) or encode(record)
        records.append((record, data))
        info = note(info, record, digest(data))
        if isinstance(record.body, ToolResult) and record.body.output_file:
            name = record.body.output_file.rsplit("/", 1)[-1]
            outputs[name] = journal.output(record.body.output_file)
    own = getattr(journal, "info", None)
    return Source(own if isinstance(own, Info) else info, tuple(records), outputs)
