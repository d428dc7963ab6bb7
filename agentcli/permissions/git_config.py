"""Check a repository's config for programs that git starts even when it only reads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.system import probe

BARE = frozenset({"HEAD", "objects", "refs"})
"""Names that make a folder a repository without a `.git`."""
_CONFIG_BYTES = 1_000_000
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=|$)")


@dataclass(frozen=True, slots=True)
class GitFacts:
    """Facts about the repository around a folder: `danger` is what a read would start, empty if nothing.

    `secrets` are the files of its index whose paths contain `.env`, as absolute paths.
    """

    danger: str = ""
    secrets: tuple[str, ...] = ()


def git_facts(folder: Path) -> GitFacts:
    """Read the config that git would read in `folder`, including its submodules'. Starts no program.

    Only keys known to be harmless pass: an unknown key counts as one that may start something.
    """
    try:
        real = Path(os.path.realpath(folder))
        return GitFacts(_danger(real, depth=0), _secrets(real))
    except (OSError, ValueError) as error:
        return GitFacts(f"can't read the repository's config ({error})")


def _secrets(folder: Path) -> tuple[str, ...]:
    for top in (folder, *folder.parents):
        marker = top / ".git"
        git_folder = _pointed(top, marker) if marker.is_file() else marker
        if _is_git_folder(git_folder):
            return tuple(str(top / path) for path in tracked_secrets(git_folder / "index"))
    return ()


def repository(folder: Path) -> tuple[Path, ...]:
    """Return the folders that git reads in `folder`: the top of the work tree first, then the repository's folders.

    A bare repository is its own top. The result is empty outside a repository.
    """
    above = (folder, *folder.parents)
    top = next((top for top in above if os.path.lexists(top / ".git") or _is_git_folder(top)), None)
    if top is None:
        return ()
    marker = top / ".git"
    if not os.path.lexists(marker):
        return (top, top)
    try:
        own, common = git_folders(top)
        lent = common / "objects/info/alternates"
        lines = lent.read_text(encoding="utf-8", errors="replace").splitlines() if lent.is_file() else []
        lenders = [Path(os.path.realpath(common / "objects" / line)) for line in lines if line]
    except (OSError, ValueError):
        return (top,)
    lenders = [lender for lender in lenders if probe.is_dir(lender / "pack")]
    return (top, *(each for each in dict.fromkeys((own, common)) if _is_git_folder(each)), *lenders)


def work_tree_of(folder: Path) -> Path | None:
    """Return the folder itself or the nearest one around it that contains `.git`."""
    return next((top for top in (folder, *folder.parents) if probe.exists(top / ".git")), None)


def git_folders(top: Path) -> tuple[Path, Path]:
    """Return the folder with git's state of a work tree, and the one that it shares with other work trees.

    Raises OSError, or ValueError if `.git` is a file of another kind.
    """
    marker = top / ".git"
    own = _pointed(top, marker) if marker.is_file() else Path(os.path.realpath(marker))
    return own, _common_folder(own)


def leads_nowhere(git_folder: Path) -> bool:
    """Return True for a repository as `git init` begins it: its settings start nothing, and it names no other place."""
    try:
        names = {path.name for path in git_folder.iterdir()}
        hooks = [path.suffix for path in (git_folder / "hooks").glob("*")]
        keys = config_keys((git_folder / "config").read_text(encoding="utf-8", errors="replace"))
        danger = _config_danger(git_folder / "config")
    except (OSError, ValueError):
        return False
    own = all(key.partition(".")[0] in ("core", "user", "init") for key in keys) and not danger
    return (
        own
        and names.isdisjoint(_LEADING)
        and {".sample"}.issuperset(hooks)
        and not (git_folder / "objects/info/alternates").exists()
    )


_LEADING = frozenset({"commondir", "config.worktree", "modules", "worktrees"})
"""Names in a repository's folder that lead to other settings or folders."""


def linked_repository(top: Path) -> Path | None:
    """Return the repository's folder of a linked work tree; None unless each of the two names the other."""
    with suppress(OSError, ValueError):
        own, common = git_folders(top)
        if own.parent == common / "worktrees" and _pointer(own) == Path(os.path.realpath(top), ".git"):
            return common
    return None


