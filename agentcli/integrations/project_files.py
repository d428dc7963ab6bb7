"""Files of a project that extensions read: found from the repository's root down, never outside of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.integrations.instructions import folders

SETTINGS_BYTES = 1_000_000
"""Size of a project's settings at most."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files or folders that were found, outermost first, and a note for each that leads out of the repository."""

    paths: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def project_files(cwd: Path, names: Sequence[str]) -> ProjectFiles:
    """The files or folders of these names in the folders from the repository's root down to `cwd`.

    A link that leads out of the repository is passed over and named: a stranger's repository must not have the user's
    own files read.
    """
    places = list(folders(cwd))
    root = places[0].resolve()
    found = [place / name for place in places for name in names if os.path.lexists(place / name)]
    inside = [path for path in found if _is_inside(path, root)]
    shown = [safe_line(os.path.relpath(path, places[0])) for path in found if path not in inside]
    return ProjectFiles(tuple(inside), tuple(f"{name} leads out of the repository: left out." for name in shown))


def is_settings_file(path: Path) -> bool:
    """True for the settings of a project in `.agentcli`; false for a link that leads out of the repository.

    Raises ConfigError for one that is no regular file, since a pipe in somebody's repository would block, or too large.
    """
    if path.exists():
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(next(iter(folders(path.parent.parent))))):
            return False
        if not path.is_file():
            raise ConfigError(f"{path} is no regular file. Replace or remove it.")
        if path.stat().st_size > SETTINGS_BYTES:
            raise ConfigError(f"{path} is larger than {SETTINGS_BYTES:,} bytes. Make it smaller.")
    return True


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False
