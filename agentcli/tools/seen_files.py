"""Files that the model has seen: what the read and edit tools remember of a session, restored from its records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from agentcli.core.message import File, Message, ToolResult
from agentcli.core.record import Body, Record

Knowledge = Literal["current", "changed", "in part", "unread"]
"""The model's knowledge of a file.

`current` is the current content, `changed` an earlier one. With `in part`, it also knows the lines around its own edits
since then. `unread` is none.
"""
UNSEEN: Mapping[Knowledge, str] = {
    "changed": "has changed since you read it",
    "in part": "has changed since you read it",
    "unread": "has not been read yet",
}
READ_IT: Mapping[Knowledge, str] = {
    "changed": "Read it again",
    "in part": "Read it again",
    "unread": "Read it first",
}
_IN_PART = "in part: "


class SeenFiles:
    """Content of each file as the model last saw it, completely or in part.

    Replacing a whole file requires that the model has seen its current content.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._digests: dict[Path, str] = {}
        for record in records:
            self.add(record.body)

    def __iter__(self) -> Iterator[Path]:
        return iter(self._digests)

    def add(self, body: Body) -> None:
        """Add the files that one record shows to the model: results of tools, and files that the user attached."""
        match body:
            case ToolResult(metadata={"seen": Mapping() as seen}):
                self._digests |= {Path(path): str(digest) for path, digest in seen.items()}
            case Message(role="user"):
                files = (part for part in body.parts if isinstance(part, File) and part.sha256)
                self._digests |= {Path(part.path): part.sha256 for part in files}
            case _:
                pass

    def remember(self, path: Path, data: bytes) -> str:
        """Record that the model has seen this content, and return its digest."""
        self._digests[path] = fingerprint(data)
        return self._digests[path]

    def remember_part(self, path: Path, data: bytes) -> None:
        """Record that the model knows this change to a file whose content it has not seen."""
        self._digests[path] = _IN_PART + fingerprint(data)

    def knowledge(self, path: Path, data: bytes) -> Knowledge:
        """Return what the model knows of the current content, by hash: current even if seen under another name."""
        now = fingerprint(data)
        if now in tuple(self._digests.values()):
            return "current"
        known = self._digests.get(path)
        if known is None:
            return "unread"
        return "in part" if known == _IN_PART + now else "changed"


def fingerprint(data: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
