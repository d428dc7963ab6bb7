"""What a command may read outside the workspace without a question: the sandbox shows the paths that it names, read-only.

Credentials, keys, hidden folders of the home folder, sockets and other file systems stay hidden in them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from agentcli.core.text.path_pattern import names_wildcard
from agentcli.permissions.git_config import repository, tracked
from agentcli.permissions.paths import (
    PRIVATE_IN_HOME,
    Exposed,
    Workspace,
    canonical,
    is_installed,
    names_protected,
    resolved,
)
from agentcli.permissions.sandbox.visible import below
from agentcli.system import probe

ENTRIES = 100_000
"""Maximum entries of the named folders to look at; beyond it, the command asks."""
HIDDEN = 300
"""Maximum paths to hide one by one; beyond it, the command asks."""
_MOST_PATHS = 16
"""Maximum paths outside the workspace that one command may name."""
_TOLD = 2
"""Maximum paths that a reason or note lists."""
OF_THE_SYSTEM = frozenset(
    [
        "bin",
        "boot",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "nix",
        "opt",
        "proc",
        "run",
        "sbin",
        "snap",
        "sys",
        "usr",
        "var",
        "System",
        "Library",
        "Applications",
        "cores",
        "root",
    ]
)
"""Folders of the root in which no person works."""
OF_PROGRAMS = frozenset(["Library", "AppData", "snap"])
"""Folders of a home folder in which programs keep their settings."""
_MAIL = frozenset({"mail", "maildir", "mbox"})
"""Names of folders with mail, in lower case."""
_HOMES = (Path("/home"), Path("/Users"))
_PRIVATE = frozenset(name for parts in PRIVATE_IN_HOME for name in parts[-1:] if name.startswith("."))
"""Names of files and folders with credentials, at any depth."""
_KEYS = re.compile(
    r".*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars|ovpn)(?:\.\w+)?|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
    r"|\.(?:pgpass|htpasswd|my\.cnf|vault-token|boto|s3cfg)|.*_history|service[-_]?account[\w.-]*\.json"
    r"|(?:.*[._-])?(?:credentials?|secrets?)(?:\.(?:json|ya?ml|toml|ini|txt|xml|csv|enc|env))?"
)
"""Names of files with keys, passwords or typed commands, in lower case."""
_VAULTS = frozenset({"secret", "secrets", "credentials", ".secrets"})
"""Names of folders whose data are such files; source code in them is not."""
_DATA = re.compile(r"[^.]+|.*\.(?:json|ya?ml|toml|ini|txt|xml|csv|enc|env|conf|cfg|properties)")
_PLAIN = re.compile(r"[\w-][\w.-]*[\w-]|[\w-]", re.ASCII)
"""Names that every file system compares by their letters."""
_SETTINGS = ("config", "config.worktree")
_BARE = frozenset({"HEAD", "objects", "refs"})
"""Names that make a folder a repository without a `.git`."""
_CREDENTIALS = re.compile(rb"(?i)://[^/\s@]*:[^/\s@]*@|://[\w-]{20,}@|extraheader|password")
"""An address with a password, or a header, in the settings of a repository."""


def exposed_for(paths: Sequence[Path], workspace: Workspace, *, git: bool, contents: bool) -> Exposed | None:
    """Return what the sandbox of a command that names these paths shows; None if one of them needs a question.

    With `git`, the command also sees the repositories around the paths. Without, it sees no history. `contents` is
    true if it may show recorded files: then no file with keys may be among them.
    """
    tops = _outermost(map(_before_wildcard, paths))
    if not tops or len(tops) > _MOST_PATHS:
        return None
    found: dict[Path, None] = {}
    for path in tops:
        named = [path, *(repository(path) if git and probe.is_dir(path) else ())]
        if ".git" in path.parts or str(path) in _secret_settings(path.parent):
            return None
        if not all(_may_be_shown(each, workspace) for each in named) or (git and contents and _records_private(path)):
            return None
        found |= dict.fromkeys(named)
    shown = _outermost(found)
    hidden = _hidden_in(shown, workspace, git=git)
    return None if hidden is None else Exposed(shown, hidden)


def would_show(workspace: Workspace, path: str) -> bool:
    """Return True if the sandbox would show a path to a command that names it."""
    target = resolved(os.path.expanduser(path))
    exposed = exposed_for((target,), workspace, git=False, contents=False) if workspace.exposes else None
    return exposed is not None and not below(target, exposed.hidden)


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that lie below no other one."""
    named = dict.fromkeys(paths)
    return tuple(path for path in named if named.keys().isdisjoint(path.parents))


