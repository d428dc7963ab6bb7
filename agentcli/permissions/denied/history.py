"""Files that deny rules forbid reading, as found in the index and history of a repository."""

from __future__ import annotations

import glob
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.hardened import GIT_HARDENED_ENV
from agentcli.core.programs import find_program
from agentcli.permissions.denied.files import remaining
from agentcli.permissions.git_config import repository
from agentcli.permissions.paths import Workspace, resolved
from agentcli.permissions.rules import Rule, covers_below

SECONDS = 5.0
"""Time limit for a look through the history, in seconds; a repository that takes longer counts as one that contains such files."""
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
"""Largest number of reference files of a repository to check for changes."""


@dataclass(frozen=True, slots=True)
class Held:
    """Denied files in a repository: their `names` relative to the `top` of the work tree, and the ids of their `blobs`.

    `objects` are the folders that store their content. `known` is false if the search failed.
    """

    top: Path
    objects: tuple[Path, ...]
    names: frozenset[str] = frozenset()
    blobs: frozenset[str] = frozenset()
    known: bool = True

    @property
    def any(self) -> bool:
        """True if it contains denied files, or may contain some."""
        return bool(self.names) or not self.known


def held_around(folders: Sequence[Path], denials: Sequence[Rule], workspace: Workspace) -> list[Held]:
    """Return which denied files the repositories around these folders contain."""
    found: dict[Path, Held] = {}
    for folder in folders:
        top, *stores = repository(resolved(folder)) or (None,)
        if top is None or top in found:
            continue
        specs = tuple(_pathspecs(top, denials, workspace))
        folders_of = [store / "objects" if (store / "HEAD").exists() else store for store in stores]
        objects = tuple(folder for folder in folders_of if folder.is_dir())
        if specs and objects:
            state = _state(stores[0], objects[0].parent)
            found[top] = _look(top, objects, specs, state, tuple(workspace.resolved_roots))
    return list(found.values())


def _pathspecs(top: Path, denials: Sequence[Rule], workspace: Workspace) -> Iterator[str]:
    """Yield the rules as git pathspecs for the top of a work tree."""
    for root, pattern in remaining(denials, workspace, top):
        before = f"{glob.escape(os.path.relpath(root, top))}/" if root != top else ""
        yield f":(top,glob,icase){before}{pattern}" if before + pattern else ":(top)"
        if pattern and covers_below(pattern) and not pattern.endswith("**"):
            yield f":(top,glob,icase){before}{pattern}/**"


@lru_cache(maxsize=32)
def _look(top: Path, objects: tuple[Path, ...], specs: tuple[str, ...], state: object, roots: tuple[Path, ...]) -> Held:
    git = find_program("git", roots)
    if not git:
        return Held(top, objects)
    heads = [head for head in _HEADS if any((folder.parent / head).is_file() for folder in objects)]
    walk = [*_LOG, "--ignore-missing", *heads, "--", *specs]
    logged = _run(git, top, walk)
    indexed = _run(git, top, ["ls-files", "--stage", "-z", "--full-name", "--", *specs])
    if logged is None or indexed is None:
        return Held(top, objects, known=False)
    changes = _CHANGE.findall(logged)
    staged = [entry.partition("\t")[::2] for entry in indexed.split("\0") if "\t" in entry]
    names = {name for *_, name in changes} | {name for _, name in staged}
    blobs = {oid for *oids, _ in changes for oid in oids if oid.strip("0")} | {
        about.split(" ")[1] for about, _ in staged
    }
    return Held(top, objects, frozenset(names), frozenset(blobs))


def _run(git: str, top: Path, arguments: Sequence[str]) -> str | None:
    env = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [git, "--no-pager", "--no-replace-objects", *arguments],
            cwd=top,
            env={**env, **GIT_HARDENED_ENV},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def _state(own: Path, common: Path) -> object:
    """Return a value that changes whenever the references or the index of a repository change."""
    files = [own / "HEAD", own / "index", own / "logs/HEAD", common / "packed-refs", common / "logs/refs/stash"]
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
