"""Denied files in a repository's history: their names, the ids of their contents, and pathspecs that exclude them."""

from __future__ import annotations

import glob
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.text.path_pattern import covers_below, written_out
from agentcli.permissions.denied.files import relative_components, remaining
from agentcli.permissions.git_config import repository
from agentcli.permissions.paths import Workspace, is_template, resolved
from agentcli.permissions.rules import Rule, path_rule
from agentcli.system import probe
from agentcli.system.programs import GIT_HARDENED_ENV, find_program

SECONDS = 5.0
"""Time limit of a history search in seconds; a repository that takes longer counts as one that contains such files."""
_LOG = (
    *(
        "-c",
        "log.showRoot=true",
        "log",
        "--format=",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "-m",
        "--no-ext-diff",
    ),
    *("--ignore-submodules=none", "--full-history", "--all", "--reflog"),
)
_CHANGE = re.compile(r":\d{6} \d{6} ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*\0([^\0]+)\0")
_HEADS = ("FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_REFS = 20_000
"""Maximum reference files of a repository to check for changes."""


@dataclass(frozen=True, slots=True)
class Held:
    """Denied files in a repository, with `names` relative to the `top` of the work tree.

    `blobs` are the ids of their contents. `objects` are the folders that store their content. `known` is false if the
    search failed. `replaced` is true if references let git show other objects than a commit contains.
    """

    top: Path
    objects: tuple[Path, ...]
    names: frozenset[str] = frozenset()
    blobs: frozenset[str] = frozenset()
    known: bool = True
    replaced: bool = False
    specs: tuple[str, ...] = ()
    """Pathspecs that name all of them."""

    @property
    def exclusions(self) -> tuple[str, ...]:
        """Pathspecs that exclude the denied files of every commit.

        There is one for each file, or one for each rule if there are many.
        """
        if self.known and len(self.names) <= _NAMED:
            return tuple(map(_excluding_name, sorted(self.names)))
        return tuple(map(excluding, self.specs))

    @property
    def any(self) -> bool:
        """True if it contains denied files, or may contain some."""
        return bool(self.names) or not self.known


_NAMED = 8
"""Maximum files to exclude from a command one by one."""


def excluding(spec: str) -> str:
    """Return the pathspec that excludes the files of a pathspec with magic words.

    `:(top)x` becomes `:(exclude,top)x`.
    """
    return f":(exclude,{spec.removeprefix(':(')}"


def _excluding_name(name: str) -> str:
    return f":(exclude,top{',literal' if set(name) & set('*?[' + chr(92)) else ''}){name}"


def held_around(folders: Sequence[Path], denials: Sequence[Rule], workspace: Workspace) -> list[Held]:
    """Return which denied files the repositories around these folders contain."""
    found: dict[Path, Held] = {}
    for folder in folders:
        top, *stores = repository(resolved(folder)) or (None,)
        if top is None or top in found:
            continue
        specs = tuple(_pathspecs(top, denials, workspace))
        folders_of = [store / "objects" if probe.exists(store / "HEAD") else store for store in stores]
        objects = tuple(folder for folder in folders_of if probe.is_dir(folder))
        if specs and objects:
            state = _state(stores[0], objects[0].parent)
            looked = _look(top, objects, specs, state, tuple(workspace.resolved_roots))
            named = {name: ids for name, ids in looked.found if not _is_left(top / name, denials, workspace)}
            blobs = frozenset[str]().union(*named.values())
            found[top] = Held(top, objects, frozenset(named), blobs, looked.known, looked.replaced, specs)
    return list(found.values())


def _is_left(path: Path, denials: Sequence[Rule], workspace: Workspace) -> bool:
    """Return True for a template without a rule of its own, although a rule's pathspec matches it."""
    return is_template(path.name) and path_rule(denials, str(path), workspace, strict=False, target=path) is None


def _pathspecs(top: Path, denials: Sequence[Rule], workspace: Workspace) -> Iterator[str]:
    """Yield the rules as git pathspecs for the top of a work tree."""
    places = list(remaining(denials, workspace, top))
    if not any(root.is_relative_to(top) for root in workspace.resolved_roots):
        # Another repository may be a copy: a rule's path in the workspace applies there as well.
        places += _anchored(denials, top)
    for root, pattern in places:
        before = f"{glob.escape(os.path.relpath(root, top))}/" if root != top else ""
        for form in _git_forms(pattern):
            yield f":(top,glob,icase){before}{form}" if before + form else ":(top)"
            if form and covers_below(form) and not form.endswith("**"):
                yield f":(top,glob,icase){before}{form}/**"


def _git_forms(pattern: str) -> tuple[str, ...]:
    """Return a pattern as git globs: with brackets as sets, and as text."""
    if "[" not in pattern:
        return (pattern,)
    text = re.sub(r"\\.|\[", lambda sign: sign[0] if len(sign[0]) > 1 else r"\[", pattern)
    return tuple(dict.fromkeys((pattern, text)))


def _anchored(denials: Sequence[Rule], top: Path) -> Iterator[tuple[Path, str]]:
    """Yield the relative patterns as if a folder were the top of the workspace."""
    for pattern in (each for rule in denials for each in written_out(rule.pattern)):
        if not pattern.startswith(("/", "~/")):
            yield top, "/".join(relative_components(pattern))


@dataclass(frozen=True, slots=True)
class _Looked:
    """Result of a repository search: names of files with the ids of their contents."""

    found: tuple[tuple[str, frozenset[str]], ...] = ()
    known: bool = True
    replaced: bool = False


@lru_cache(maxsize=32)
def _look(
    top: Path, objects: tuple[Path, ...], specs: tuple[str, ...], state: object, roots: tuple[Path, ...]
) -> _Looked:
    git = find_program("git", roots)
    if not git:
        return _Looked()
    heads = [head for head in _HEADS if any(probe.is_file(folder.parent / head) for folder in objects)]
    walk = [*_LOG, "--ignore-missing", *heads, "--", *specs]
    logged = run_git(git, top, walk)
    indexed = run_git(git, top, ["ls-files", "--stage", "-z", "--full-name", "--", *specs])
    replaced = bool(run_git(git, top, ["for-each-ref", "--count=1", "refs/replace"]))
    if logged is None or indexed is None:
        return _Looked(known=False, replaced=replaced)
    found: dict[str, set[str]] = {}
    for *ids, name in _CHANGE.findall(logged):
        found.setdefault(name, set()).update(oid for oid in ids if oid.strip("0"))
    for about, _, name in (entry.partition("\t") for entry in indexed.split("\0") if "\t" in entry):
        found.setdefault(name, set()).add(about.split(" ")[1])
    return _Looked(tuple((name, frozenset(ids)) for name, ids in found.items()), replaced=replaced)


def run_git(git: str, folder: Path, arguments: Sequence[str], given: str = "") -> str | None:
    """Run git in a folder with `given` on stdin, configured to start no other program, and return its output.

    Return None if it fails or takes too long.
    """
    env = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [git, "--no-pager", "--no-replace-objects", *arguments],
            cwd=folder,
            env={**env, **GIT_HARDENED_ENV},
            input=os.fsencode(given),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def _state(own: Path, common: Path) -> object:
    """Return a value that changes whenever a repository's references, index or remotes change."""
    files = [own / "HEAD", own / "index", own / "logs/HEAD"]
    files += [common / "packed-refs", common / "logs/refs/stash", common / "config"]
    files += [own / head for head in _HEADS]
    for number, (folder, _, names) in enumerate(os.walk(common / "refs")):
        files += [Path(folder), *(Path(folder, name) for name in names)]
        if number * 16 + len(files) > _REFS:
            break
    return tuple(map(_stamp, files))


def _stamp(file: Path) -> tuple[int, int, int]:
    try:
        status = os.stat(file)
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_ino, status.st_size)
