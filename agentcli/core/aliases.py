"""Names that other programs use for our tools and their parameters.

Imports, slips of models and definitions all read this one table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from agentcli.core.text.words import did_you_mean, near_names

Renaming = Mapping[str, tuple[str, Mapping[str, str]]]
"""Foreign name to our name, and foreign parameter to our parameter. Parameters not listed stay unchanged; parameters
mapped to an empty name mean nothing here.
"""

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
    "TaskOutput": ("bash_output", {"task_id": "id", "block": "", "timeout": ""}),
    "TaskStop": ("bash_stop", {"task_id": "id"}),
    "Read": ("read", {}),
    "Write": ("write", {}),
    "Edit": ("edit", {}),
    "MultiEdit": ("multi_edit", {}),
    "Glob": ("glob", {}),
    "Grep": ("grep", {}),
    "LS": ("list", {}),
    "WebFetch": ("web_fetch", {}),
    "WebSearch": ("web_search", {"allowed_domains": "", "blocked_domains": ""}),
    "TodoWrite": ("todo", {}),
    "TaskList": ("todo", {}),
    "Task": ("task", {"subagent_type": "agent", "background": "run_in_background"}),
    "Agent": ("task", {"subagent_type": "agent", "background": "run_in_background"}),
    "AskUserQuestion": ("ask_user", {}),
    "ExitPlanMode": ("exit_plan", {}),
    "Skill": ("skill", {"skill": "name", "args": "arguments"}),
}
GEMINI_CLI: Renaming = {
    "run_shell_command": ("bash", {"is_background": "run_in_background", "dir_path": "cwd", "directory": "cwd"}),
    "read_file": ("read", {"absolute_path": "file_path", "path": "file_path"}),
    "write_file": ("write", {}),
    "replace": ("edit", {"allow_multiple": "replace_all"}),
    "glob": ("glob", {"dir_path": "path"}),
    "search_file_content": ("grep", {"dir_path": "path", "include": "glob"}),
    "grep_search": ("grep", {"dir_path": "path", "include": "glob", "include_pattern": "glob"}),
    "list_directory": ("list", {"dir_path": "path"}),
    "web_fetch": ("web_fetch", {}),
    "google_web_search": ("web_search", {}),
    "write_todos": ("todo", {"description": "content"}),
    "ask_user": ("ask_user", {}),
    "activate_skill": ("skill", {}),
}
PATCH = "apply_patch"
AGENTS: Mapping[str, str] = {"general-purpose": "general", "Explore": "explore"}
"""Claude Code's names of its built-in kinds of subagents, with ours."""
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
    "websearch": ("web_search", {"numResults": "", "livecrawl": "", "type": "", "contextMaxCharacters": ""}),
    "todowrite": ("todo", {}),
    "task": ("task", {"subagent_type": "agent", "background": "run_in_background"}),
    "question": ("ask_user", {}),
}
_CODEX_COMMAND = {
    "workdir": "cwd",
    "timeout_ms": "timeout",
    **dict.fromkeys(("login", "shell", "tty", "yield_time_ms", "max_output_tokens"), ""),
    **dict.fromkeys(("justification", "sandbox_permissions", "with_escalated_permissions", "prefix_rule"), ""),
}
CODEX: Renaming = {
    "shell": ("bash", _CODEX_COMMAND),
    "shell_command": ("bash", _CODEX_COMMAND),
    "exec_command": ("bash", {"cmd": "command", **_CODEX_COMMAND}),
    "write_stdin": ("bash_output", {"session_id": "id", "yield_time_ms": "", "max_output_tokens": ""}),
    "local_shell": ("bash", {}),
    "view_image": ("read", {"path": "file_path"}),
    "container.exec": ("bash", {}),
    "apply_patch": ("apply_patch", {"patch": "input"}),
    "update_plan": ("todo", {"plan": "todos", "step": "content"}),
}
CURSOR: Renaming = {
    "read_file": ("read", {"target_file": "file_path"}),
    "search_replace": ("edit", {}),
    "list_dir": ("list", {"target_directory": "path", "relative_workspace_path": "path"}),
    "glob_file_search": ("glob", {"glob_pattern": "pattern", "target_directory": "path"}),
    "run_terminal_cmd": ("bash", {"is_background": "run_in_background"}),
    "web_search": ("web_search", {"search_term": "query"}),
}
TEXT_EDITOR: Renaming = {
    "view": ("read", {"path": "file_path"}),
    "create": ("write", {"path": "file_path", "file_text": "content"}),
    "str_replace": ("edit", {"path": "file_path", "old_str": "old_string", "new_str": "new_string"}),
}
"""The text editor tool that Claude is trained on: its `command`, also used as a name."""
TEXT_EDITORS = ("str_replace_based_edit_tool", "str_replace_editor", "str_replace_based_edit")
_SLIPS: Renaming = {
    "read": ("read", {"file": "file_path", "filename": "file_path"}),
    "write": ("write", {"file": "file_path", "filename": "file_path", "contents": "content", "text": "content"}),
    "edit": ("edit", {"file": "file_path", "filename": "file_path"}),
    "list": ("list", {"file_path": "path", "directory": "path"}),
    "glob": ("glob", {"directory": "path", "glob": "pattern"}),
    "grep": (
        "grep",
        {"file_path": "path", "directory": "path", "query": "pattern", "regex": "pattern", "case_insensitive": "-i"},
    ),
    "search": ("grep", {}),
    "execute_command": ("bash", {}),
    "terminal": ("bash", {}),
}
"""Names that belong to no program, or to several."""
_VERBS: Mapping[str, str] = {
    "read": "read view open show cat", "write": "write create save", "edit": "edit replace", "bash": "run execute exec",
    "list": "list ls", "grep": "search grep", "glob": "find glob", "web_fetch": "fetch",
}  # fmt: skip
_OBJECTS: Mapping[str, str] = {
    "read": "file files content contents lines", "write": "file", "edit": "file in text string",
    "bash": "bash shell command cmd terminal in", "list": "dir directory folder files contents",
    "grep": "file files code content contents text in", "glob": "file files by name path", "web_fetch": "url web page",
}  # fmt: skip
"""Words of which names of tools that belong to no program consist: a verb first, then objects (`view_file`)."""
_PROGRAMS = (CLAUDE_CODE, GEMINI_CLI, PI, OPENCODE, CODEX, CURSOR, TEXT_EDITOR, _SLIPS)
_LIKE: Mapping[str, str] = {"multi_edit": "edit", "apply_patch": "edit"}
"""Tools that do what another tool does: rules about that tool cover them."""
_EDITS = ("edit", "multi_edit")
"""Tools that share their parameters."""
TALK = frozenset(
    [
        "explanation",
        "instruction",
        "reason",
        "reasoning",
        "thought",
        "thoughts",
        "description",
        "task_progress",
        "expected_replacements",
    ]
)
"""Parameters that models add without asking for anything: a call means the same without them."""
SYNONYMS: Mapping[str, str] = {
    "done": "completed", "complete": "completed", "finished": "completed", "canceled": "cancelled", "todo": "pending",
    "doing": "in_progress", "active": "in_progress", "files": "files_with_matches", "lines": "content",
}  # fmt: skip
"""Synonyms for the values of a parameter with a fixed set of values."""


