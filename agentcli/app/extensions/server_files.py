"""Changes of the files that define servers; everything else in them stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from agentcli.app.project import ProjectContext
from agentcli.app.trust import repository
from agentcli.core.errors import ConfigError, InputError
from agentcli.integrations.mcp.config import definition
from agentcli.integrations.mcp.files import USER_FILE
from agentcli.sessions.storage.locked_file import update

FileScope = Literal["user", "project"]
PROJECT_FILE = ".mcp.json"
"""The file of a project that servers are added to: other programs read it, too."""


def server_file(project: ProjectContext, scope: FileScope) -> Path:
    """The file that holds the servers of a scope."""
    return project.dirs.config / USER_FILE if scope == "user" else repository(project.cwd) / PROJECT_FILE


def add_server(file: Path, name: str, given: Mapping[str, Any]) -> list[str]:
    """Write a server's definition, in place of one of that name. Returns what is odd about it. Raises InputError for one that makes no sense."""
    found = definition(name, dict(given), file.name)
    if not found.servers:
        raise InputError(" ".join(found.problems))

    def changed(text: str) -> str:
        whole = _whole(text, file)
        whole.setdefault("mcpServers", {})[name] = given
        return _written(whole)

    update(file, changed)
    return list(found.problems)


def remove_server(file: Path, name: str) -> bool:
    """Remove a server's definition. False where there is none."""
    if not file.is_file() or name not in _whole(file.read_text(encoding="utf-8"), file).get("mcpServers", {}):
        return False

    def changed(text: str) -> str:
        whole = _whole(text, file)
        whole.get("mcpServers", {}).pop(name, None)
        return _written(whole)

    update(file, changed)
    return True


def _whole(text: str, file: Path) -> dict[str, Any]:
    try:
        whole = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not valid JSON, so it was left as it was: {error}") from error
    if not isinstance(whole, dict) or not isinstance(whole.get("mcpServers", {}), dict):
        raise ConfigError(f'{file} has no object "mcpServers", so it was left as it was.')
    return whole


def _written(whole: Mapping[str, Any]) -> str:
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
