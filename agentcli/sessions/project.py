"""The project that a folder belongs to: one repository is one project, for every folder in it and wherever it lies.

In the store each place of a repository (a clone, a worktree, the folder that it was moved away from) has a folder of its own,
named by the hash of its path. `project.json` in it names that repository, so that its places find each other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from agentcli.core.codec.fields import text
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import StoreError
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.recovery import read_info
from agentcli.sessions.repository import Repository, main_worktree, read_repository, root_commit
from agentcli.sessions.storage.disk import DISK, Disk
from agentcli.sessions.storage.locked_file import update
from agentcli.sessions.storage.records import read_file

PROJECT = "project.json"
"""The file beside the sessions of one place that names its repository."""
_NAME_LENGTH = 40
_GONE_SHOWN = 3  # folders that a hint names
_FORMER = 8  # repositories that a place is remembered to have held


@dataclass(frozen=True, slots=True)
class Place:
    """A folder whose sessions the store has. `gone` when the repository does not lie there any more."""

    id: str
    directory: str
    gone: bool = False

    @property
    def name(self) -> str:
        """The last part of its path."""
        return os.path.basename(self.directory) or self.directory

    def __str__(self) -> str:
        return f"{self.directory} (gone)" if self.gone else self.directory


@dataclass(frozen=True, slots=True)
class Project:
    """The place that a folder belongs to, and the other places of the same repository: worktrees, clones, where it was before."""

    here: Place
    others: tuple[Place, ...] = ()

    @property
    def id(self) -> str:
        """The folder in the store for sessions that are led here."""
        return self.here.id

    @property
    def ids(self) -> tuple[str, ...]:
        """The folders in the store for sessions of all its places."""
        return (self.here.id, *(place.id for place in self.others))

    @property
    def own(self) -> tuple[str, ...]:
        """Of these, those of sessions that nobody else can mean: led here, or where the repository was before."""
        return (self.here.id, *(place.id for place in self.others if place.gone))

    def elsewhere(self, info: SessionInfo) -> Place | None:
        """The other place that a session was led in."""
        if info.project_id == self.here.id and not self.led_here(info):
            top = project_root(Path(info.directory))
            return Place(self.here.id, str(top), gone=not top.is_dir())
        return next((place for place in self.others if place.id == info.project_id), None)

    def led_here(self, info: SessionInfo) -> bool:
        """True unless a session of this repository was led in another of its worktrees."""
        if info.project_id != self.here.id:
            return info.project_id in self.own
        led = Path(info.directory)
        if led.is_dir():
            return str(project_root(led)) == self.here.directory
        return led.is_relative_to(self.here.directory)


def project_root(directory: Path) -> Path:
    """The repository's top folder (the nearest with a `.git`), or the folder itself outside of any."""
    here = Path(os.path.realpath(directory))
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def project_id(directory: Path) -> str:
    """A readable name and a hash of the whole path: stable, safe as a file name, different for different roots.

    The worktrees of a repository have that of its main one: they come and go, and share its sessions and states of files.
    """
    return _id(main_worktree(project_root(directory)))


def find_project(root: Path, directory: Path) -> Project:
    """The project of a folder, with every place of it that the store under `root` has sessions of.

    Reads files alone, but where only the first commit can tell: then git is asked for it, once.
    """
    top = project_root(directory)
    here = Place(_id(main_worktree(top)), str(top))
    repository = read_repository(top)
    if repository is None:
        return Project(here)
    commit = _remembered_commit(root / here.id, repository)
    others = [(place, held) for place, held in _places(root) if place.id != here.id]
    if commit is None and any(_only_commit_tells(repository, one) for _, held in others for one in held):
        commit = remember(root / here.id, main_worktree(top)).root_commit
    mine = replace(repository, root_commit=commit)
    same = [_now(place, mine) for place, held in others if any(map(mine.is_same, held))]
    return Project(here, tuple(same))


