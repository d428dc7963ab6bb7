"""What a command may read outside the workspace without a question: the sandbox shows the paths that it names, read-only.

Credentials, keys, hidden folders of the home folder, sockets and other file systems stay hidden in them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePath, PurePosixPath

from agentcli.core.text.path_pattern import literal, names_wildcard
from agentcli.core.text.secrets import without_git_credentials
from agentcli.permissions.git_config import BARE, indexed, repository, tracked
from agentcli.permissions.paths import (
    PRIVATE_IN_HOME,
    Exposed,
    Workspace,
    below,
    canonical,
    entries_of,
    is_installed,
    names_protected,
    resolved,
)
from agentcli.permissions.rules import holds_secrets, reading_scope
from agentcli.permissions.sandbox.visible import called_in
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
_PAIRS = frozenset(parts[-2:] for parts in PRIVATE_IN_HOME if len(parts) > 1)
"""Folders with credentials that only the folder around them tells apart: `gh` in `.config`."""
_ENDINGS = frozenset(["pem", "key", "p8", "p12", "pfx", "jks", "keystore", "kdbx", "ppk", "tfstate", "tfvars", "ovpn"])
"""Endings of files with keys or passwords, also before another ending."""
_KEYS = re.compile(
    r"id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub$).*|[._](?:netrc|dockercfg)|env\.(?:local|dev|prod|stag|test)\w*"
    r"|\.(?:pgpass|htpasswd|my\.cnf|vault[-_]\w+|boto|s3cfg|dev\.vars)|\.?rclone\.conf|wallet\.dat|secring\.gpg"
    r"|(?:root|access)[-_]?keys?\.csv|passwords?\.(?:txt|csv|xlsx?)|kube[._-]config"
)
"""Names of other files with keys or passwords, in lower case."""
_PROFILE = re.compile(r"logins\.json|key[34]\.db|cookies(?:\.sqlite)?|login data")
"""Names of such files in the profile of a browser or mail program, in lower case."""
_ACCOUNT = re.compile(r"service[-_]?account|firebase[-_]adminsdk")
"""Part of the names of JSON files with the key of an account."""
_COPIES = frozenset(["bak", "backup", "old", "orig", "save", "copy", "swp", "swo"])
"""Endings that people and editors add to the names of copies."""
_VAULTS = frozenset({"secret", "secrets", "credential", "credentials", "creds", ".secrets"})
"""Names of folders whose data are such files, and words in the names of such data. Source code is not data."""
_WORD = re.compile("secret|cred")
"""Part of each of these words: a quick look before the name is split."""
_DATA = re.compile(r"[^.]+|.*\.(?:json|ya?ml|toml|ini|txt|xml|csv|enc|env|conf|cfg|properties|db)")
_PLAIN = re.compile(r"[\w-][\w.-]*[\w-]|[\w-]", re.ASCII)
"""Names that every file system compares by their letters."""
_SETTINGS = ("config", "config.worktree")
_RECORDED = ("objects", "lfs")
"""Folders of a repository with the files that it recorded."""
_STORES = (*_RECORDED, "refs", "logs")
"""Folders of a repository that contain no file with credentials of their own."""
_CREDENTIALS = re.compile(rb"(?i)://[^/\s@]*:[^/\s@]*@|://[\w-]{20,}@|extraheader|password")
"""An address with a password, or a header, in the settings of a repository."""


def exposed_for(
    paths: Sequence[Path], workspace: Workspace, *, git: bool, contents: bool, lists: bool = False
) -> Exposed | None:
    """Return what the sandbox of a command that names these paths shows; None if one of them needs a question.

    With `git`, the command also sees the repositories around the paths. Without, it sees no history. `contents` is
    true if it may show recorded files: then no file with keys may be among them. `lists` is true if it shows only
    names, sizes and times. Then hidden folders of the home folder may be shown, too.
    """
    tops = _outermost(map(_before_wildcard, paths))
    if not tops or len(tops) > _MOST_PATHS:
        return None
    if git and contents and any(map(_records_private, dict.fromkeys(map(_around, paths)))):
        return None
    found: dict[Path, None] = {}
    for path in tops:
        if _by_program(path, workspace) and not _named_private(path) and (called := called_in(path, workspace)):
            found |= dict.fromkeys(each for each in called if nothing_private(each, workspace, of_program=True))
            continue
        named = [path, *(repository(path) if git and probe.is_dir(path) else ())]
        if ".git" in path.parts or str(path) in secret_settings(path.parent):
            return None
        if not all(_may_be_shown(each, workspace, lists) for each in named):
            return None
        found |= dict.fromkeys(named)
    shown = _outermost(found)
    hidden = _hidden_in(shown, workspace, git=git, recorded=git and not contents)
    if hidden is None or (lists and any(_of_profile(each) and _by_program(each, workspace) for each in hidden)):
        return None
    return Exposed(shown, hidden)


def in_other_tmp(path: Path, workspace: Workspace) -> bool:
    """Return True if commands of mode auto see the session's own folder in place of a path."""
    return workspace.tmp is not None and below(path, (Path("/tmp"),))


