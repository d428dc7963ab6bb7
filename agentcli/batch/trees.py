"""Folders that tasks work in, and their results as commits. Git runs in the hardened environment, outside the agent's sandbox."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentcli.batch.tasks import Isolation
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.hardened import hardened
from agentcli.paths import folder as made

FOLDER = "worktrees"
"""The folder in the cache folder that holds the trees: below the data folder no agent may work."""
REFS = "refs/agentcli/batch"
INCLUDE = ".worktreeinclude"
"""The file that lists patterns of files which git does not track and every tree gets a copy of."""
_AUTHOR = ("-c", "user.name=agentcli", "-c", "user.email=agentcli@localhost", "-c", "commit.gpgSign=false")


class GitError(AgentError):
    """A git command failed."""


@dataclass(frozen=True, slots=True)
class Result:
    """The commit of a task's changes, empty where there are none, and the lines of its patch."""

    commit: str = ""
    patch_lines: int = 0


def git(repo: Path | str, *arguments: str) -> str:
    """Run git in a folder; its output. Raises GitError with what it said."""
    done = run_git(repo, *arguments)
    if done.returncode:
        raise GitError(f"git {arguments[0]} failed in {repo}: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()


def run_git(repo: Path | str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, however it ends."""
    return subprocess.run(
        ["git", "-C", str(repo), *_AUTHOR, *arguments],
        env=hardened(os.environ),
        capture_output=True,
        text=True,
        errors="surrogateescape",
        stdin=subprocess.DEVNULL,
    )


def base_commit(repo: str, base: str) -> str:
    """The commit that a name stands for. Raises GitError where there is none."""
    return git(repo, "rev-parse", "--verify", "--end-of-options", f"{base}^{{commit}}")


def is_dirty(repo: str) -> bool:
    """True if a repository has changes that are not committed, which no tree gets."""
    return bool(git(repo, "status", "--porcelain", "--untracked-files=no"))


def make_tree(cache: Path, repo: str, commit: str, isolation: Isolation, name: str) -> Path:
    """A folder with the files of a commit, for one start of a task; the repository itself where nothing is isolated.

    Raises GitError or OSError where it cannot be made.
    """
    if isolation == "none":
        return Path(repo)
    tree = made(cache / FOLDER) / name
    match isolation:
        case "worktree":
            with _locked(cache, repo):
                git(repo, "worktree", "add", "--detach", "-q", str(tree), commit)
        case "clone":
            git(repo, "clone", "--local", "--no-checkout", "-q", repo, str(tree))
            git(tree, "checkout", "--detach", "-q", commit)
        case "copy":
            shutil.copytree(repo, tree, symlinks=True)
    _include(Path(repo), tree)
    return tree


def remove_tree(cache: Path, repo: str, tree: Path, isolation: Isolation) -> None:
    """Remove a tree that was made here; nothing else is ever removed."""
    if isolation == "none" or tree.parent != cache / FOLDER:
        return
    if isolation == "worktree":
        with _locked(cache, repo):
            run_git(repo, "worktree", "remove", "--force", "--force", str(tree))
    shutil.rmtree(tree, ignore_errors=True)


def record(repo: str, tree: Path, base: str, ref: str, message: str, patch: Path, isolation: Isolation) -> Result:
    """Commit what a task has changed under a ref of its repository, and write the patch beside. The index of the tree is used."""
    if isolation in ("copy", "none"):
        return Result()
    git(tree, "add", "-A")
    files = git(tree, "write-tree")
    if files == git(tree, "rev-parse", f"{base}^{{tree}}"):
        patch.write_text("")
        return Result()
    commit = git(tree, "commit-tree", files, "-p", base, "-m", message)
    if isolation == "clone":
        _bring(repo, tree, commit)
    git(repo, "update-ref", ref, commit)
    text = git(repo, "diff", "--binary", base, commit)
    patch.write_text(text + "\n", errors="surrogateescape")
    return Result(commit, text.count("\n") + 1)


def _bring(repo: str, tree: Path, commit: str) -> None:
    """Bring a commit of a clone into its repository."""
    git(tree, "update-ref", "refs/agentcli/result", commit)
    git(repo, "fetch", "-q", "--no-tags", str(tree), "refs/agentcli/result")


def _include(repo: Path, tree: Path) -> None:
    """Copy the files that `.worktreeinclude` lists and the tree lacks."""
    try:
        patterns = (repo / INCLUDE).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for pattern in filter(None, (line.split("#")[0].strip().lstrip("/") for line in patterns)):
        for source in repo.glob(pattern.rstrip("/") or "."):
            target = tree / source.relative_to(repo)
            if target.exists() or ".git" in source.parts or not source.resolve().is_relative_to(repo):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            else:
                shutil.copy2(source, target)


@contextmanager
def _locked(cache: Path, repo: str) -> Iterator[None]:
    """One at a time for each repository: git's own files about worktrees have no lock."""
    name = hashlib.sha256(repo.encode()).hexdigest()[:16]
    file = os.open(made(cache / FOLDER) / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
