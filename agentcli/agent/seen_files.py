"""Files that the model has seen, as the records of a session tell it: results of tools, and files that the user attached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from agentcli.core.message import File, Message, ToolResult
from agentcli.core.record import Body, Record


def seen_files(records: Iterable[Record]) -> dict[Path, str]:
    """SHA-256 of the content of each file as the model last saw it."""
    seen: dict[Path, str] = {}
    for record in records:
        seen |= seen_in(record.body)
    return seen


def seen_in(body: Body) -> dict[Path, str]:
    """Return the files that one record shows to the model, each with its digest."""
    match body:
        case ToolResult(metadata={"seen": Mapping() as seen}):
            return {Path(path): str(digest) for path, digest in seen.items()}
        case Message(role="user"):
            files = (part for part in body.parts if isinstance(part, File) and part.sha256)
            return {Path(part.path): part.sha256 for part in files}
        case _:
            return {}
