"""Named worktree: a session's own checkout of the repository, on the branch `agentcli/NAME`."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError, UsageError
from agentcli.core.sanitise import display_path
from agentcli.core.text.words import plural
from agentcli.program.merging import Merging
from agentcli.system import probe
from agentcli.system.git import GitError, first_line, git, run_git
from agentcli.system.worktrees import (
    NoWorktree,
    Worktree,
    add_worktree,
    locked_repository,
    remove_merged,
    remove_worktree,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class NamedWorktree:
    """A worktree with the branch of its name."""

    name: str
    tree: Worktree
    uncommitted: bool
    """True if the repository has changes that are not in the worktree, which starts at HEAD."""

    @property
    def branch(self) -> str:
        """Its branch."""
        return _branch(self.name)

    @property
    def target(self) -> str:
        """The branch of the repository's own checkout; empty at a detached HEAD."""
        return run_git(self.tree.root, "symbolic-ref", "-q", "--short", "HEAD", env=self.tree.env).out.strip()

    @property
    def is_changed(self) -> bool:
        """True if a file or a commit differs from where it started."""
        moved = self._git("rev-parse", "HEAD") != self.tree.head
        return moved or bool(self._git("status", "--porcelain", "--untracked-files=all"))

    def stat(self) -> str:
        """Return the changed files with the number of their changed lines."""
        self._git("add", "--intent-to-add", ".")
        return self._git("diff", "--stat", self.tree.head)

    def diff(self) -> str:
        """Return all its changes, committed or not."""
        self._git("add", "--intent-to-add", ".")
        return self._git("diff", self.tree.head)

    def merge(self) -> str:
        """Commit uncommitted changes, merge into the repository's branch, remove the worktree; return that branch.

        A merge that was killed is repeated from where it was. Raises InputError if nothing was merged; the worktree
        then stays.
        """
        with locked_repository(self.tree.root, self.tree.folder.parent, self.tree.env):
            target = self._merged()
        if not remove_merged(self.tree.root, self.tree.folder, self.tree.env):
            raise InputError(f"Merged, but {display_path(self.tree.folder)} stays: it has changed meanwhile.")
        run_git(self.tree.root, "branch", "-q", "-d", self.branch, env=self.tree.env)
        return target

    def _merged(self) -> str:
        root, target = self.tree.root, self.target
        shown = display_path(root)
        by_hand = f"`git -C {shown} merge {self.branch}`"
        if not target:
            raise InputError(f"{shown} is at a detached HEAD: check out a branch there, then {by_hand}.")
        try:
            if not run_git(root, "rev-parse", "-q", "--verify", "MERGE_HEAD", env=self.tree.env).exit_code:
                raise InputError(
                    f"A merge is not finished in {shown}: commit it or `git merge --abort`, then {by_hand}."
                )
            if not self._has_branch():
                raise InputError(f"The branch {self.branch} is gone: it was merged or discarded before.")
            merging = Merging(root, self.branch, self.tree.env)
            if unfinished := merging.unfinished():
                raise InputError(unfinished)
            if git(root, "status", "--porcelain", "--untracked-files=no", env=self.tree.env):
                raise InputError(f"{shown} has uncommitted changes: commit them, then {by_hand}.")
            if probe.is_dir(self.tree.folder) and self._git("status", "--porcelain", "--untracked-files=all"):
                self._git("add", "--all")
                self._git("commit", "-q", "-m", f"Work of agentcli in {self.name}")
            if reason := merging.run():
                raise InputError(f"Not merged: {reason}. To merge it by hand: {by_hand}.")
        except GitError as error:
            raise InputError(f"Not merged: {error.line}.") from error
        except OSError as error:
            raise InputError(f"Not merged: {error.strerror}.") from error
        return target

    def take_along(self) -> None:
        """Move the uncommitted changes of the repository's checkout into the worktree.

        Raises InputError if they do not fit; then they are where they were.
        """
        root, env = self.tree.root, self.tree.env
        try:
            git(root, "stash", "push", "-q", "--include-untracked", "-m", self.branch, env=env)
            if run_git(self.tree.folder, "stash", "pop", "-q", env=env).exit_code:
                git(self.tree.folder, "reset", "-q", "--hard", env=env)
                git(root, "stash", "pop", "-q", env=env)
                raise InputError("The changes could not be moved. They are where they were.")
        except GitError as error:
            raise InputError(f"The changes could not be moved: {error.line}. See `git stash list`.") from error

    def discard(self) -> str:
        """Remove the worktree and its branch, with all changes that are not merged.

        If the folder is gone already, a branch with commits stays: nobody has seen what would be lost. Return its name.
        """
        seen = "-D" if probe.is_dir(self.tree.folder) else "-d"
        remove_worktree(self.tree.root, self.tree.folder, self.tree.env)
        run_git(self.tree.root, "branch", "-q", seen, self.branch, env=self.tree.env)
        return self.branch if self._has_branch() else ""

    def _has_branch(self) -> bool:
        reference = f"refs/heads/{self.branch}"
        return not run_git(self.tree.root, "rev-parse", "-q", "--verify", reference, env=self.tree.env).exit_code

    def _git(self, *arguments: str) -> str:
        return git(self.tree.folder, *arguments, env=self.tree.env)


