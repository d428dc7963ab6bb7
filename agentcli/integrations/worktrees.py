"""Git worktrees in which subagents work apart: made from HEAD, kept where they hold changes, else removed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.hardened import hardened
from agentcli.core.programs import find_program

INCLUDE = ".worktreeinclude"
"""The file that lists further files to copy, a path from the repository's root on each line."""
INCLUDED, SECONDS = 1_000, 60
"""Files that are copied at most, and seconds that git may take."""


class NoWorktree(Exception):
    """There can be no worktree; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree of the repository at `root`. `cwd` is the folder in it that stands for the current one."""

    root: Path
    folder: Path
    cwd: Path
    head: str
    env: Mapping[str, str]

    def finish(self, branch: str) -> str:
        """Remove it where nothing was changed; else commit nothing, leave it under a branch, and say where it is."""
        changed = _git(self.folder, self.env, "status", "--porcelain", "--untracked-files=all").strip()
        moved = _git(self.folder, self.env, "rev-parse", "HEAD").strip() != self.head
        if not changed and not moved:
            _git(self.root, self.env, "worktree", "remove", "--force", str(self.folder))
            return ""
        _git(self.folder, self.env, "checkout", "-q", "-B", branch)
        stat = _git(self.folder, self.env, "diff", "--stat", "--no-ext-diff", "--no-textconv", self.head).rstrip()
        new = [line[3:] for line in changed.splitlines() if line.startswith("??")]
        lines = [
            f"It worked in {self.folder} (branch {branch}), which holds its changes:",
            stat,
            *(f" new: {name}" for name in new),
        ]
        return "\n".join(filter(None, lines))


def no_worktree(_: str) -> Worktree:
    """Raise NoWorktree: for sessions that have no place for one."""
    raise NoWorktree("this session has no place for one")


def add_worktree(cwd: Path, folder: Path, environment: Mapping[str, str]) -> Worktree:
    """A worktree at `folder` of the repository that `cwd` lies in. No hook of the repository runs. Raises NoWorktree."""
    env = hardened(environment, [cwd])
    root = Path(_git(cwd, env, "rev-parse", "--show-toplevel").strip())
    if (root / ".gitmodules").exists():
        raise NoWorktree("the repository has submodules")
    head = _git(root, env, "rev-parse", "--verify", "HEAD").strip()
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _git(root, env, "worktree", "add", "--detach", "-q", str(folder), head)
    _copy_included(root, folder)
    inner = Path(os.path.realpath(cwd)).relative_to(root)
    (folder / inner).mkdir(parents=True, exist_ok=True)
    return Worktree(root, folder, folder / inner, head, env)


def _copy_included(root: Path, folder: Path) -> None:
    """Copy the files that the repository lists, never through a link."""
    try:
        names = (root / INCLUDE).read_text(encoding="utf-8", errors="replace").splitlines()[:INCLUDED]
    except OSError:
        return
    for name in filter(None, map(str.strip, names)):
        source = root / name
        inside = Path(os.path.realpath(source)).is_relative_to(root) and not name.startswith("#")
        if inside and source.is_file() and not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)


def _git(folder: Path, env: Mapping[str, str], *words: str) -> str:
    program = find_program("git", [folder])
    if not program:
        raise NoWorktree("git is not installed")
    command: Sequence[str] = [program, "-c", "core.hooksPath=/dev/null", *words]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=dict(env),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoWorktree(str(error)) from error
    if done.returncode:
        raise NoWorktree(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "git failed")
    return done.stdout
