"""Merge of the results of a batch into a branch, without a checkout."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.extras.batch import trees
from agentcli.extras.batch.results import Batch, Through
from agentcli.system.git import GitError, git, run_git
from agentcli.system.paths import folder as made
from agentcli.system.worktrees import make_worktree, remove_worktree

MERGE_TREE = (2, 38)
"""First version of git that merges without a worktree."""

MergeOne = Callable[[str, str, str], tuple[str, Sequence[str]]]
"""Merges a commit into the tip of a branch; returns the tree, and the conflicting files."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Outcome of a merge: the merged tasks, and the conflicting files by task."""

    merged: tuple[str, ...]
    conflicts: Mapping[str, Sequence[str]]


def merge(
    batch: Batch,
    branch: str,
    cache: Path,
    ids: Collection[str] = (),
    version: tuple[int, ...] = (),
    through: Through = iter,
) -> Merged:
    """Merge the commits of passed tasks, one after the other, into a branch that is not checked out. A new branch
    begins at their base.

    Nothing is checked out; an old git (`version`, by default the installed one's) uses a tree in the cache folder.
    Raise InputError if there is nothing to merge, for tasks of several repositories, or for a branch in use. The tasks
    pass `through` a callback that may show progress.
    """
    repo, commits = _changes(batch, ids)
    ref = _ref(repo, branch)
    tip = _tip(repo, ref) or batch.tasks[next(iter(commits))]["base"]
    merged, conflicts = [], {}
    with _merging(repo, tip, cache, version or git_version(repo)) as merge_one:
        for id, commit in through(commits.items()):
            if run_git(repo, "merge-base", "--is-ancestor", commit, tip).exit_code:
                files, clash = merge_one(repo, tip, commit)
                if clash:
                    conflicts[id] = clash
                    continue
                tip = trees.commit_tree(repo, files, f"Merge {id} of batch {batch.name}", tip, commit)
            merged.append(id)
    if merged:
        git(repo, "update-ref", ref, tip)
    return Merged(tuple(merged), conflicts)


def _changes(batch: Batch, ids: Collection[str]) -> tuple[str, Mapping[str, str]]:
    """Return the tasks' repository, and the commit of each task that passed and changed files. Raise InputError like `merge`."""
    wanted = [id for id in batch.tasks if not ids or id in ids]
    passed = {
        id: batch.states[id].newest.commit for id in wanted if id in batch.states and batch.states[id].state == "passed"
    }
    commits = {id: commit for id, commit in passed.items() if commit}
    if not commits:
        raise InputError("No task that passed has changed anything: there is nothing to merge.")
    repos = {batch.tasks[id]["repo"] for id in commits}
    if len(repos) > 1:
        raise InputError(f"The tasks are of {len(repos)} repositories: merge one repository's at a time, by their ids.")
    return repos.pop(), commits


def _ref(repo: str, branch: str) -> str:
    """Return the ref of a branch. Raise InputError if it is checked out."""
    ref = f"refs/heads/{branch}"
    if f"branch {ref}" in git(repo, "worktree", "list", "--porcelain").splitlines():
        raise InputError(
            f"{branch} is checked out: merge into another branch with --into, then merge that one yourself."
        )
    return ref


def git_version(repo: str) -> tuple[int, ...]:
    """Return the version of git."""
    found = re.search(r"(\d+)\.(\d+)", git(repo, "version"))
    return tuple(map(int, found.groups())) if found else ()


def _tip(repo: str, ref: str) -> str:
    try:
        return git(repo, "rev-parse", "--verify", "-q", ref)
    except GitError:
        return ""


@contextlib.contextmanager
def _merging(repo: str, tip: str, cache: Path, version: tuple[int, ...]) -> Iterator[MergeOne]:
    """Open the way in which this git version merges."""
    if version >= MERGE_TREE:
        yield _merge_tree
        return
    tree = made(cache / trees.FOLDER) / f"merge-{uuid4().hex[:12]}"
    make_worktree(Path(repo), tip, tree)
    try:
        yield lambda _, tip, commit: _merge_in(tree, tip, commit)
    finally:
        remove_worktree(Path(repo), tree)


def _merge_tree(repo: str, tip: str, commit: str) -> tuple[str, Sequence[str]]:
    done = run_git(repo, "merge-tree", "--write-tree", "--name-only", "--no-messages", tip, commit)
    first, *files = done.out.strip().split("\n")
    if done.exit_code not in (0, 1):
        raise GitError(f"git merge-tree failed in {repo}: {done.reason}")
    return first, files if done.exit_code else ()


def _merge_in(tree: Path, tip: str, commit: str) -> tuple[str, Sequence[str]]:
    git(tree, "reset", "-q", "--hard", tip)
    # Git requires an author for a merge even if it commits nothing.
    done = run_git(tree, "merge", "-q", "--no-ff", "--no-commit", commit, env={**os.environ, **trees.AUTHOR})
    if not done.exit_code:
        return git(tree, "write-tree"), ()
    files = git(tree, "diff", "--name-only", "--diff-filter=U").splitlines()
    if not files:
        raise GitError(f"git merge failed in {tree}: {done.reason}")
    return "", files
