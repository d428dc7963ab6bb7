"""Changes in git: of the working tree, against a branch, or of a commit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.system.git import GitError, started

SECONDS = 20.0
"""Time limit of one git command, in seconds."""
COMMITS = 20
"""Number of commits to offer."""
UNTRACKED = 200
"""Largest number of untracked files whose contents count as changes."""
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_DIFF = ("--no-color", "--find-renames")
_NAME = re.compile(r"[^\s\x00-\x1f-][^\s\x00-\x1f]*")


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes as a unified diff; `title` names their source."""

    title: str
    diff: str


def changes(folder: Path, revision: str = "") -> Changes:
    """Return the changes of the working tree, a branch, a commit or a range.

    A branch is compared with its merge base. A commit, or a range `A..B`, gives its own changes. Raise InputError
    outside of a repository, without git, or for an unknown revision.
    """
    git = _Git(folder)
    if not revision:
        return Changes("the working tree", git.working_tree("HEAD" if git.has("HEAD") else _EMPTY_TREE))
    if not git.exists(revision):
        raise InputError(f"There is no branch or commit {revision}. `git branch -a` and `git log` list them.")
    if ".." in revision:
        return Changes(revision, git.run("diff", *_DIFF, revision, "--"))
    if not git.is_branch(revision):
        return Changes(f"commit {git.line('log', '-1', '--format=%h %s', revision, '--')}", git.commit(revision))
    base = git.main_branch() if revision == git.line("branch", "--show-current") else revision
    return Changes(f"this branch since {base}", git.working_tree(git.line("merge-base", base, "HEAD") or base))


def choices(folder: Path) -> Sequence[tuple[str, str]]:
    """Return branches and the newest commits that `changes` accepts, each with a description. Empty outside of a repository."""
    try:
        git = _Git(folder)
        here = git.line("branch", "--show-current")
        branches = git.run(
            "for-each-ref", "--sort=-committerdate", "--format=%(refname:short)", "refs/heads", "refs/remotes"
        )
        commits = git.run("log", f"-{COMMITS}", "--format=%h%x00%s") if git.has("HEAD") else ""
    except InputError:
        return []
    names = [name for name in branches.splitlines() if name != here and not name.endswith("/HEAD")]
    listed = (line.partition("\0") for line in commits.splitlines())
    return [*((name, "branch") for name in names), *((short, subject) for short, _, subject in listed)]


class _Git:
    """Hardened git in a repository: the repository starts no program. Raises InputError outside of one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        top = self._ran("rev-parse", "--show-toplevel")
        if top.returncode:
            raise InputError(f"{folder} is not a git repository.")
        self._top = Path(top.stdout.decode("utf-8", "replace").rstrip("\n"))

    def run(self, *words: str) -> str:
        """Return the output of a command. Raise InputError with its message if it fails."""
        ran = self._ran(*words)
        if ran.returncode:
            why = ran.stderr.decode("utf-8", "replace").strip().splitlines()
            raise InputError(f"git {words[0]} failed: {why[-1] if why else f'exit code {ran.returncode}'}")
        return ran.stdout.decode("utf-8", "replace")

    def line(self, *words: str) -> str:
        """Return the output of a command without its newline; empty if it fails."""
        ran = self._ran(*words)
        return "" if ran.returncode else ran.stdout.decode("utf-8", "replace").strip("\n")

    def has(self, revision: str) -> bool:
        """Return True if the revision names a commit."""
        return bool(self.line("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"))

    def exists(self, revision: str) -> bool:
        """Return True if the revision is a commit, or a range of two.

        Return False for a text that looks like an option.
        """
        ends = re.split(r"\.{2,3}", revision)
        return len(ends) <= 2 and all(bool(_NAME.fullmatch(end)) and self.has(end) for end in ends)

    def is_branch(self, name: str) -> bool:
        """Return True for a branch, local or remote."""
        refs = (f"refs/{kind}/{name}" for kind in ("heads", "remotes"))
        return any(self._ran("show-ref", "--verify", "--quiet", ref).returncode == 0 for ref in refs)

    def main_branch(self) -> str:
        """Return the branch that others are merged into. Raise InputError if it is unknown."""
        if head := self.line("symbolic-ref", "--short", "refs/remotes/origin/HEAD"):
            return head
        found = next((name for name in ("main", "master", "trunk", "develop") if self.is_branch(name)), "")
        if not found:
            raise InputError("No main branch was found. Name the branch to compare with.")
        return found

    def working_tree(self, base: str) -> str:
        """Return the changes from a commit to the current files, including untracked ones."""
        tracked = self.run("diff", *_DIFF, base, "--")
        new = self.run("ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":/").split("\0")
        return tracked + "".join(self._new_file(name) for name in list(filter(None, new))[:UNTRACKED])

    def commit(self, revision: str) -> str:
        """Return the changes of one commit; for a merge, against its first parent."""
        return self.run("show", *_DIFF, "--format=", "--diff-merges=first-parent", revision, "--")

    def _new_file(self, name: str) -> str:
        # No check of the exit code: with --no-index, 1 means that there is a difference.
        ran = self._ran("diff", *_DIFF, "--no-index", "--", os.devnull, name, folder=self._top)
        return ran.stdout.decode("utf-8", "replace")

    def _ran(self, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        try:
            return started(folder or self._folder, words, os.environ, SECONDS)
        except GitError as error:
            raise InputError(str(error)) from error
