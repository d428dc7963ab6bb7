"""The edit and multi_edit tools: replace text in a file, exactly at the place that the model gives."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.text.words import plural
from agentcli.core.tool import Behaviour, Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class Replacement:
    """One change of a `multi_edit`."""

    old_string: str
    new_string: str
    replace_all: bool = False


async def edit(
    ctx: ToolContext,
    call_id: str,
    file_path: str,
    old_string: str,
    new_string: Annotated[str, "Empty to delete"],
    replace_all: bool = False,
) -> ToolOutput:
    from agentcli.tools.lib.edits import Change, edit_file

    return await asyncio.to_thread(edit_file, ctx, file_path, [Change(old_string, new_string, replace_all)])


async def multi_edit(ctx: ToolContext, call_id: str, file_path: str, edits: list[Replacement]) -> ToolOutput:
    from agentcli.tools.lib.edits import Change, edit_file

    if not edits:
        raise ToolError("edits is empty: there is nothing to change.")
    changes = [
        Change(**item) if isinstance(item, Mapping) else Change(item.old_string, item.new_string, item.replace_all)
        for item in edits
    ]
    return await asyncio.to_thread(edit_file, ctx, file_path, changes)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Edit a.py`."""
    return f"Edit {given.get('file_path', '')}"


def multi_title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Edit a.py (3 changes)`."""
    edits = given.get("edits")
    return f"{title(given)} ({plural(len(edits), 'change')})" if isinstance(edits, list) else title(given)


def preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the unified diff of an edit, for approval. Raises ToolError if the edit is impossible."""
    from agentcli.tools.lib.edits import Change, edit_preview

    change = Change(given["old_string"], given["new_string"], bool(given.get("replace_all")))
    return edit_preview(ctx, given["file_path"], [change])


def multi_preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the unified diff of all changes of a `multi_edit` together, for approval."""
    from agentcli.tools.lib.edits import Change, edit_preview

    return edit_preview(ctx, given["file_path"], [Change(**item) for item in given["edits"]])


EDIT = Entry("edit", edit, title, Traits("write", Subject("file_path", "file")), preview)
MULTI_EDIT = Entry(
    "multi_edit",
    multi_edit,
    multi_title,
    Traits("write", Subject("file_path", "file", allowed_as="edit"), Behaviour(dispensable=True)),
    multi_preview,
)