def remember(folder: Path, top: Path, disk: Disk = DISK) -> Repository:
    """Write down which repository lies in `top`, beside its sessions; git is asked for the first commit where that is not known.

    A disk that refuses is no trouble: it is written the next time.
    """
    repository = read_repository(top)
    if repository is None:
        return Repository("")
    commit = _remembered_commit(folder, repository)
    repository = replace(repository, root_commit=root_commit(top) if commit is None else commit)
    known = _held(folder)
    if not known or known[-1] != repository:
        with contextlib.suppress(StoreError):
            update(folder / PROJECT, lambda _: _with(folder, top, repository), disk=disk)
    return repository


def _with(folder: Path, top: Path, repository: Repository) -> str:
    """The content of `project.json` with this repository added."""
    former = [one for one in _held(folder) if not one.is_same(repository)][-_FORMER:]
    return json.dumps({"directory": str(top), "repositories": [asdict(one) for one in (*former, repository)]}) + "\n"


def remember_later(folder: Path, directory: Path) -> None:
    """The same in a thread of its own, which the end of the process waits for: git answers within milliseconds."""
    from threading import Thread

    top = main_worktree(project_root(directory))
    if (top / ".git").exists() and _id(top) == folder.name:
        Thread(target=remember, args=(folder, top)).start()


def about_gone_folders(root: Path) -> str:
    """Advice for sessions that seem lost: the store has some of folders that are gone, and this may have been one of them."""
    gone = [place for place, _ in _places(root) if not os.path.isdir(place.directory) and _sessions(root / place.id)]
    if not gone:
        return ""
    gone.sort(key=lambda place: _changed(root / place.id), reverse=True)
    named = ", ".join(place.directory for place in gone[:_GONE_SHOWN])
    more = f" and {len(gone) - _GONE_SHOWN:,} more" if len(gone) > _GONE_SHOWN else ""
    return (
        f"There are sessions of folders that are gone: {named}{more}. If this folder was one of them, bring its sessions here "
        "with `agentcli sessions move --from FOLDER`."
    )


def top_for(project: str, directory: str) -> Path:
    """The top folder of the place with this id, which `directory` is or was in; it need not be there any more."""
    here = Path(directory)
    return next((above for above in (here, *here.parents) if _id(above) == project), here)


def _id(root: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:_NAME_LENGTH]
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()
    return f"{name or 'root'}-{digest[:10]}"


def _places(root: Path) -> Iterator[tuple[Place, Sequence[Repository]]]:
    """Every place with sessions, and the repositories that it is known to have held."""
    try:
        names = os.listdir(root)
    except OSError:
        return
    for name in names:
        if name.startswith("."):
            continue
        raw = _read(root / name)
        directory = str(raw.get("directory") or "") or _top_of(root / name)
        if directory:
            yield Place(name, directory), _repositories(raw) or _found_there(directory)


def _read(folder: Path) -> dict[str, Any]:
    try:
        raw = json.loads(read_file(folder / PROJECT))
    except (OSError, ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}


def _repositories(raw: dict[str, Any]) -> Sequence[Repository]:
    try:
        return [
            Repository(text(one, "common"), text(one, "remote"), one.get("root_commit"))
            for one in map(dict, raw.get("repositories") or ())
        ]
    except (TypeError, ValueError):
        return ()


def _held(folder: Path) -> Sequence[Repository]:
    return _repositories(_read(folder))


def _remembered_commit(folder: Path, repository: Repository) -> str | None:
    held = _held(folder)
    known = held[-1] if held else None
    return known.root_commit if known and replace(known, root_commit=None) == repository else None


def _only_commit_tells(mine: Repository, other: Repository) -> bool:
    return bool(other.root_commit) and not mine.is_same(other) and not (mine.remote and other.remote)


def _now(place: Place, mine: Repository) -> Place:
    """True if the repository still lies there."""
    there = read_repository(Path(place.directory))
    return replace(place, gone=there is None or not (there.is_same(mine) or not there.remote))


def _found_there(directory: str) -> Sequence[Repository]:
    found = read_repository(Path(directory))
    return [found] if found else ()


def _top_of(folder: Path) -> str:
    """The place whose sessions lie in a folder of the store without a `project.json`: their own folder, or one above it."""
    infos = (read_info(session) for session in _sessions(folder))
    info = next((info for info in infos if info is not None), None)
    return str(top_for(folder.name, info.directory)) if info else ""


def _sessions(folder: Path) -> Sequence[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return ()


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
