"""Merge of a branch into a checkout that survives a kill: of git, of this program, or of both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from agentcli.core.sanitise import display_path
from agentcli.system.git import Ran, first_line, git, run_git

MARK = "agentcli-merge"
"""File in the checkout's git folder while a merge runs; its text is HEAD before the merge."""


class Merging:
    """The merge of a branch into the checkout at `root`, which has no uncommitted changes."""

    def __init__(self, root: Path, branch: str, env: Mapping[str, str]) -> None:
        self._root, self._branch, self._env = root, branch, env
        self._mark = self._git_path(MARK)

    def unfinished(self) -> str:
        """Return what to do about an earlier merge that was killed together with its program; empty without one."""
        try:
            if self._mark.read_text() != self._git("rev-parse", "HEAD"):
                return ""
        except OSError:
            return ""
        shown, locks = display_path(self._root), sorted(self._locks())
        dirty = bool(self._git("status", "--porcelain", "--untracked-files=no"))
        if not locks and not dirty:
            return ""
        steps = [f"remove {display_path(lock)}" for lock in locks] + [f"`git -C {shown} stash -u`"] * dirty
        return f"A merge did not finish in {shown}. If git no longer runs there: {', then '.join(steps)}."

    def run(self) -> str:
        """Merge; return why it was not merged, empty if it was. The checkout is merged, or as it was.

        Raises GitError or OSError.
        """
        new = {name for name in self._names("--diff-filter=A") if not os.path.lexists(self._root / name)}
        locks = self._locks()
        done, head = Ran(-1, "", ""), self._git("rev-parse", "HEAD")
        try:
            self._mark.write_text(head)
            done = self._run("merge", "-q", "--no-edit", self._branch)
        finally:
            reason = self._given_up(done, head, new, locks) if done.exit_code else ""
            self._mark.unlink(missing_ok=True)
        return reason

    def _given_up(self, done: Ran, head: str, new: Iterable[str], locks: Set[Path]) -> str:
        """Undo a merge into `head` that failed; return why it did, empty if it did not. `locks` are those before it."""
        if done.exit_code < 0:
            for lock in self._locks() - locks:
                lock.unlink(missing_ok=True)
        if self._git("rev-parse", "HEAD") != head:
            return ""  # it was killed after the merge had been committed
        if not self._run("rev-parse", "-q", "--verify", "MERGE_HEAD").exit_code:
            conflicts = self._git("diff", "--name-only", "--diff-filter=U").splitlines()
            self._run("merge", "--abort")
            return f"conflicts in {', '.join(conflicts)}" if conflicts else first_line(done.reason)
        # Only files of the branch are restored: another edit of this moment stays.
        changed = filter(None, self._git("diff", "--name-only", "-z", "HEAD").split("\0"))
        if set(self._names()).issuperset(changed):
            self._run("reset", "-q", "--hard", "HEAD")
        for name in new:
            (self._root / name).unlink(missing_ok=True)
        return first_line(done.reason) or "git was killed"

    def _names(self, *options: str) -> list[str]:
        """Return the files that the branch has changed."""
        listed = self._git("diff", "--name-only", "--no-renames", "-z", *options, f"HEAD...{self._branch}")
        return [name for name in listed.split("\0") if name]

    def _locks(self) -> set[Path]:
        """Return the files with which git locks the checkout's index and references."""
        own, shared = self._git_path("index").parent, self._git_path("refs/heads")
        return {*own.glob("*.lock"), *shared.rglob("*.lock")}

    def _git_path(self, name: str) -> Path:
        return self._root / self._git("rev-parse", "--git-path", name)

    def _git(self, *arguments: str) -> str:
        return git(self._root, *arguments, env=self._env)

    def _run(self, *arguments: str) -> Ran:
        return run_git(self._root, *arguments, env=self._env)
