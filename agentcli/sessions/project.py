"""Project of a folder. One repository is one project, for every folder in it and at every place.

A place of a repository is a clone, a worktree, or its previous folder. In the store each place has its own folder,
named by the hash of its path. Its `project.json` names the repository, so that the places find each other. Git's own
files suffice to see that two folders contain the same repository.
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
from threading import Thread
from typing import Any

from agentcli.core.codec.fields import text
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import StoreError
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.storage.records import read_file
from agentcli.system.disk import DISK, Disk
from agentcli.system.locked_file import update
from agentcli.system.programs import hardened

GIT_SECONDS = 3.0
"""Seconds that git may take to find the first commit. After a timeout, git is not called again."""
_SCP = re.compile(r"^(?:[^@/]*@)?([^/:]+):(?!//)(.*)$")
_URL = re.compile(r"^([a-z][a-z0-9+.-]*)://(?:[^@/]*@)?([^/:]*)(?::\d+)?(/.*)?$", re.IGNORECASE)
_SECTION = re.compile(r'^\[\s*remote\s+"(.*)"\s*\]')


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository in a folder."""

    common: str
    """The git folder that all its worktrees share."""
    remote: str = ""
    """The normalised URL of its remote; empty if there is none."""
    root_commit: str | None = None
    """The id of the first commit; empty if git was too slow, None if it is unknown."""

    def is_same(self, other: Repository) -> bool:
        """Return True if both are one repository: worktrees, clones, or the same before and after a move.

        First commit and remote must not contradict each other, and at least one must be known to agree. Forks share the
        first commit but not the remote; copies of a template share neither.
        """
        commits = _agree(self.root_commit, other.root_commit)
        remotes = _agree(self.remote, other.remote)
        if self.common == other.common:
            return commits is not False  # remotes change more often than folders are reused for another repository
        return False not in (commits, remotes) and bool(commits or remotes)


def _agree(one: str | None, other: str | None) -> bool | None:
    """Compare two facts; None if one of them is unknown."""
    return one == other if one and other else None


def read_repository(root: Path) -> Repository | None:
    """Read the files under `root/.git`, without calling git; None if there is no repository."""
    git = root / ".git"
    if git.is_file():
        link = _text(git).strip()
        if not link.startswith("gitdir:"):
            return None
        git = Path(os.path.realpath(root / link.removeprefix("gitdir:").strip()))
    if not (git / "HEAD").is_file():
        return None
    shared = _text(git / "commondir").strip()
    common = os.path.realpath(git / shared if shared else git)
    return Repository(common, _remote(_text(Path(common) / "config")))


def main_worktree(top: Path) -> Path:
    """Return the top folder of a repository's main worktree if `top` is a linked one; else `top` itself.

    The repository must know the worktree: a `.git` file can point to any foreign repository.
    """
    git = top / ".git"
    if not git.is_file():
        return top
    own = Path(os.path.realpath(top / _text(git).strip().removeprefix("gitdir:").strip()))
    known, shared = _text(own / "gitdir").strip(), _text(own / "commondir").strip()
    if not (known and shared) or os.path.realpath(own / known) != os.path.realpath(git):
        return top
    common = Path(os.path.realpath(own / shared))
    main = common.parent
    return main if common.name == ".git" and own.parent == common / "worktrees" and common.is_dir() else top


