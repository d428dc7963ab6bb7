"""Patches of imported sessions as calls of `write` and `edit`, as far as these can express them."""

from __future__ import annotations

from typing import Any

from agentcli.core.text.patch import PatchError, parse


def as_edit(patch: str) -> tuple[str, dict[str, Any]] | None:
    """Convert a patch to a call of `write` or `edit`; None if it changes several places or moves or deletes a file."""
    try:
        changes = parse(patch)
    except PatchError:
        return None
    change = changes[0]
    if len(changes) > 1 or change.move_to:
        return None
    if change.kind == "add":
        return "write", {"file_path": change.path, "content": change.content}
    if change.kind == "update" and len(change.hunks) == 1:
        [hunk] = change.hunks
        texts = {"old_string": "\n".join(hunk.old), "new_string": "\n".join(hunk.new)}
        return "edit", {"file_path": change.path, **texts}
    return None
