"""Files of a project that extensions read: found from the repository's root down, never outside of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.agent.project.places import folders
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.system import probe

SETTINGS_BYTES = 1_000_000
"""Largest size of a project's settings, in bytes."""


CLAUDE_FILES = (".claude/settings.json", ".claude/settings.local.json")
"""A project's settings of Claude Code."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """Found files or folders, outermost first, and a note for each that leads out of the repository."""

    paths: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def project_files(cwd: Path, names: Sequence[str]) -> ProjectFiles:
    """Return the files or folders of these names in the folders from the repository's root down to `cwd`.

    A link that leads out of the repository is skipped with a note. An unknown repository must not make agentcli read
    the user's own files.
    """
    places = list(folders(cwd))
    root = places[0].resolve()
    found = [place / name for place in places for name in names if os.path.lexists(place / name)]
    inside = [path for path in found if _is_inside(path, root)]
    shown = [safe_line(os.path.relpath(path, places[0])) for path in found if path not in inside]
    return ProjectFiles(tuple(inside), tuple(f"{name} leads out of the repository: left out." for name in shown))


def is_settings_file(path: Path) -> bool:
    """Return True for the settings of a project in `.agentcli`; False for a link that leads out of the repository.

    Raise ConfigError if the file is too large or not regular, because reading a pipe would block.
    """
    if probe.exists(path):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(next(iter(folders(path.parent.parent))))):
            return False
        if not probe.is_file(path):
            raise ConfigError(f"{path} is not a regular file. Replace or remove it.")
        if path.stat().st_size > SETTINGS_BYTES:
            raise ConfigError(f"{path} is larger than {SETTINGS_BYTES:,} bytes. Make it smaller.")
    return True


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def label(path: Path, cwd: Path) -> str:
    """Return the path relative to the folder of its settings, such as `.claude/settings.json`.

    If that folder is not `cwd`, its name comes first.
    """
    folder = path.parent.parent
    inner = str(path.relative_to(folder))
    return inner if folder == cwd else f"{folder.name}/{inner}"