def root_commit(root: Path) -> str | None:
    """Ask git for the oldest first commit among HEAD's ancestors; empty after `GIT_SECONDS`, None if there is none."""
    import subprocess

    command = ["git", "-C", str(root), "rev-list", "--max-parents=0", "HEAD", "--"]
    try:
        asked = subprocess.run(
            command,
            env=hardened(os.environ, [root]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    except OSError:
        return None
    found = asked.stdout.decode("ascii", "replace").split()
    # its oldest commit is not the first one: other clones are cut elsewhere
    shallow = Path(read_common(root), "shallow")
    return None if asked.returncode or not found else "" if shallow.exists() else found[-1]


def read_common(root: Path) -> str:
    """Return the git folder that the worktrees of a repository share, or an empty text."""
    repository = read_repository(root)
    return repository.common if repository else ""


def normalised(url: str) -> str:
    """Return a remote's address without scheme, user, password, port and ending: `host/path`, or a local path."""
    url = url.strip()
    if found := _URL.match(url):
        host, path = found[2].lower(), found[3] or ""
    elif found := _SCP.match(url):
        host, path = found[1].lower(), "/" + found[2].lstrip("/")
    else:
        host, path = "", url
    return (host + path).rstrip("/").removesuffix(".git").rstrip("/")


def _remote(config: str) -> str:
    """Return the remote `origin`, else the first of all."""
    urls = dict(_remotes(config))
    url = urls.get("origin") or next(iter(urls.values()), "")
    return normalised(url)


def _remotes(config: str) -> Iterator[tuple[str, str]]:
    name = ""
    for line in config.splitlines():
        line = line.strip()
        if line.startswith("["):
            found = _SECTION.match(line)
            name = found[1] if found else ""
        elif name:
            key, _, value = line.partition("=")
            if key.strip().lower() == "url":
                yield name, value.strip().strip('"')


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


PROJECT = "project.json"
"""File beside the sessions of one place that identifies its repository."""
_NAME_LENGTH = 40
_GONE_SHOWN = 3  # maximum folders that a hint lists
_FORMER = 8  # number of earlier repositories of a place that are remembered


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with sessions in the store. `gone` if the repository is no longer there."""

    id: str
    directory: str
    gone: bool = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return os.path.basename(self.directory) or self.directory

    def __str__(self) -> str:
        return f"{self.directory} (gone)" if self.gone else self.directory


@dataclass(frozen=True, slots=True)
class Project:
    """The place of a folder, and the repository's other places: worktrees, clones, earlier folders."""

    here: Place
    others: tuple[Place, ...] = ()

    @property
    def id(self) -> str:
        """Name of the store's folder for sessions in this place."""
        return self.here.id

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the store's folders for sessions in all places of the project."""
        return (self.here.id, *(place.id for place in self.others))

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the store's folders for this place alone: its own and those of the repository's earlier folders."""
        return (self.here.id, *(place.id for place in self.others if place.gone))

    def elsewhere(self, info: SessionInfo) -> Place | None:
        """Return the other place in which a session ran, or None."""
        if info.project_id == self.here.id and not self.led_here(info):
            top = project_root(Path(info.directory))
            return Place(self.here.id, str(top), gone=not top.is_dir())
        return next((place for place in self.others if place.id == info.project_id), None)

    def led_here(self, info: SessionInfo) -> bool:
        """Return True unless a session of this repository ran in another worktree or clone."""
        if info.project_id != self.here.id:
            return info.project_id in self.own
        led = Path(info.directory)
        if led.is_dir():
            return str(project_root(led)) == self.here.directory
        return led.is_relative_to(self.here.directory)


def project_root(directory: Path) -> Path:
    """Return the repository's top folder (the nearest with a `.git`), or the folder itself outside of any."""
    here = Path(os.path.realpath(directory))
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def project_id(directory: Path) -> str:
    """Return a readable name with a hash of the whole path.

    The name is stable, safe as a file name, and unique for each root. A worktree uses the id of the main worktree:
    worktrees come and go, and share its sessions and file states.
    """
    return _id(main_worktree(project_root(directory)))


def find_project(root: Path, directory: Path) -> Project:
    """Find the project of a folder, with each of its places that has sessions in the store under `root`.

    Only reads files, unless the first commit alone can decide: then git is called once.
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
    """Record in `folder`, beside the sessions, which repository is in `top`; ask git for an unknown first commit.

    Raises nothing if the disk refuses: the next call writes it.
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
    """Return the content of `project.json` with this repository added."""
    former = [one for one in _held(folder) if not one.is_same(repository)][-_FORMER:]
    return json.dumps({"directory": str(top), "repositories": [asdict(one) for one in (*former, repository)]}) + "\n"


def remember_later(folder: Path, directory: Path) -> None:
    """Call `remember` in a thread. The process waits for it before it exits; git answers within milliseconds."""
    top = main_worktree(project_root(directory))
    if (top / ".git").exists() and _id(top) == folder.name:
        Thread(target=remember, args=(folder, top)).start()


def about_gone_folders(root: Path) -> str:
    """Return advice for sessions that seem lost because their folder is gone; empty if the store has none."""
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
    """Return the top folder of the place with this id, in which `directory` is or was.

    The folder may no longer exist.
    """
    here = Path(directory)
    return next((above for above in (here, *here.parents) if _id(above) == project), here)


def _id(root: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:_NAME_LENGTH]
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()
    return f"{name or 'root'}-{digest[:10]}"


def _places(root: Path) -> Iterator[tuple[Place, Sequence[Repository]]]:
    """Yield every place with sessions, and the repositories that it is known to have contained."""
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
    """Return the place, marked `gone` if another repository or none is there now."""
    there = read_repository(Path(place.directory))
    return replace(place, gone=there is None or not (there.is_same(mine) or not there.remote))


def _found_there(directory: str) -> Sequence[Repository]:
    found = read_repository(Path(directory))
    return [found] if found else ()


def _top_of(folder: Path) -> str:
    """Return the place of a store folder without `project.json`: its sessions' directory or a folder above it."""
    from agentcli.sessions.recovery import read_info

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
