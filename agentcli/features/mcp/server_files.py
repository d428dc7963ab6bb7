"""Edit the files that define servers; everything else in them stays."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError, InputError
from agentcli.features.mcp.config import definition
from agentcli.features.mcp.names import USER_FILE
from agentcli.program.project import Project
from agentcli.program.trust import repository
from agentcli.system import probe
from agentcli.system.locked_file import update
from agentcli.system.paths import folder

FileScope = Literal["user", "project"]
PROJECT_FILE = ".mcp.json"
"""File of a project to which servers are added: other programs read it, too."""


@dataclass(frozen=True, slots=True)
class ServerFile:
    """A file to which servers are written. The lock of a project's file is outside the project."""

    path: Path
    lock: Path

    def change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the JSON of the file. Raises ConfigError for a file with other content."""

        def changed(text: str) -> str:
            whole = _whole(text, self.path)
            change(whole.setdefault("mcpServers", {}))
            return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"

        folder(self.lock.parent)
        update(self.path, changed, lock=self.lock)


def server_file(project: Project, scope: FileScope) -> ServerFile:
    """Return the file with the servers of a scope. Raises InputError for a link that leads out of the repository."""
    own = project.dirs.config / USER_FILE
    lock = own.with_name(f".{USER_FILE}.lock")
    if scope == "user":
        return ServerFile(own, lock)
    file = repository(project.cwd) / PROJECT_FILE
    if not Path(os.path.realpath(file)).is_relative_to(file.parent):
        raise InputError(f"{file} leads out of the repository, so it was not changed.")
    return ServerFile(file, lock)


def add_server(file: ServerFile, name: str, given: Mapping[str, Any]) -> tuple[bool, list[str]]:
    """Write a server's definition.

    Return whether it replaced one, and warnings about it. Raises InputError for an invalid one.
    """
    found = definition(name, dict(given), file.path.name)
    if not found.servers:
        raise InputError(" ".join(found.problems))
    replaced = False

    def change(servers: dict[str, Any]) -> None:
        nonlocal replaced
        replaced = name in servers
        servers[name] = given

    file.change(change)
    return replaced, list(found.problems)


def remove_server(file: ServerFile, name: str) -> bool:
    """Remove a server's definition. Return False if it did not exist."""
    path = file.path
    if not probe.is_file(path) or name not in _whole(path.read_text(encoding="utf-8"), path).get("mcpServers", {}):
        return False
    file.change(lambda servers: servers.pop(name, None))
    return True


def _whole(text: str, file: Path) -> dict[str, Any]:
    try:
        whole = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not valid JSON, so it was not changed: {error}") from error
    if not isinstance(whole, dict) or not isinstance(whole.get("mcpServers", {}), dict):
        raise ConfigError(f'{file} has no object "mcpServers", so it was not changed.')
    return whole