def holds_private(last: str, around: str, *, folder: bool) -> bool:
    """Return True if a file or folder with this name, in a folder `around`, holds credentials, keys or typed commands."""
    name = last.lower() if last.isascii() and _PLAIN.fullmatch(last) else canonical(last)
    if name.startswith(".") and (name in _PRIVATE or names_protected(name, write=False)):
        return True
    if folder:
        return False
    if _KEYS.fullmatch(name):
        return True
    return canonical(around) in _VAULTS and _DATA.fullmatch(name) is not None


def _before_wildcard(path: Path) -> Path:
    """Return the folder in which a pattern searches; any other path unchanged."""
    if not names_wildcard(str(path)) or probe.exists(path):
        return path
    return next(folder for folder in path.parents if not names_wildcard(str(folder)))


def _may_be_shown(path: Path, workspace: Workspace) -> bool:
    """Return True if nothing about a resolved path itself forbids that a command sees it."""
    if workspace.tmp is not None and below(path, (Path("/tmp"),)):
        return False  # commands of mode auto see another folder there
    if is_installed(path, workspace):
        return True
    homes = [resolved(home) for home in (workspace.home, *workspace.other_homes)]
    home = next((home for home in homes if path.is_relative_to(home)), None)
    inner = path.relative_to(home).parts if home is not None else path.parts[2:]
    if not inner or any(top.is_relative_to(path) for top in homes) or _named_private(path):
        return False
    if home is None and (
        path.parts[1] in OF_THE_SYSTEM
        or below(path, (*_HOMES, *(each.parent for each in homes if each.parent != Path("/"))))
    ):
        return False
    first = canonical(inner[0])
    if home is not None and (first.startswith(".") or inner[0] in OF_PROGRAMS or first in _MAIL):
        return False
    if any(below(path, (resolved(own),)) for own in workspace.own):
        return False
    return _owned(path) and _mount_of(path) in {
        _mount_of(top) for top in (Path("/"), *homes, *workspace.resolved_roots)
    }


def _records_private(path: Path) -> bool:
    """Return True if the repository around a path tracks a file with keys, or can't be read."""
    try:
        return any(holds_private(*_last_two(name), folder=False) for name in tracked(path))
    except (OSError, ValueError):
        return True


def _last_two(path: str) -> tuple[str, str]:
    """Return the name of a path, and that of the folder around it."""
    around, _, name = path.rpartition("/")
    return name, around.rpartition("/")[2]


def _named_private(path: Path) -> bool:
    """Return True if a path or a folder around it holds credentials, by their names."""
    if any(holds_private(folder.name, "", folder=True) for folder in path.parents):
        return True
    return holds_private(path.name, path.parent.name, folder=probe.is_dir(path))


def _owned(path: Path) -> bool:
    """Return True if a path is a file or folder of the user, or is missing in one."""
    near = next((each for each in (path, *path.parents) if probe.exists(each)), Path("/"))
    try:
        status = near.stat()
    except OSError:
        return False
    ordinary = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return ordinary and (status.st_uid == os.getuid() or near != path)


