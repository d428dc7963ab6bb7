"""Files that define MCP servers, from the user's to the current folder's; of one server name, the last file counts."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path

from agentcli.core.sanitise import safe_line
from agentcli.mcp.config import Definitions, Scope, parsed
from agentcli.mcp.gemini import read_gemini
from agentcli.project.files import project_files
from agentcli.system.regular_file import Missing, Unusable, read_regular, version

USER_FILE = "mcp.json"
"""The user's own definitions, in the configuration folder."""
GEMINI = ".gemini/settings.json"
PROJECT_FILES = (GEMINI, ".mcp.json", ".agentcli/mcp.json")
"""Definitions of a project, of which the last counts; each kind is looked for from the top of the repository down."""
FILE_BYTES = 1_000_000
"""Largest size of a file of definitions, in bytes."""


def user_definitions(config: Path) -> Definitions:
    """Return the user's own servers."""
    return _read(config / USER_FILE, str(config / USER_FILE), "user")


def project_definitions(cwd: Path) -> Definitions:
    """Return the servers that the files of a project define, without starting any."""
    files = project_files(cwd, PROJECT_FILES)
    found = Definitions(problems=files.notes)
    for name in PROJECT_FILES:
        for path in files.paths:
            if path.as_posix().endswith(f"/{name}"):
                found += _read(path, os.path.relpath(path, cwd), "project")
    return found


def given_definitions(text: str, cwd: Path) -> Definitions:
    """Return the servers of `--mcp-config`: either JSON, or the name of a file."""
    if text.lstrip().startswith("{"):
        return parsed(text, "--mcp-config", "flag")
    path = cwd / Path(text).expanduser()
    if not path.is_file():
        return Definitions(problems=(f"--mcp-config: {text} is not a file.",))
    return _read(path, text, "flag")


def _read(path: Path, source: str, scope: Scope) -> Definitions:
    return _parsed(path, safe_line(source), scope, version(path))


@lru_cache(maxsize=64)
def _parsed(path: Path, source: str, scope: Scope, _: tuple[int, ...]) -> Definitions:
    """Return the servers of one version of a file."""
    try:
        text = read_regular(path, FILE_BYTES).decode("utf-8", errors="replace")
    except Missing:
        return Definitions()
    except Unusable as why:
        return Definitions(problems=(f"{source}: {why} — its servers are left out.",))
    return parsed(text, source, scope, read_gemini if path.as_posix().endswith(f"/{GEMINI}") else json.loads)
