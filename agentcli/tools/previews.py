"""What a call would change, shown before it is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.codec import dumps
from agentcli.core.tool import Tool, Workplace
from agentcli.tools import edit, write


def preview(work: Workplace, tool: Tool, given: Mapping[str, Any]) -> str:
    """The unified diff of an edit, the whole command, or the input as JSON. Raises ToolError for an edit that cannot be made."""
    match tool.name:
        case "write":
            return write.preview(work, given["file_path"], given["content"])
        case "edit":
            change = edit.Replacement(given["old_string"], given["new_string"], bool(given.get("replace_all")))
            return edit.preview(work, given["file_path"], [change])
        case "multi_edit":
            return edit.preview(work, given["file_path"], [edit.Replacement(**item) for item in given["edits"]])
        case "bash":
            return str(given["command"])
        case "exit_plan":
            return str(given["plan"])
        case _:
            return dumps(dict(given))