def linked_work_trees(top: Path, there: Callable[[str], str] = str) -> dict[Path, Path]:
    """Return the linked work trees of the repository around a work tree by the folders with their state.

    Each of the two names the other. `there` returns a path that git has recorded as a path of this process.
    """
    found: dict[Path, Path] = {}
    with suppress(OSError, ValueError):
        for own in (git_folders(top)[1] / "worktrees").iterdir():
            with suppress(OSError, ValueError):
                tree = _pointer(own, there).parent
                marker = tree / ".git"
                if not marker.is_symlink() and _pointed(tree, marker) == Path(os.path.realpath(own)):
                    found[own] = tree
    return found


def _pointer(own: Path, there: Callable[[str], str] = str) -> Path:
    """Return the `.git` file of the work tree whose state is in `own`, with the links on the way followed."""
    marker = own / there((own / "gitdir").read_text(encoding="utf-8").strip())
    return Path(os.path.realpath(marker.parent), marker.name)


def _danger(folder: Path, depth: int) -> str:
    for top in (folder, *folder.parents):
        marker = top / ".git"
        if marker.is_file():
            return _work_tree_danger(top, _pointed(top, marker), depth)
        if marker.is_dir() and (problem := _work_tree_danger(top, marker, depth)):
            return problem
        if _is_git_folder(marker):
            return ""
        if _is_git_folder(top):
            return f"{top} looks like a bare repository"
    return ""


def _work_tree_danger(top: Path, git_folder: Path, depth: int) -> str:
    common = _common_folder(git_folder)
    for file in (common / "config", git_folder / "config.worktree", common / "config.worktree"):
        if problem := _config_danger(file):
            return problem
    # The only hook that a read can start: `git diff` updates the index.
    if os.path.lexists(common / "hooks/post-index-change"):
        return f"{common / 'hooks/post-index-change'} would be run"
    return _submodule_danger(top, common, git_folder, depth)


def _is_git_folder(path: Path) -> bool:
    return os.path.lexists(path / "HEAD") and ((path / "commondir").exists() or (path / "objects").is_dir())


def _pointed(top: Path, marker: Path) -> Path:
    """Return the folder that a `.git` file points to. Raise ValueError if it is not a git file."""
    text = marker.read_text(encoding="utf-8", errors="replace").strip()
    if not text.startswith("gitdir:"):
        raise ValueError(f"{marker} is not a git file")
    return Path(os.path.realpath(top / text.removeprefix("gitdir:").strip()))


def _common_folder(git_folder: Path) -> Path:
    pointer = git_folder / "commondir"
    if not pointer.is_file():
        return git_folder
    return Path(os.path.realpath(git_folder / pointer.read_text(encoding="utf-8", errors="replace").strip()))


def _config_danger(file: Path, harmless: tuple[str, ...] = ()) -> str:
    """Return the first key of a config file that may start a program, with the file name; or empty."""
    from agentcli.system.git import reads_only

    if not file.exists():
        return ""
    if not file.is_file() or file.stat().st_size > _CONFIG_BYTES:
        return f"{file} is not an ordinary config file"
    for key in config_keys(file.read_bytes().decode("utf-8", "replace")):
        if key not in harmless and not reads_only(key):
            return f"{key} in {file} may start a program"
    return ""


def config_keys(text: str) -> list[str]:
    """Return the keys of a git config in lower case (`section.sub.key`); an unreadable line becomes a separate key.

    As in git, only a newline ends a line. A vertical tab or a lone carriage return in a comment begins no section.
    """
    keys: list[str] = []
    section = ""
    for line in text.removeprefix("\ufeff").split("\n"):
        rest = line.strip()
        while match := _SECTION.match(rest):
            section = match[1].lower() + ("" if match[2] is None else "." + re.sub(r"\\(.)", r"\1", match[2]).lower())
            rest = rest[match.end() :]
        if not rest or rest[0] in "#;":
            continue
        key = _KEY.match(rest)
        # Whether a backslash at the end continues the value depends on quotes and comments before it.
        readable = key and section and not rest.endswith("\\")
        keys.append(f"{section}.{key[1].lower()}" if key and readable else f"unreadable line {rest[:40]!r}")
    return keys


def _submodule_danger(top: Path, common: Path, git_folder: Path, depth: int) -> str:
    """Check submodules, which git reads with their own config: `status` and `diff` enter them without our settings."""
    if depth > 8:
        return "submodules are nested too deep"
    if (common / "modules").is_dir():
        for folder, names, files in os.walk(common / "modules"):
            names[:] = [name for name in names if name not in ("objects", "refs", "hooks", "logs", "info")]
            if "config" in files and (problem := _config_danger(Path(folder) / "config", ("core.worktree",))):
                return problem
    for path in gitlinks(git_folder / "index"):
        inner = top / path
        if os.path.lexists(inner / ".git") and (problem := _submodule(inner, depth + 1)):
            return problem
    return ""