def nothing_private(folder: Path, workspace: Workspace, *, of_program: bool) -> bool:
    """Return True if a folder is small enough to look at, and no name in it suggests credentials or keys.

    `of_program` is true for a program's own folder: names such as `auth.json` count there, too.
    """
    if _hidden_in((folder,), workspace, git=True, recorded=True) != ():
        return False
    names = (os.path.basename(path).lower() for path, _ in _entries(folder, True, True))
    return not of_program or not any(map(_LOGIN.fullmatch, names))


_LOGIN = re.compile(
    r"[\w.-]*(?:auth|token|session|cookie|login|account|keyring|history)[\w-]*\.(?:json|ya?ml|toml|db|sqlite)"
)
"""Names of a program's data, in lower case, that may contain a login. Too many other files have them to hide all."""


def wide_scope(path: Path, workspace: Workspace) -> str:
    """Return the pattern of a rule about reading a path outside the workspace; empty if there is none.

    It covers the repository around the path, or a folder within a program's hidden one (`~/.tool/plugins`). Neither
    may contain anything private. A file directly in the program's own folder, which may contain its login, has a rule
    of its own. Else the rule covers what `reading_scope` says. Of a path with wildcards, the folder before them counts.
    """
    named = _before_wildcard(path)
    scope = reading_scope(named, workspace)
    near = named if probe.is_dir(named) else named.parent
    home, names = in_home(near, homes_of(workspace))
    if home is None or not names or not scope.endswith("/**"):
        return scope
    hidden = names[0].startswith(".") or names[0] in OF_PROGRAMS
    own = _OF_SEVERAL.get(names[0], 1)
    if hidden and len(names) <= own:
        return scope if path == near else literal(str(path)) if path == named else ""
    around = [home.joinpath(*names[:depth]) for depth in range(own + 1, len(names))]
    wider = (folder for folder in around if hidden or os.path.lexists(folder / ".git"))
    clear = (
        folder
        for folder in wider
        if not holds_secrets(folder) and nothing_private(folder, workspace, of_program=hidden)
    )
    found = next(clear, None)
    return f"{literal(str(found))}/**" if found is not None else scope


_OF_SEVERAL = {".config": 2, ".cache": 2, ".local": 3, "Library": 3}
"""Folders of a home folder that several programs share, with the depth of one program's own folder."""


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
    name = name if folder else _without_copy(name)
    if name.startswith(".") and (name in _PRIVATE or names_protected(name, write=False)):
        return True
    if folder:
        return around.startswith(".") and (canonical(around), name) in _PAIRS
    ends = name.endswith(("_history", "kubeconfig", ".env")) or not _ENDINGS.isdisjoint(name.split(".")[1:][-2:])
    if ends or _KEYS.fullmatch(name) or _PROFILE.fullmatch(name):
        return True
    if name.endswith(".json") and _ACCOUNT.search(name):
        return True
    secret = canonical(around) in _VAULTS or (
        _WORD.search(name) is not None and not _VAULTS.isdisjoint(re.split(r"[._-]", name))
    )
    return secret and _DATA.fullmatch(name) is not None


def _without_copy(name: str) -> str:
    """Return the name of the file that this name is a copy of. Any other name is returned as it is."""
    plain = name[1:] if name.startswith(".#") else name
    stem, _, ending = (plain := plain.strip("#~")).rpartition(".")
    while stem and (ending in _COPIES or ending.isdecimal()):
        stem, _, ending = (plain := stem).rpartition(".")
    return plain


def names_private(path: str) -> bool:
    """Return True if a path in a repository names a file with credentials, keys or typed commands."""
    around, _, last = path.rpartition("/")
    private, vault = _folder_in_repository(around)
    return private or holds_private(last, vault, folder=False)


@lru_cache(maxsize=4096)
def _folder_in_repository(folder: str) -> tuple[bool, str]:
    """Return whether a folder of a repository is in one with credentials, and the folder of secrets around its files."""
    path = PurePosixPath(folder)
    return _in_private(path), _vault(path / "any")


def _in_private(folder: PurePath) -> bool:
    """Return True if a folder or one around it holds credentials, by its name."""
    return any(holds_private(each.name, each.parent.name, folder=True) for each in (folder, *folder.parents))


def _vault(path: PurePath) -> str:
    """Return the name of a folder of secrets around a path; of the nearest folder if there is none."""
    found = (folder.name for folder in path.parents if canonical(folder.name) in _VAULTS)
    return next(found, path.parent.name)


