"""Trust in folders, and the files that each would load: nothing of it is loaded or run before."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.sessions.storage.locked_file import update

Kind = Literal["settings"]

_LOADED: tuple[tuple[Kind, str, str], ...] = (("settings", ".agentcli/config.toml", "changes how agentcli works"),)
"""Kind, path below the folder, and effect of all that trust has loaded; instruction files are read without it."""


@dataclass(frozen=True, slots=True)
class Loadable:
    """Something in a folder that agentcli would load once the folder is trusted; `effect` says in words what that does."""

    kind: Kind
    path: Path
    effect: str

    def __str__(self) -> str:
        return f"{safe_line(str(self.path))} ({self.kind}: {self.effect})"


def is_trusted(folder: Path, file: Path) -> bool:
    """True if the user trusted this folder, or one above it within the same repository.

    A repository inside a trusted folder is a stranger again: it may have been cloned there since. `file` is where trust is
    kept; if it cannot be read, or others may write it, nothing is trusted.
    """
    try:
        trusted = _read(file)
    except ConfigError:
        return False
    return any(str(place) in trusted for place in _reach(_resolved(folder)))


def trust(folder: Path, file: Path) -> None:
    """Remember that the user trusts a folder. Raises ConfigError when the file there cannot be read, and StoreError when it
    cannot be written: it is then left as it was.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _edit(file, lambda folders: folders | {str(_resolved(folder)): now})


def what_it_would_load(folder: Path) -> tuple[Loadable, ...]:
    """The files that agentcli would load from a folder once it is trusted. Nothing is opened, only looked for."""
    place = _resolved(folder)
    found = ((kind, place / name, effect) for kind, name, effect in _LOADED)
    return tuple(Loadable(kind, path, effect) for kind, path, effect in found if os.path.lexists(path))


def _reach(folder: Path) -> list[Path]:
    """The folder and those above it that belong to the same repository; without a repository, the folder alone."""
    places = [folder, *folder.parents]
    top = next((number for number, place in enumerate(places) if os.path.lexists(place / ".git")), 0)
    return places[: top + 1]


def _resolved(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _read(file: Path) -> dict[str, str]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}. No folder counts as trusted.") from error
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise ConfigError(
                f"{file} can be changed by others. No folder counts as trusted; make it yours with mode 0600."
            )
        return _parsed(stream.read(), file)


def _parsed(text: str, file: Path) -> dict[str, str]:
    try:
        folders = json.loads(text)["folders"]
        return {str(name): str(since) for name, since in folders.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged. No folder counts as trusted; correct or remove it.") from error


def _edit(file: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    def changed(_: str) -> str:
        # Read anew, with all that must hold of a file that decides what runs.
        return json.dumps({"schema": 1, "folders": change(_read(file))}, indent=1, ensure_ascii=True) + "\n"

    update(file, changed)
