"""Git repositories as their own files describe them: enough to see that two folders hold the same one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from agentcli.core.dataclass import dataclass

GIT_SECONDS = 3.0
"""Seconds that git may take to find the first commit. After a timeout, git is not asked again."""
_SCP = re.compile(r"^(?:[^@/]*@)?([^/:]+):(?!//)(.*)$")
_URL = re.compile(r"^([a-z][a-z0-9+.-]*)://(?:[^@/]*@)?([^/:]*)(?::\d+)?(/.*)?$", re.IGNORECASE)
_SECTION = re.compile(r'^\[\s*remote\s+"(.*)"\s*\]')


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that a folder holds.

    `common` is the git folder that all its worktrees share; `remote` is the normalised URL of its remote, empty if
    there is none. `root_commit` is the id of the first commit, empty if git could not name it in time, None if it is
    unknown.
    """

    common: str
    remote: str = ""
    root_commit: str | None = None

    def is_same(self, other: Repository) -> bool:
        """Return True if both are one repository: its worktrees, its clones, or itself before and after a move.

        First commit and remote must not contradict each other, and one of the two must be known to agree: forks share
        the first commit but not the remote, copies of a template neither.
        """
        commits = _agree(self.root_commit, other.root_commit)
        remotes = _agree(self.remote, other.remote)
        if self.common == other.common:
            return commits is not False  # remotes change more often than folders are reused for other repositories
        return False not in (commits, remotes) and bool(commits or remotes)


def _agree(one: str | None, other: str | None) -> bool | None:
    """Compare two facts; None if one of them is not known."""
    return one == other if one and other else None


def read_repository(root: Path) -> Repository | None:
    """Read the files under `root/.git`, without asking git; None if there is no repository."""
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

    The repository must know the worktree: a `.git` file can name any foreign repository.
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
    """Ask git for the oldest first commit that HEAD descends from; empty after `GIT_SECONDS`, None if there is none."""
    import subprocess

    from agentcli.core.hardened import hardened

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
    shallow = Path(read_common(root), "shallow")  # its oldest commit is not the first: other clones are cut elsewhere
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
