"""Codex's patch format, as far as one of our tools can express it."""

from __future__ import annotations

from typing import Any

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE = "*** Add File: ", "*** Update File: "


def as_edit(patch: str) -> tuple[str, dict[str, Any]] | None:
    """Convert a patch to a call of `write` or `edit`; None if it changes several places or moves or deletes a file."""
    lines = patch.strip().split("\n")
    if len(lines) < 3 or lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        return None
    head, body = lines[1], lines[2:-1]
    if any(line.startswith("***") and line.strip() != "*** End of File" for line in body):
        return None
    if head.startswith(_ADD):
        content = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
        return "write", {"file_path": head[len(_ADD) :], "content": content}
    if head.startswith(_UPDATE) and sum(line.startswith("@@") for line in body) <= 1:
        hunk = [line for line in body if not line.startswith(("@@", "***"))]
        old = "\n".join(line[1:] for line in hunk if line[:1] in ("-", " ", ""))
        new = "\n".join(line[1:] for line in hunk if line[:1] in ("+", " ", ""))
        return "edit", {"file_path": head[len(_UPDATE) :], "old_string": old, "new_string": new}
    return None
