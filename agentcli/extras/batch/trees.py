"""Folders in which tasks work, and their results as commits; git runs outside the agents' sandbox."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.extras.batch.tasks import Isolation
from agentcli.system.git import GitError, git, run_git
from agentcli.system.paths import folder as made
from agentcli.system.worktrees import copy_included, make_worktree, remove_worktree

FOLDER = "worktrees"
"""Name of the trees' folder in the cache folder: agents must not work below the data folder."""
REFS = "refs/agentcli/batch"
_WHO = {"NAME": "agentcli", "EMAIL": "agentcli@localhost"}
AUTHOR = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _WHO.items()}
"""Author of a batch's commits, as variables of git's environment: on a new machine git has no name."""

_IN_REFS = re.compile(r"[\w-]+(?:\.(?!lock\b)[\w-]+)*", re.ASCII)
"""Ids that can be part of a ref unchanged; others contain dots that git refuses."""
_PATCH = ("--binary",)
_REPOSITORY = "160000 "
"""Mode of a repository within another one, as git lists it."""


@dataclass(frozen=True, slots=True)
class Result:
    """Commit of a task's changes, empty if there are none, and the number of lines of its patch."""

    commit: str = ""
    patch_lines: int = 0


def result_ref(batch: str, id: str, attempt: int) -> str:
    """Return the ref for an attempt's result. Dots that git would refuse, as in `x.lock` and `a..b`, become `%2E`."""
    return f"{REFS}/{batch}/{id if _IN_REFS.fullmatch(id) else id.replace('.', '%2E')}/{attempt}"


def base_commit(repo: str, base: str) -> str:
    """Resolve a name to a commit. Raise InputError if it is unknown."""
    ran = run_git(repo, "rev-parse", "--verify", "--end-of-options", f"{base}^{{commit}}")
    if ran.exit_code:
        cure = "Correct the `base` or `repo` of its tasks; --isolate copy works without git."
        raise InputError(f"Unknown commit {base} in {repo}: {ran.reason.rstrip('.')}. {cure}")
    return ran.out.removesuffix("\n")


def is_dirty(repo: str) -> bool:
    """Return True if a repository has uncommitted changes, which no tree contains."""
    return bool(git(repo, "status", "--porcelain", "--untracked-files=no"))


def make_tree(cache: Path, repo: str, commit: str, isolation: Isolation, name: str) -> Path:
    """Make a folder with a commit's files, for one start of a task; without isolation, return the repository itself.

    Raise GitError or OSError if it cannot be made.
    """
    if isolation == "none":
        return Path(repo)
    tree = made(cache / FOLDER) / name
    match isolation:
        case "worktree":
            make_worktree(Path(repo), commit, tree)
        case "clone":
            git(tree.parent, "clone", "--local", "--no-checkout", "-q", repo, str(tree))
            git(tree, "checkout", "--detach", "-q", commit)
            copy_included(Path(repo), tree)
        case "copy":
            shutil.copytree(repo, tree, symlinks=True)
            _beside(tree, "init", "-q")
            _add_all(partial(_beside, tree))
            _beside(
                tree,
                "update-ref",
                "HEAD",
                commit_tree(tree, _beside(tree, "write-tree"), "copy", git_folder=_aside(tree)),
            )
    return tree


def workplace(repo: str, tree: Path, isolation: Isolation) -> Path:
    """Return the folder of a tree that corresponds to `repo`, which may be a subfolder of its repository."""
    if isolation in ("copy", "none"):
        return tree
    folder = tree / run_git(repo, "rev-parse", "--show-prefix").out.strip("\n")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def remove_tree(cache: Path, repo: str, tree: Path, isolation: Isolation) -> None:
    """Remove a tree that was made here, and nothing else."""
    if isolation == "none" or tree.parent != cache / FOLDER:
        return
    if isolation == "worktree":
        remove_worktree(Path(repo), tree)
    for folder in (tree, _aside(tree)):
        shutil.rmtree(folder, ignore_errors=True)