def _around(path: Path) -> Path:
    """Return the folder in which git would search for a repository."""
    near = _before_wildcard(path)
    return near if probe.is_dir(near) else near.parent


def _before_wildcard(path: Path) -> Path:
    """Return the folder in which a pattern searches; any other path unchanged."""
    if not names_wildcard(str(path)) or probe.exists(path):
        return path
    return next(folder for folder in path.parents if not names_wildcard(str(folder)))


def homes_of(workspace: Workspace) -> Sequence[Path]:
    """Return the home folders of the person, with their links followed."""
    return [resolved(home) for home in workspace.homes]


def may_join(folder: Path, workspace: Workspace) -> bool:
    """Return True if a folder outside may join the workspace: one of the user's own work.

    It is neither hidden in a home folder nor part of the system, and need not exist.
    """
    home, names = in_home(folder, homes_of(workspace))
    system = home is None and not OF_THE_SYSTEM.isdisjoint(folder.parts[1:2])
    hidden = any(name.startswith(".") or name in OF_PROGRAMS for name in names)
    if not names or hidden or system or below(folder, map(resolved, workspace.own)):
        return False
    try:
        near = next(one for one in (folder, *folder.parents) if probe.exists(one))
        return near.stat().st_uid == os.getuid()
    except OSError:
        return False


def in_home(path: Path, homes: Sequence[Path]) -> tuple[Path | None, tuple[str, ...]]:
    """Return the home folder that contains a path, and the names below it.

    Outside of all, return None, and the names below a folder of the root.
    """
    home = next((home for home in homes if path.is_relative_to(home)), None)
    return home, path.relative_to(home).parts if home is not None else path.parts[2:]


def _may_be_shown(path: Path, workspace: Workspace, lists: bool = False) -> bool:
    """Return True if nothing about a resolved path itself forbids that a command sees it, or `lists` it."""
    if in_other_tmp(path, workspace):
        return False
    if is_installed(path, workspace):
        return True
    homes = homes_of(workspace)
    home, inner = in_home(path, homes)
    if not inner or any(top.is_relative_to(path) for top in homes) or _named_private(path):
        return False
    if home is None and (
        path.parts[1] in OF_THE_SYSTEM
        or below(path, (*_HOMES, *(each.parent for each in homes if each.parent != Path("/"))))
    ):
        return False
    if home is not None and (inner[0] in OF_PROGRAMS or canonical(inner[0]) in _MAIL):
        return False
    if _by_program(path, workspace) and not (lists and _may_be_listed(home, inner)):
        return False
    if any(below(path, (resolved(own),)) for own in workspace.own):
        return False
    return _owned(path) and _mount_of(path) in {
        _mount_of(top) for top in (Path("/"), *homes, *workspace.resolved_roots)
    }


def _by_program(path: Path, workspace: Workspace) -> bool:
    """Return True if a resolved path is in a hidden folder of a home folder, or such a file."""
    home, inner = in_home(path, homes_of(workspace))
    return home is not None and inner[:1] != () and canonical(inner[0]).startswith(".")


def _may_be_listed(home: Path | None, inner: Sequence[str]) -> bool:
    """Return True if the names in a hidden folder tell nothing of mail and visited sites."""
    around = [home.joinpath(*inner[:depth]) for depth in range(1, len(inner) + 1)] if home is not None else []
    mail = any(canonical(name).lstrip(".") in _MAIL for name in inner)
    return not mail and not any(_of_profile(Path(entry.path)) for each in around for entry in entries_of(str(each)))


def _of_profile(path: Path) -> bool:
    return _PROFILE.fullmatch(path.name.lower()) is not None


def _records_private(path: Path) -> bool:
    """Return True if the repository around a path tracks a file with keys, or doesn't tell what it tracks."""
    places = repository(path)
    lenders = [place.parent for place in places[1:] if place.name == "objects"]
    try:
        return any(map(_tracks_private, (*places[1:2], *lenders))) or any(map(names_private, tracked(path)))
    except (OSError, ValueError):
        return True


def _named_private(path: Path) -> bool:
    """Return True if a path or a folder around it holds credentials, by their names."""
    folder = probe.is_dir(path)
    return _in_private(path if folder else path.parent) or (
        not folder and holds_private(path.name, _vault(path), folder=False)
    )


def _owned(path: Path) -> bool:
    """Return True if a path is a file or folder of the user, or is missing in one."""
    near = next((each for each in (path, *path.parents) if probe.exists(each)), Path("/"))
    try:
        status = near.stat()
    except OSError:
        return False
    ordinary = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return ordinary and (status.st_uid == os.getuid() or near != path)


