"""Mirrors of repositories that are named by a URL: one in the cache folder of each machine, without files, fetched when a commit is missing."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from pathlib import Path

from agentcli.integrations.git import GitError, git, run_git
from agentcli.paths import folder as made

FOLDER = "repositories"
"""The folder of the mirrors in the cache folder."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S|[\w.-]+@[\w.-]+:\S")
_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


def is_url(repo: str) -> bool:
    """True if a repository is named by a URL, `git@host:path` among them."""
    return bool(_URL.match(repo))


def local(cache: Path, repo: str) -> str:
    """The folder of a repository on this machine: that of its mirror where it is named by a URL."""
    if not is_url(repo):
        return repo
    return str(cache / FOLDER / hashlib.sha256(repo.encode()).hexdigest()[:24])


def fetched(cache: Path, repo: str, commit: str = "") -> str:
    """The same, with this commit in it, or with all that its source has now. Raises GitError where the source cannot be read."""
    folder = Path(local(cache, repo))
    if not is_url(repo):
        return repo
    made(folder.parent)
    lock = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _clone(repo, folder)
        elif not commit or run_git(folder, "cat-file", "-e", f"{commit}^{{commit}}").exit_code:
            git(folder, "fetch", "-q", "--no-auto-gc", "origin", *_REFS)
    finally:
        os.close(lock)
    return str(folder)


def _clone(url: str, folder: Path) -> None:
    """Make a mirror, which appears whole. It is no bare folder to git's eyes: in those it takes no worktree unasked."""
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