def record(repo: str, tree: Path, base: str, ref: str, message: str, patch: Path, isolation: Isolation) -> Result:
    """Commit a task's changes under a ref of its repository, and write the patch. Uses the tree's index.

    For a copy, write only the patch.
    """
    if isolation == "none":
        return Result()
    if isolation == "copy":
        _add_all(partial(_beside, tree))
        return Result("", _write(patch, _beside(tree, "diff", "--cached", *_PATCH, "HEAD")))
    if not os.path.lexists(tree / ".git"):
        raise GitError(f"{tree} is no longer a repository: its .git was removed.")
    _add_all(partial(git, tree))
    files = git(tree, "write-tree")
    if files == git(tree, "rev-parse", f"{base}^{{tree}}"):
        patch.write_text("")
        return Result()
    commit = commit_tree(tree, files, message, base)
    if isolation == "clone":
        _bring(repo, tree, commit)
    git(repo, "update-ref", ref, commit)
    return Result(commit, _write(patch, run_git(repo, "diff", *_PATCH, base, commit).out))


def commit_tree(repo: Path | str, files: str, message: str, *parents: str, git_folder: Path | None = None) -> str:
    """Make a commit of a tree object and return its id.

    Changes nothing else. `git_folder` is the folder of a separate repository.
    """
    named = [word for parent in parents for word in ("-p", parent)]
    place = [f"--git-dir={git_folder}"] if git_folder else []
    return git(repo, *place, "commit-tree", files, *named, "-m", message, env={**os.environ, **AUTHOR})


def _add_all(run: Callable[..., str]) -> None:
    """Add all changes of a tree to its index; add repositories inside it separately.

    For a repository in the index, `git add` would run git inside it. The task may have written that repository's
    config.
    """
    entries = run("ls-files", "--stage", "-z").split("\0")
    inner = [entry.partition("\t")[2] for entry in entries if entry.startswith(_REPOSITORY)]
    run("add", "-A", "--", ".", *(f":(exclude,literal){path}" for path in inner))
    if inner:
        run("update-index", "--add", "--remove", "--", *inner)


def _write(patch: Path, text: str) -> int:
    """Write a patch exactly as git printed it; return the number of its lines."""
    patch.write_bytes(text.encode("utf-8", "surrogateescape"))
    return text.count("\n")


def _aside(tree: Path) -> Path:
    """Return the git folder of a copy, which its agent does not see."""
    return tree.with_name(f".{tree.name}.git")


def _beside(tree: Path, *arguments: str) -> str:
    """Run git on a copy whose git folder lies beside it. Return the output: exact for `diff` and `ls-files`, else stripped."""
    place = (f"--git-dir={_aside(tree)}", f"--work-tree={tree}")
    ran = run_git(tree, *place, *arguments)
    if ran.exit_code:
        raise GitError(f"git {arguments[0]} failed in {tree}: {ran.reason}")
    return ran.out if arguments[0] in ("diff", "ls-files") else ran.out.strip()


def bundle(cache: Path, repo: str, base: str, ref: str, commit: str) -> bytes:
    """Return the commit of a result as a thin bundle on its base; empty if there is none."""
    if not commit:
        return b""
    with tempfile.TemporaryDirectory(dir=made(cache)) as folder:
        file = Path(folder, "result.bundle")
        git(repo, "bundle", "create", "-q", str(file), ref, f"^{base}")
        return file.read_bytes()


def take_bundle(cache: Path, repo: str, ref: str, commit: str, data: bytes) -> None:
    """Point a ref at a commit, fetching it from the bundle if it is missing. Raise GitError."""
    if not commit:
        return
    if run_git(repo, "cat-file", "-e", f"{commit}^{{commit}}").exit_code:
        with tempfile.TemporaryDirectory(dir=made(cache)) as folder:
            file = Path(folder, "result.bundle")
            file.write_bytes(data)
            git(repo, "fetch", "-q", "--no-tags", str(file), ref)
    git(repo, "update-ref", ref, commit)


def _bring(repo: str, tree: Path, commit: str) -> None:
    """Bring a commit of a clone into its repository."""
    git(tree, "update-ref", "refs/agentcli/result", commit)
    git(repo, "fetch", "-q", "--no-tags", str(tree), "refs/agentcli/result")
