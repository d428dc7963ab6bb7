"""Calls and patches of other programs, converted to calls of our tools. So the ledger, the diff and `recall` understand
an imported session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.aliases import Renaming, like_tool
from agentcli.core.message import ToolCall
from agentcli.core.record import TodoItem
from agentcli.core.text.patch import PatchError, parse


def ours(renaming: Renaming, name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Convert a call to our terms; an unknown tool keeps its name and input.

    Raises TypeError if the name is not text.
    """
    if not isinstance(name, str):
        raise TypeError(f"a tool is called {name!r}")
    known, parameters = renaming.get(name, (name, {}))
    given = {parameters.get(key) or key: value for key, value in arguments.items()}
    if isinstance(given.get("edits"), list):
        known = "multi_edit" if known == "edit" else known
        given["edits"] = [_renamed(edit, parameters) for edit in given["edits"]]
    return known, given


def _renamed(edit: Any, parameters: Mapping[str, str]) -> Any:
    return {parameters.get(key) or key: value for key, value in edit.items()} if isinstance(edit, Mapping) else edit


def todo_list(arguments: Mapping[str, Any]) -> tuple[TodoItem, ...]:
    """Return the list in a call that sets it, with any program's field names."""
    rows = arguments.get("todos") or arguments.get("plan") or ()
    return tuple(_todo(row) for row in rows if isinstance(row, Mapping))


def _todo(row: Mapping[str, Any]) -> TodoItem:
    content = row.get("content") or row.get("description") or row.get("step") or ""
    active = str(row.get("activeForm") or "")
    match row.get("status"):
        case "in_progress" | "completed" as status:
            return TodoItem(str(content), status, active)
        case _:
            return TodoItem(str(content), "pending", active)


def changes_file(call: ToolCall) -> bool:
    """Return True for an edit or a write."""
    return like_tool(call.name) in ("edit", "write")


def change(call: ToolCall) -> Mapping[str, Any]:
    """Return the file that an edit or write changed, and its added and deleted lines by its input; else nothing."""
    path = call.input.get("file_path")
    if not changes_file(call) or not isinstance(path, str) or not path:
        return {}
    edits = call.input.get("edits")
    texts = [each for each in (edits if isinstance(edits, list) else [call.input]) if isinstance(each, Mapping)]
    return {
        "path": path,
        "additions": sum(_lines(each.get("new_string") or each.get("content")) for each in texts),
        "deletions": sum(_lines(each.get("old_string")) for each in texts),
    }


def _lines(text: Any) -> int:
    return len(text.splitlines()) if isinstance(text, str) else 0


def as_edit(patch: str) -> tuple[str, dict[str, Any]] | None:
    """Convert a patch to a call of `write` or `edit`. None if it changes several places, or moves or deletes a file."""
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
