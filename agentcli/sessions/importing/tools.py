"""Other programs' tools under our names and parameters, so that the ledger, the diff and `recall` understand an imported session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.record import TodoItem

Renaming = Mapping[str, tuple[str, Mapping[str, str]]]
"""Foreign name to our name, and foreign parameter to our parameter; what is not named stays as it is."""

PI: Renaming = {
    "bash": ("bash", {}),
    "read": ("read", {"path": "file_path"}),
    "write": ("write", {"path": "file_path"}),
    "edit": ("edit", {"path": "file_path", "oldText": "old_string", "newText": "new_string"}),
    "grep": ("grep", {"context": "-C", "limit": "head_limit", "ignoreCase": "-i"}),
    "find": ("glob", {}),
    "ls": ("list", {}),
}
CLAUDE_CODE: Renaming = {
    "Bash": ("bash", {}),
    "BashOutput": ("bash_output", {"bash_id": "id"}),
    "KillShell": ("bash_stop", {"shell_id": "id"}),
    "KillBash": ("bash_stop", {"shell_id": "id"}),
    "Read": ("read", {}),
    "Write": ("write", {}),
    "Edit": ("edit", {}),
    "MultiEdit": ("multi_edit", {}),
    "Glob": ("glob", {}),
    "Grep": ("grep", {}),
    "LS": ("list", {}),
    "WebFetch": ("web_fetch", {}),
    "TodoWrite": ("todo", {}),
    "Task": ("task", {"subagent_type": "agent"}),
    "Agent": ("task", {"subagent_type": "agent"}),
    "AskUserQuestion": ("ask_user", {}),
    "ExitPlanMode": ("exit_plan", {}),
}
GEMINI_CLI: Renaming = {
    "run_shell_command": ("bash", {}),
    "read_file": ("read", {"absolute_path": "file_path", "path": "file_path"}),
    "write_file": ("write", {}),
    "replace": ("edit", {}),
    "glob": ("glob", {"dir_path": "path"}),
    "search_file_content": ("grep", {"dir_path": "path", "include": "glob"}),
    "grep_search": ("grep", {"dir_path": "path", "include": "glob", "include_pattern": "glob"}),
    "list_directory": ("list", {"dir_path": "path"}),
    "web_fetch": ("web_fetch", {}),
    "write_todos": ("todo", {}),
    "ask_user": ("ask_user", {}),
}
_OPENCODE_EDIT = {
    "filePath": "file_path",
    "oldString": "old_string",
    "newString": "new_string",
    "replaceAll": "replace_all",
}
OPENCODE: Renaming = {
    "bash": ("bash", {"workdir": "cwd"}),
    "read": ("read", {"filePath": "file_path"}),
    "write": ("write", {"filePath": "file_path"}),
    "edit": ("edit", _OPENCODE_EDIT),
    "multiedit": ("multi_edit", _OPENCODE_EDIT),
    "glob": ("glob", {}),
    "grep": ("grep", {"include": "glob"}),
    "list": ("list", {}),
    "webfetch": ("web_fetch", {}),
    "todowrite": ("todo", {}),
    "task": ("task", {"subagent_type": "agent"}),
    "question": ("ask_user", {}),
}
CODEX: Renaming = {
    "shell": ("bash", {"workdir": "cwd"}),
    "shell_command": ("bash", {"workdir": "cwd"}),
    "exec_command": ("bash", {"cmd": "command", "workdir": "cwd"}),
    "local_shell": ("bash", {}),
    "view_image": ("read", {"path": "file_path"}),
    "container.exec": ("bash", {}),
    "update_plan": ("todo", {}),
}


def ours(renaming: Renaming, name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call in our terms; one that we have no equal for keeps its own name and input. Raises TypeError for no name at all."""
    if not isinstance(name, str):
        raise TypeError(f"a tool is called {name!r}")
    known, parameters = renaming.get(name, (name, {}))
    given = {parameters.get(key, key): value for key, value in arguments.items()}
    if isinstance(given.get("edits"), list):
        known = "multi_edit" if known == "edit" else known
        given["edits"] = [_renamed(edit, parameters) for edit in given["edits"]]
    return known, given


def _renamed(edit: Any, parameters: Mapping[str, str]) -> Any:
    return {parameters.get(key, key): value for key, value in edit.items()} if isinstance(edit, Mapping) else edit


def todo_list(arguments: Mapping[str, Any]) -> tuple[TodoItem, ...]:
    """The list in a call that set it, whatever the program calls its fields."""
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
