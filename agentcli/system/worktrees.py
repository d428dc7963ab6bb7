"""Git worktrees for agents that work separately: created one at a time for each repository, with copies of listed
files.

Subagents get one from HEAD, which is kept if it contains changes; each batch task gets its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.system import probe
from agentcli.system.git import GitError, git, run_git
from agentcli.system.locked_file import FileLock

INCLUDE = ".worktreeinclude"
"""File that lists untracked files to copy into each worktree, in the syntax of `.gitignore`."""
INCLUDED = 20_000
"""Largest number of files to copy."""


class NoWorktree(Exception):
    """A worktree is not possible; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree of the repository at `root`. `cwd` is the folder in it that corresponds to the current one."""

    root: Path
    folder: Path
    cwd: Path
    head: str
    env: Mapping[str, str]

    def finish(self, branch: str) -> str:
        """Remove it if nothing was changed; otherwise keep it, uncommitted, under a branch, and return its description.

        Raise NoWorktree.
        """
        try:
            changed = self._git("status", "--porcelain", "--untracked-files=all")
            moved = self._git("rev-parse", "HEAD") != self.head
            if not changed and not moved:
                remove_worktree(self.root, self.folder, self.env)
                return ""
            self._git("checkout", "-q", "-B", branch)
            stat = self._git("diff", "--stat", self.head).rstrip()
        except GitError as error:
            raise NoWorktree(str(error)) from error
        new = [line[3:] for line in changed.splitlines() if line.startswith("??")]
        lines = [
            f"It worked in {self.folder} (branch {branch}), which contains its changes:",
            stat,
            *(f" new: {name}" for name in new),
        ]
        return "\n".join(filter(None, lines))

    def _git(self, *arguments: str) -> str:
        return git(self.folder, *arguments, env=self.env)


def add_worktree(cwd: Path, folder: Path, env: Mapping[str, str]) -> Worktree:
    """Make a worktree at `folder` of the repository that contains `cwd`, from its HEAD. Raise NoWorktree."""
    try:
        root = Path(git(cwd, "rev-parse", "--show-toplevel", env=env))
        if probe.exists(root / ".gitmodules"):
            raise NoWorktree("the repository has submodules")
        head = git(root, "rev-parse", "--verify", "HEAD", env=env)
        make_worktree(root, head, folder, env)
    except GitError as error:
        raise NoWorktree(str(error)) from error
    inner = Path(os.path.realpath(cwd)).relative_to(root)
    (folder / inner).mkdir(parents=True, exist_ok=True)
    return Worktree(root, folder, folder / inner, head, env)


def former_worktree(cwd: Path, inner: Path, trees: Path, env: Mapping[str, str]) -> Worktree | None:
    """Return the worktree in which an agent of the repository of `cwd` worked at `inner`.

    The worktree is below `trees`. Return None if it is gone.
    """
    try:
        if not probe.is_dir(inner) or not inner.is_relative_to(trees):
            return None
        root = Path(git(cwd, "rev-parse", "--show-toplevel", env=env))
        folder = trees / inner.relative_to(trees).parts[0]
        if Path(git(folder, "rev-parse", "--show-toplevel", env=env)) != Path(os.path.realpath(folder)):
            return None
        own = git(folder, "rev-parse", "--verify", "HEAD", env=env)
        head = git(root, "merge-base", "HEAD", own, env=env)
    except (GitError, IndexError):
        return None
    return Worktree(root, folder, inner, head, env)


def make_worktree(repo: Path, commit: str, folder: Path, env: Mapping[str, str] | None = None) -> None:
    """Check a commit out into a new worktree at `folder`, on no branch, with copies of the listed files. Runs no hooks.

    Raises GitError or OSError if it cannot be created.
    """
    with locked_repository(repo, folder.parent, env):
        # The checkout is a separate command: some of the repository's config may apply only inside its worktrees.
        git(repo, "worktree", "add", "--detach", "--no-checkout", "-q", str(folder), commit, env=env)
        try:
            git(folder, "reset", "--hard", "-q", env=env)
        except GitError:
            run_git(repo, "worktree", "remove", "--force", "--force", str(folder), env=env)
            raise
    copy_included(repo, folder, env)


def remove_worktree(repo: Path, folder: Path, env: Mapping[str, str] | None = None) -> None:
    """Remove a worktree with everything in it, also one whose removal was killed."""
    with locked_repository(repo, folder.parent, env):
        _remove(repo, folder, env)


def remove_merged(repo: Path, folder: Path, env: Mapping[str, str] | None = None) -> bool:
    """Remove a worktree if nothing in it is uncommitted; return whether it is gone."""
    with locked_repository(repo, folder.parent, env):
        if probe.exists(folder):
            status = run_git(folder, "status", "--porcelain", "--untracked-files=all", env=env)
            if status.exit_code or status.out:
                return False
        _remove(repo, folder, env)
        return True


def _remove(repo: Path, folder: Path, env: Mapping[str, str] | None) -> None:
    """Remove a worktree. It is renamed first, so that one whose removal is killed does not look as if files were deleted."""
    away = folder.with_name(f".{folder.name}.removed")
    shutil.rmtree(away, ignore_errors=True)  # of a removal that was killed
    if probe.exists(folder):
        folder.rename(away)
    run_git(repo, "worktree", "remove", "--force", "--force", str(folder), env=env)
    shutil.rmtree(away, ignore_errors=True)


def copy_included(repo: Path, folder: Path, env: Mapping[str, str] | None = None) -> None:
    """Copy the listed untracked files that `folder` lacks, but none through a link that leads outside."""
    top = run_git(repo, "rev-parse", "--show-toplevel", env=env)
    root = Path(top.out.removesuffix("\n"))
    if top.exit_code or not probe.is_file(root / INCLUDE):
        return  # a mirror has no work tree
    found = git(root, "ls-files", "-z", "--others", "--ignored", f"--exclude-from={root / INCLUDE}", env=env)
    for name in list(filter(None, found.split("\0")))[:INCLUDED]:
        source, target = root / name, folder / name
        real = Path(os.path.realpath(source))
        if os.path.lexists(target) or not real.is_relative_to(root) or not probe.is_file(real):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        # A relative link is copied as it is and leads to its neighbour in the copy. An absolute one would lead back
        # into the repository.
        relative = source.is_symlink() and not os.path.isabs(os.readlink(source))
        shutil.copy2(source, target, follow_symlinks=not relative)


@contextmanager
def locked_repository(repo: Path, trees: Path, env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Lock a repository: git's own worktree files have no lock. `trees` is the folder that contains the worktrees."""
    common = os.path.realpath(os.path.join(repo, git(repo, "rev-parse", "--git-common-dir", env=env)))
    trees.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = hashlib.sha256(os.fsencode(common)).hexdigest()[:16]
    with FileLock(trees / f".{name}.lock"):
        yield