def meanings(name: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Return our tools that other programs call by this name, each with our names of the parameters.

    A name that no program uses may consist of words that describe one of our tools (`view_file`).
    """
    found = [
        meant
        for program in _PROGRAMS
        for foreign, meant in program.items()
        if _plain(foreign) in (_plain(name), _plain(_bare(name)))
    ]
    own = "" if found else _composed(name)
    return iter(found or ([(own, parameter_aliases(own))] if own else []))


def known_as(name: str) -> str:
    """Return our name of a tool that another program calls by this name; empty if none does."""
    plain = _plain(name)
    for program in _PROGRAMS:
        for foreign, (own, _) in program.items():
            if _plain(foreign) == plain:
                return own
    return ""


@cache
def parameter_aliases(tool: str) -> Mapping[str, str]:
    """Return the names that other programs give to a tool's parameters, each with our name."""
    like = _EDITS if tool in _EDITS else (tool,)
    found: dict[str, str] = {}
    for program in _PROGRAMS:
        for own, parameters in program.values():
            if own in like:
                found = {**parameters, **found}
    return found


def own_parameter(tool: str, name: str, known: Collection[str]) -> str:
    """Return our name of a tool's parameter, also in other letters (`filePath`), or without a dash; else the name."""
    aliases = parameter_aliases(tool)
    if name in aliases:
        return aliases[name]
    plain = _plain(name)
    return next((own for own in known if _plain(own) == plain), "") or next(
        (own for foreign, own in aliases.items() if _plain(foreign) == plain), name
    )


def like_tool(name: str) -> str:
    """Return the tool that shares its parameters and results with another, else the tool itself.

    An example is `edit` for several edits in one call.
    """
    return _LIKE.get(name, name)


def own_name(name: str, known: Collection[str]) -> str:
    """Return the known tool that a model means by a misspelled or prefixed name (`Bash`, `default_api:read`); else the
    name.
    """
    if name in known:
        return name
    plain = _plain(_bare(name))
    return next((tool for tool in known if _plain(tool) == plain), name)


def no_tool(name: str, known: Collection[str]) -> str:
    """Return the answer to a call of an unknown tool; it suggests the intended tool if that can be guessed."""
    meant = known_as(name) or known_as(_bare(name)) or _composed(name) or next(iter(near_names(name, known)), "")
    question = did_you_mean([meant] if meant in known else [])
    return f"There is no tool {name!r}.{question} There are: {', '.join(sorted(known))}."


def own_rule(rule: str) -> str:
    """Return a permission rule with our name of its tool; empty for an unknown tool.

    `Bash(git add:*)` becomes `bash(git add:*)`. Tools of servers have the same names everywhere.
    """
    name, paren, rest = rule.strip().partition("(")
    own = name if "__" in name else known_as(name)
    return f"{own}{paren}{rest}" if own else ""


def _composed(name: str) -> str:
    """Return our tool that the words of a name describe; empty for none."""
    verb, *objects = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", " ", _bare(name)).lower().split() or [""]
    fits = (tool for tool, verbs in _VERBS.items() if verb in verbs.split() and {*objects} <= {*_OBJECTS[tool].split()})
    return next(fits, "")


def _bare(name: str) -> str:
    """Return the name without the namespace that some models put before it: `default_api:`, `functions.`."""
    return re.sub(r"^.*[.:/]", "", name, flags=re.DOTALL)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