def _submodule(inner: Path, depth: int) -> str:
    marker = inner / ".git"
    if marker.is_dir():
        return _work_tree_danger(inner, marker, depth)
    git_folder = _pointed(inner, marker)
    return _config_danger(git_folder / "config", ("core.worktree",)) or _submodule_danger(
        inner, git_folder, git_folder, depth
    )


def gitlinks(index: Path) -> list[str]:
    """Return the paths in a git index that are repositories of their own. Raise ValueError for an unreadable index."""
    data = _index_data(index)
    return [entry.path for entry in _entries(data) if entry.link] if _GITLINK_MODE in data else []


def tracked_secrets(index: Path) -> list[str]:
    """Return the paths in a git index that contain `.env`. Raise ValueError for an unreadable index."""
    data = _index_data(index)
    # In version 4, a name omits the prefix that it shares with the previous one. Searching the bytes proves nothing
    # then.
    if data[4:8] != b"\0\0\0\4" and not _SECRET_NAME.search(data):
        return []
    return [entry.path for entry in _entries(data) if ".env" in entry.path.casefold()]


def tracked(folder: Path) -> list[str]:
    """Return the paths in the index of the repository around a folder. Raise ValueError for an unreadable index."""
    return [path for place in repository(folder) for path in indexed(place)]


def indexed(git_folder: Path) -> list[str]:
    """Return the paths in the index of a repository's own folder. Raise ValueError for an unreadable index."""
    return [entry.path for entry in _entries(_index_data(git_folder / "index"))]


def changed(git_folder: Path, top: Path) -> list[Path]:
    """Return the tracked files of a work tree whose size or time differs from the index.

    Missing files are left out. Raise ValueError for an index that is missing or unreadable.
    """
    data = _index_data(git_folder / "index")
    if not data:
        raise ValueError("there is no index")
    found: list[Path] = []
    for entry in _entries(data):
        path = top / entry.path
        try:
            status = path.lstat()
        except OSError:
            continue
        seconds, rest = divmod(status.st_mtime_ns, 1_000_000_000)
        now = (seconds & 0xFFFFFFFF, rest, status.st_size & 0xFFFFFFFF)
        if not entry.link and now != (entry.seconds, entry.nanoseconds, entry.size):
            found.append(path)
    return found


def _index_data(index: Path) -> bytes:
    if not index.is_file():
        return b""
    if any(index.parent.glob("sharedindex.*")):
        raise ValueError("the index is split")
    return index.read_bytes()


_GITLINK_MODE = b"\x00\x00\xe0\x00"
_SECRET_NAME = re.compile(rb"\.env", re.IGNORECASE)
_INDEX_ENTRIES = 200_000


@dataclass(frozen=True, slots=True)
class _Entry:
    """A path of an index; `link` is true for a separate repository. The rest is its file as git last saw it."""

    path: str
    link: bool
    seconds: int
    nanoseconds: int
    size: int


def _entries(data: bytes) -> Iterator[_Entry]:
    """Yield the entries of an index."""
    if not data:
        return
    if data[:4] != b"DIRC":
        raise ValueError("damaged index")
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if version not in (2, 3, 4) or count > _INDEX_ENTRIES:
        raise ValueError("the index is too large, or has an unsupported format")
    offset, path = 12, b""
    for _ in range(count):
        flags = int.from_bytes(data[offset + 60 : offset + 62], "big")
        start = offset + (64 if flags & 0x4000 else 62)
        shared = 0
        if version == 4:
            dropped, start = _varint(data, start)
            shared = len(path) - dropped
        end = data.index(b"\0", start)
        path = path[:shared] + data[start:end]
        seconds, nanoseconds, size = (int.from_bytes(data[offset + at : offset + at + 4], "big") for at in (8, 12, 36))
        link = data[offset + 24 : offset + 28] == _GITLINK_MODE
        yield _Entry(path.decode("utf-8", "surrogateescape"), link, seconds, nanoseconds, size)
        offset = end + 1 if version == 4 else offset + (end - offset + 8) // 8 * 8


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return a number in the encoding of git's packs (`OFS_DELTA`), and the offset after it."""
    value = data[offset] & 0x7F
    while data[offset] & 0x80:
        offset += 1
        value = ((value + 1) << 7) | (data[offset] & 0x7F)
    return value, offset + 1