def _hidden_in(tops: Sequence[Path], workspace: Workspace, *, git: bool, recorded: bool) -> tuple[Path, ...] | None:
    """Return what stays hidden in shown folders; None if there is too much to look at."""
    found = [mount for mount in _mounts() for top in tops if mount != top and below(mount, (top,))]
    own = [
        *workspace.own,
        *(home.joinpath(*parts) for home in workspace.homes for parts in PRIVATE_IN_HOME),
    ]
    found += [path for path in map(resolved, own) if below(path, tops) and probe.exists(path)]
    left = ENTRIES
    for top in tops:
        if is_installed(top, workspace):
            continue
        for entry, hides in _entries(top, git, recorded):
            left -= 1
            if hides and below(Path(entry), tops):
                found.append(Path(entry))
            if left < 0 or len(found) > HIDDEN:
                return None
    return tuple(dict.fromkeys(found))


def _entries(top: Path, git: bool, recorded: bool) -> Iterator[tuple[str, bool]]:
    """Yield the paths below a folder, and for each whether it stays hidden; nothing below hidden ones.

    Without `git`, no repository is visible. Without `recorded`, none that tracks a file with keys is.
    """
    waiting = [(str(top), _vault(top / "any"))] if probe.is_dir(top) else []
    for folder, around in waiting:
        try:
            with os.scandir(folder) as entries:
                listed = {entry.name: entry for entry in entries}
        except OSError:
            continue
        stores = _STORES if listed.keys() >= BARE else ()
        if "HEAD" in listed:  # also in the folder of a further work tree
            yield from ((path, True) for path in secret_settings(Path(folder)))
        opened = git and (recorded or not stores or not _tracks_private(Path(folder)))
        for name in stores:
            if name in listed:
                yield listed.pop(name).path, not opened and name in _RECORDED
        for entry in listed.values():
            folder_there = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" and not git:
                yield entry.path, True
                continue
            ordinary = entry.is_symlink() or folder_there or entry.is_file(follow_symlinks=False)
            last = os.path.basename(folder)
            private = holds_private(entry.name, last if folder_there else around, folder=folder_there)
            hides = not ordinary or (private and not (folder_there and os.path.isfile(f"{entry.path}/pyvenv.cfg")))
            yield str(resolved(entry.path)) if hides and entry.is_symlink() else entry.path, hides
            if not hides and folder_there and entry.name != "node_modules":
                waiting.append((entry.path, around if canonical(around) in _VAULTS else entry.name))


def _tracks_private(git_folder: Path) -> bool:
    """Return True if an index in a repository's own folder names a file with keys, or the folder has none."""
    try:
        names = [name for each in (git_folder, *git_folder.glob("worktrees/*")) for name in indexed(each)]
        return not probe.is_file(git_folder / "index") or any(map(names_private, names))
    except (OSError, ValueError):
        return True


def secret_settings(git_folder: Path) -> Iterator[str]:
    """Yield the settings of a repository that contain credentials."""
    for name in _SETTINGS:
        file = git_folder / name
        try:
            if _CREDENTIALS.search(file.read_bytes()):
                yield str(file)
        except OSError:
            continue


def has_secret_settings(folders: Iterable[Path]) -> bool:
    """Return True if the settings of a repository around one of these folders contain credentials."""
    return any(True for folder in folders for place in repository(folder) for _ in secret_settings(place))


def without_credentials(text: str, folders: Iterable[Path]) -> str:
    """Return an output without the credentials in the settings of these folders' repositories and their submodules."""
    places = {place for folder in folders for place in repository(folder)[1:]}
    files = {file for place in places for git in _with_modules(place) for file in secret_settings(git)}
    for file in sorted(files):
        with suppress(OSError):
            text = without_git_credentials(text, Path(file).read_text(encoding="utf-8", errors="replace"))
    return text


def _with_modules(git_folder: Path) -> Iterator[Path]:
    """Yield the folders of a repository and of its submodules. Their names may contain slashes."""
    yield git_folder
    waiting = [git_folder / "modules"]
    for folder in waiting:
        for inner in folder.glob("*/"):
            if inner.is_symlink():
                continue
            if probe.is_file(inner / "HEAD"):
                yield from _with_modules(inner)
            else:
                waiting.append(inner)


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
    hidden = [str(path) for path in exposed.hidden if not _is_history(path)]
    return f"[hidden from it, as possible secrets: {_listed(hidden)}]" if hidden else ""


def _is_history(path: Path) -> bool:
    return path.name in (".git", *_RECORDED)


def limits_note(exposed: Exposed) -> str:
    """Return the line for the model about what a failed command could see outside the workspace."""
    history = ", and no .git" if any(_is_history(path) for path in exposed.hidden) else ""
    return f"[outside the workspace it saw only {told(exposed)}, read-only{history}]"


def _listed(paths: Sequence[str]) -> str:
    return f"{', '.join(paths[:_TOLD])}{f' and {len(paths) - _TOLD} more' if len(paths) > _TOLD else ''}"