def _hidden_in(tops: Sequence[Path], workspace: Workspace, *, git: bool) -> tuple[Path, ...] | None:
    """Return what stays hidden in shown folders; None if there is too much to look at."""
    found = [mount for mount in _mounts() for top in tops if mount != top and below(mount, (top,))]
    own = [
        *workspace.own,
        *(home.joinpath(*parts) for home in (workspace.home, *workspace.other_homes) for parts in PRIVATE_IN_HOME),
    ]
    found += [path for path in map(resolved, own) if below(path, tops) and probe.exists(path)]
    left = ENTRIES
    for top in tops:
        if is_installed(top, workspace):
            continue
        for entry, hides in _entries(top, git):
            left -= 1
            if hides and below(Path(entry), tops):
                found.append(Path(entry))
            if left < 0 or len(found) > HIDDEN:
                return None
    return tuple(dict.fromkeys(found))


def _entries(top: Path, git: bool) -> Iterator[tuple[str, bool]]:
    """Yield the paths below a folder, and for each whether it stays hidden; nothing below hidden ones."""
    waiting = [str(top)] if probe.is_dir(top) else []
    if os.path.basename(top) == ".git" and git:
        yield from ((path, True) for path in _secret_settings(top))
        return
    for folder in waiting:
        around = os.path.basename(folder)
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError:
            continue
        if {entry.name for entry in listed} >= _BARE:
            yield from ((path, True) for path in _secret_settings(Path(folder)))
        for entry in listed:
            ordinary = entry.is_symlink() or entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
            if entry.name == ".git":
                yield entry.path, not git
                if git:
                    yield from ((path, True) for path in _secret_settings(Path(entry.path)))
                continue
            folder_there = entry.is_dir(follow_symlinks=False)
            private = holds_private(entry.name, around, folder=folder_there)
            hides = not ordinary or (private and not (folder_there and os.path.isfile(f"{entry.path}/pyvenv.cfg")))
            yield os.path.realpath(entry.path) if hides and entry.is_symlink() else entry.path, hides
            if not hides and folder_there and entry.name != "node_modules":
                waiting.append(entry.path)


def _secret_settings(git_folder: Path) -> Iterator[str]:
    """Yield the settings of a repository that contain credentials."""
    for name in _SETTINGS:
        file = git_folder / name
        try:
            if _CREDENTIALS.search(file.read_bytes()):
                yield str(file)
        except OSError:
            continue


def _mounts() -> tuple[Path, ...]:
    """Return the places of this machine's file systems; none where the system does not list them."""
    try:
        with open("/proc/self/mountinfo", "rb") as rows:
            return _parsed(rows.read())
    except OSError:
        return ()


@lru_cache(maxsize=4)
def _parsed(rows: bytes) -> tuple[Path, ...]:
    named = (row.split(b" ")[4] for row in rows.splitlines() if row.count(b" ") > 4)
    return tuple(
        Path(os.fsdecode(re.sub(rb"\\(\d{3})", lambda code: bytes([int(code[1], 8)]), name))) for name in named
    )


def _mount_of(path: Path) -> Path:
    around = (place for place in _mounts() if below(path, (place,)))
    return max(around, key=lambda place: len(place.parts), default=Path("/"))


def told(exposed: Exposed) -> str:
    """Return the paths that a command sees outside the workspace, for the reason of its decision."""
    return _listed([str(path) for path in exposed.paths])


def hidden_note(exposed: Exposed) -> str:
    """Return the line for the model about files hidden in what a command named; empty if there are none."""
    hidden = [str(path) for path in exposed.hidden if path.name != ".git"]
    return f"[hidden from it, as possible secrets: {_listed(hidden)}]" if hidden else ""


def limits_note(exposed: Exposed) -> str:
    """Return the line for the model about what a failed command could see outside the workspace."""
    history = ", and no .git" if any(path.name == ".git" for path in exposed.hidden) else ""
    return f"[outside the workspace it saw only {told(exposed)}, read-only{history}]"


def _listed(paths: Sequence[str]) -> str:
    return f"{', '.join(paths[:_TOLD])}{f' and {len(paths) - _TOLD} more' if len(paths) > _TOLD else ''}"
