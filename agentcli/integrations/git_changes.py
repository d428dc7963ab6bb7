"""Changes as git sees them: of the working tree, against a branch, or of a commit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.hardened import hardened
from agentcli.core.programs import find_program

SECONDS = 20.0
"""Time limit in seconds of one git command."""
COMMITS = 20
"""Commits that are offered."""
UNTRACKED = 200
"""Untracked files whose contents count as changes."""
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
_NAME = re.compile(r"[^\s\x00-\x1f-][^\s\x00-\x1f]*")


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes as a unified diff; `title` says of what."""

    title: str
    diff: str


def changes(folder: Path, revision: str = "") -> Changes:
    """Changes of the working tree; with a branch those since it was left, with a commit or range `A..B` its own.

    Raises InputError outside of a repository, without git, or for a revision that does not exist.
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
    """Branches and the newest commits that `changes` takes, each with a description. Empty outside of a repository."""
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
    """git in a repository, hardened: nothing of the repository starts a program. Raises InputError outside of one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = find_program("git", [folder])
        if not self._program:
            raise InputError("git is not installed, or not on PATH outside of this folder.")
        top = self._ran("rev-parse", "--show-toplevel")
        if top.returncode:
            raise InputError(f"{folder} is not a git repository.")
        self._top = Path(top.stdout.decode("utf-8", "replace").rstrip("\n"))

    def run(self, *words: str) -> str:
        """The output of a command. Raises InputError with its message if it fails."""
        ran = self._ran(*words)
        if ran.returncode:
            why = ran.stderr.decode("utf-8", "replace").strip().splitlines()
            raise InputError(f"git {words[0]} failed: {why[-1] if why else f'exit code {ran.returncode}'}")
        return ran.stdout.decode("utf-8", "replace")

    def line(self, *words: str) -> str:
        """The output of a command without its newline; empty if it fails."""
        ran = self._ran(*words)
        return "" if ran.returncode else ran.stdout.decode("utf-8", "replace").strip("\n")

    def has(self, revision: str) -> bool:
        """True if it names a commit."""
        return bool(self.line("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"))

    def exists(self, revision: str) -> bool:
        """True if it names a commit, or a range of two; what looks like an option never does."""
        ends = re.split(r"\.{2,3}", revision)
        return len(ends) <= 2 and all(bool(_NAME.fullmatch(end)) and self.has(end) for end in ends)

    def is_branch(self, name: str) -> bool:
        """True for a branch, here or of a remote."""
        refs = (f"refs/{kind}/{name}" for kind in ("heads", "remotes"))
        return any(self._ran("show-ref", "--verify", "--quiet", ref).returncode == 0 for ref in refs)

    def main_branch(self) -> str:
        """The branch that others are merged into. Raises InputError if none is known."""
        if head := self.line("symbolic-ref", "--short", "refs/remotes/origin/HEAD"):
            return head
        found = next((name for name in ("main", "master", "trunk", "develop") if self.is_branch(name)), "")
        if not found:
            raise InputError("Against which branch? Give its name.")
        return found

    def working_tree(self, base: str) -> str:
        """Changes from a commit to the files as they are, untracked ones included."""
        tracked = self.run("diff", *_DIFF, base, "--")
        new = self.run("ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":/").split("\0")
        return tracked + "".join(self._new_file(name) for name in list(filter(None, new))[:UNTRACKED])

    def commit(self, revision: str) -> str:
        """Changes of one commit; of a merge those against its first parent."""
        return self.run("show", *_DIFF, "--format=", "--diff-merges=first-parent", revision, "--")

    def _new_file(self, name: str) -> str:
        # git says by its exit code that there is a difference.
        ran = self._ran("diff", *_DIFF, "--no-index", "--", os.devnull, name, folder=self._top)
        return ran.stdout.decode("utf-8", "replace")

    def _ran(self, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [str(self._program), "-C", str(folder or self._folder), *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=hardened(os.environ, [self._folder]),
                timeout=SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"git {words[0]} took longer than {SECONDS:.0f} s: {error}") from error
