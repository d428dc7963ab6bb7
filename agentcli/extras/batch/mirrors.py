"""Mirrors of repositories with a URL: one in each machine's cache folder, without files, fetched if a commit is missing."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from agentcli.system import probe
from agentcli.system.git import GitError, git, run_git
from agentcli.system.locked_file import FileLock
from agentcli.system.paths import folder as made

FOLDER = "repositories"
"""Name of the mirrors' folder in the cache folder."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S|[\w.-]+@[\w.-]+:\S")
_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


def is_url(repo: str) -> bool:
    """Return True if a repository is a URL, including `git@host:path`."""
    return bool(_URL.match(repo))


def local(cache: Path, repo: str) -> str:
    """Return the local folder of a repository: for a URL, its mirror."""
    if not is_url(repo):
        return repo
    return str(cache / FOLDER / hashlib.sha256(repo.encode()).hexdigest()[:24])


def fetched(cache: Path, repo: str, commit: str = "") -> str:
    """Return the folder of a repository with this commit, updated from its source if necessary.

    Raise GitError if the source is unreadable.
    """
    folder = Path(local(cache, repo))
    if not is_url(repo):
        return repo
    made(folder.parent)
    with FileLock(folder.with_suffix(".lock")):
        if not probe.is_dir(folder):
            _clone(repo, folder)
        elif not commit or run_git(folder, "cat-file", "-e", f"{commit}^{{commit}}").exit_code:
            git(folder, "fetch", "-q", "--no-auto-gc", "origin", *_REFS)
    return str(folder)


def _clone(url: str, folder: Path) -> None:
    """Make a mirror, renamed into place when complete.

    It is not a bare repository, where git needs permission to add worktrees.
    """
    aside = folder.with_suffix(".new")
    shutil.rmtree(aside, ignore_errors=True)
    git(folder.parent, "init", "-q", str(aside))
    git(aside, "config", "core.bare", "true")
    git(aside, "config", "remote.origin.url", url)
    git(aside, "fetch", "-q", "origin", *_REFS)
    head = re.search(r"^ref: (refs/heads/\S+)\tHEAD$", git(aside, "ls-remote", "--symref", "origin", "HEAD"), re.M)
    if head is None:
        raise GitError(f"{url} has no branch that is its HEAD.")
    git(aside, "symbolic-ref", "HEAD", head[1])
    aside.rename(folder)