def open_worktree(cwd: Path, name: str, trees: Path, env: Mapping[str, str]) -> NamedWorktree:
    """Make the worktree `name` below `trees`, from the HEAD of the repository of `cwd`.

    Raises UsageError for an invalid name, InputError if it cannot be made; then nothing has changed.
    """
    if not _NAME.fullmatch(name) or ".." in name or name.endswith((".", ".lock")):
        raise UsageError(
            f"Not a name for a worktree: {name!r}. Use a letter or digit, then up to 63 letters, digits, '-', '_' or '.', "
            "but no '..', and no '.' or '.lock' at the end."
        )
    top = run_git(cwd, "rev-parse", "--show-toplevel", env=env)
    if top.exit_code:
        bare = probe.is_file(cwd / "HEAD") and probe.is_dir(cwd / "objects")
        why = "has no checkout: it is a bare repository" if bare else "is not in a git repository"
        raise InputError(f"No worktree: {display_path(cwd)} {why}.")
    root = top.out.removesuffix("\n")
    if run_git(root, "rev-parse", "--verify", "-q", "HEAD", env=env).exit_code:
        raise InputError(f"No worktree: {display_path(Path(root))} has no commit yet.")
    # Worktrees of two repositories may have one name.
    folder = trees / f"{name}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:8]}"
    if probe.exists(folder):
        raise InputError(f"The worktree {name} exists. To continue in it: agentcli -C {display_path(folder)} -c")
    branch = _branch(name)
    if not run_git(root, "rev-parse", "--verify", "-q", f"refs/heads/{branch}", env=env).exit_code:
        raise InputError(f"The branch {branch} exists. Choose another name, or delete it: git branch -D {branch}")
    try:
        tree = add_worktree(cwd, folder, env)
        try:
            git(tree.folder, "checkout", "-q", "-b", branch, env=env)
            uncommitted = bool(git(root, "status", "--porcelain", env=env))
            _origin(tree.folder, env).write_text(json.dumps({"root": str(tree.root), "head": tree.head}))
        except (GitError, OSError):
            remove_worktree(tree.root, tree.folder, env)
            raise
    except (NoWorktree, GitError, OSError) as error:
        raise InputError(f"No worktree: {first_line(str(error))}.") from error
    return NamedWorktree(name, tree, uncommitted)


def found_worktree(cwd: Path, trees: Path, env: Mapping[str, str]) -> NamedWorktree | None:
    """Return the named worktree below `trees` that contains a folder; None if it is in none."""
    if not cwd.is_relative_to(trees):
        return None
    folder = trees / cwd.relative_to(trees).parts[0]
    name = run_git(folder, "symbolic-ref", "-q", "--short", "HEAD", env=env).out.strip().removeprefix(_branch(""))
    try:
        made = json.loads(_origin(folder, env).read_text())
        root, head = Path(made["root"]), str(made["head"])
    except (GitError, OSError, ValueError, KeyError, TypeError):
        return None
    return NamedWorktree(name, Worktree(root, folder, cwd, head, env), uncommitted=False) if name else None


def _origin(folder: Path, env: Mapping[str, str]) -> Path:
    """Return the file in git's folder of a worktree that says from which checkout and commit it was made.

    A repository may have several checkouts: of its worktrees, and of a submodule.
    """
    return Path(git(folder, "rev-parse", "--path-format=absolute", "--git-dir", env=env)) / "agentcli-origin.json"


def _branch(name: str) -> str:
    return f"agentcli/{name}"


_COUNTS = re.compile(r"(\d+) (?:(file)s? changed|(insertion)s?|(deletion)s?)")


def summary(stat: str) -> str:
    """Return the last line of `git diff --stat` briefly: `2 files +10 −1`."""
    found = {"".join(words): int(number) for number, *words in _COUNTS.findall(stat)}
    return f"{plural(found.get('file', 0), 'file')} +{found.get('insertion', 0)} −{found.get('deletion', 0)}"
