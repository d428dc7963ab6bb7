"""Paths that a command in a sandbox sees.

They are the system, the workspace, the programs on PATH with their dependencies, and a person's additions.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.git_config import repository
from agentcli.permissions.paths import Workspace, below, entries_of, resolved
from agentcli.system import probe

SYSTEM = tuple(
    map(
        Path,
        (
            *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys"),
            *("/nix", "/gnu", "/run/current-system", "/run/systemd/resolve", "/snap", "/var/lib", "/var/cache"),
            *("/System", "/Library", "/Applications", "/private/etc", "/private/var/db", "/dev"),
        ),
    )
)
"""Folders of the system: nothing in them is personal."""

_SETTINGS = (
    *(".gitconfig", ".gitignore_global", ".config/git/config", ".config/git/ignore", ".config/git/attributes"),
    *(".editorconfig", ".tool-versions", ".config/mise/config.toml", ".cargo/config.toml", ".config/go/env"),
    *(".config/ruff/ruff.toml", ".config/uv/uv.toml", ".rustfmt.toml", ".config/pycodestyle", ".config/nextest.toml"),
)
"""Files in the home folder that programs read for every project. They are shown unless they contain credentials."""

_CACHES = (
    *(".cargo/registry", ".cargo/git", ".rustup", "go/pkg", ".local/lib", ".local/share/uv/python", ".elan", ".ghcup"),
    *(".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress", ".cache/electron", ".cache/node-gyp"),
    *(".cache/huggingface/hub", ".cache/huggingface/datasets", ".cache/torch", "nltk_data", ".cache/fontconfig"),
    *(".cache/pre-commit", ".cache/deno", ".cache/bazel", ".cache/bazelisk", ".cache/coursier", ".cache/zig"),
    *(".npm/_cacache", ".yarn/berry", ".local/share/pnpm", ".bun/install", ".deno", ".gem/ruby", ".local/share/gem"),
    *(".m2/repository", ".gradle/caches", ".gradle/wrapper", ".gradle/jdks", ".sbt/boot", ".ivy2/cache", ".konan"),
    *(
        ".cache/composer",
        ".composer/cache",
        ".nuget/packages",
        ".dotnet",
        ".pub-cache",
        ".hex/packages",
        ".mix/archives",
    ),
    *(
        ".nvm",
        ".pyenv",
        ".rbenv",
        ".nodenv",
        ".goenv",
        ".jenv",
        ".volta",
        ".asdf",
        ".proto",
        ".local/share/mise",
        ".local/share/fnm",
        *(".conda/envs", ".local/share/mamba/envs", "micromamba/envs", ".pixi/envs"),
    ),
    *(
        ".sdkman/bin",
        ".sdkman/candidates",
        ".stack/snapshots",
        ".stack/programs",
        ".cabal/packages",
        ".cabal/store",
        ".opam",
        ".julia/packages",
    ),
    *(".julia/artifacts", ".julia/compiled", ".local/share/fonts", ".fonts", ".terraform.d/plugin-cache", "R"),
)
"""Folders below the home folder with what package and version managers fetched: published programs, no credentials."""

_SHARED = (".local", ".cargo", "go")
"""Folders in the home folder with more than programs: only their subfolder on PATH is visible."""
_INSTALLED = ("lib", "lib64", "libexec", "versions", "installs", "tools", "toolchains", "shims", "packages")
"""Names beside a `bin` that mark a folder as a complete installation."""
_PROGRAM_FOLDERS = ("bin", "sbin", "shims", "libexec", "Scripts", "condabin")
_ENTRIES = 2_000
"""Maximum entries of one folder on PATH to check for links and interpreters."""
_CODE_PATHS = ("PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CLASSPATH", "PERL5LIB", "GEM_PATH")
"""Variables that list folders with code."""
_INSTALLATION = re.compile(r"\w+_(?:HOME|ROOT|DIR|PREFIX)|GOPATH|GOROOT|VIRTUAL_ENV")
"""Variables that name an installation."""
_ENVIRONMENTS = (".venv", "venv", "env", ".env")
_INTERPRETER = re.compile(rb"#!\s*(/\S+)")
_BASE = re.compile(r"(?m)^home\s*=\s*(/.*)$")
_CREDENTIALS = re.compile(rb"(?i)://[^/\s@]*:[^/\s@]*@|token|password|secret|extraheader")


@dataclass(frozen=True, slots=True)
class Visible:
    """Paths that a command sees beside its workspace: `system` unchanged, `personal` in an otherwise empty home folder.

    `hidden` are parts of them that stay hidden; `whole` is true if a person added the home folder itself.
    """

    system: tuple[Path, ...]
    personal: tuple[Path, ...]
    hidden: tuple[Path, ...] = ()
    whole: bool = False

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them, those of the system first."""
        return (*self.system, *self.personal)


def visible(workspace: Workspace, path: str | None = None, credentials: bool = False) -> Visible:
    """Return what a workspace's commands see beside it; `path` is their PATH, the workspace's own if None.

    With `credentials`, settings are shown even if they contain some.
    """
    home, roots = resolved(workspace.home), workspace.resolved_roots
    tops = (*roots, resolved(workspace.cwd))
    seen = [*_programs(workspace.path if path is None else path, home, roots, _named(workspace.env))]
    for top in dict.fromkeys(tops):
        # A repository of the whole home folder is visible to git, but the folder is not.
        seen += [folder for folder in repository(top) if not _around(folder, home, ())]
        seen += _environments(top, home, roots)
    seen += map(Path, filter(probe.is_dir, (f"{home}/{name}" for name in _CACHES)))
    settings = map(Path, filter(probe.is_file, (f"{home}/{name}" for name in _SETTINGS)))
    seen += [file for file in settings if credentials or not _holds(file)]
    # A path that became a link since the decision leads to what nobody looked at.
    named = [path for path in workspace.exposed.paths if resolved(path) == path]
    added = [*workspace.readable(), *workspace.shown(), *named]
    system = system_folders()
    hidden = (*(_unreadable_for_others() if os.geteuid() == 0 else ()), *_outside_sockets(system))
    readable = tuple(path for path in dict.fromkeys([*seen, *added]) if os.access(path, os.R_OK))
    return Visible(system, readable, hidden, whole=home in added)


def called_in(path: Path, workspace: Workspace) -> tuple[Path, ...]:
    """Return the folder of a program that is called by its path, with its installation.

    `path` is resolved: the program, or its folder as PATH would name it. Return nothing for any other path.
    """
    home, roots = resolved(workspace.home), workspace.resolved_roots
    folder = path if probe.is_dir(path) else path.parent
    runs = path == folder or (probe.is_file(path) and os.access(path, os.X_OK))
    if folder.name not in _PROGRAM_FOLDERS or not runs:
        return ()
    found = [folder, *_installation(folder, home, roots)]
    return (*found, *(part for each in found for part in _base(each, home, roots)))


def folders_of_programs(argv: Sequence[str]) -> list[str]:
    """Return the folders of programs that a command, or a shell line at its end, refers to by absolute paths."""
    try:
        words = [*argv, *shlex.split(argv[-1])]
    except ValueError:
        words = [*argv]
    files = (word for word in words if word.startswith("/") and probe.is_file(word) and os.access(word, os.X_OK))
    return list(dict.fromkeys(os.path.dirname(file) for file in files))


def system_folders() -> tuple[Path, ...]:
    """Return the folders of the system that this machine has."""
    return tuple(top for top in SYSTEM if probe.exists(top))


def _named(env: Mapping[str, str]) -> tuple[tuple[str, bool], ...]:
    """Return the folders that variables name, and for each whether it is an installation."""
    code = [(folder, False) for name in _CODE_PATHS for folder in env.get(name, "").split(":")]
    installed = [(value, True) for name, value in env.items() if _INSTALLATION.fullmatch(name)]
    return tuple((value, whole) for value, whole in [*code, *installed] if os.path.isabs(value))


def _programs(path: str, home: Path, roots: tuple[Path, ...], named: tuple[tuple[str, bool], ...]) -> tuple[Path, ...]:
    """Return folders outside the system with a PATH's programs, with their installations, as they are now."""
    folders = dict.fromkeys(name for name in path.split(":") if os.path.isabs(name))
    times = ((name, _changed(name)) for name in folders)
    return _found(tuple((name, time) for name, time in times if time), home, roots, named)


def _changed(folder: str) -> int:
    """Return when the entries of a folder last changed, in nanoseconds; 0 if there is no such folder."""
    try:
        status = os.stat(folder)
    except OSError:
        return 0
    return status.st_mtime_ns if stat.S_ISDIR(status.st_mode) else 0


@lru_cache(maxsize=16)
def _found(
    path: tuple[tuple[str, int], ...], home: Path, roots: tuple[Path, ...], named: tuple[tuple[str, bool], ...]
) -> tuple[Path, ...]:
    """Return the result of `_programs`; the workspace is visible anyway, and its links lead to no further folders."""
    found: list[Path] = []
    for name, _ in path:
        folder = resolved(name)
        if below(folder, roots):
            continue
        if not below(folder, SYSTEM):
            found += [Path(name), folder, *_installation(folder, home, roots)]
        elif not below(folder, (Path("/usr/local"), Path("/opt"))):
            continue
        for program in _led_to(folder):
            if not below(program, (*SYSTEM, *roots)):
                found += [program.parent, *_installation(program.parent, home, roots)]
    for name, whole in named:
        folder = resolved(name)
        marked = any(probe.is_dir(folder / part) for part in (*_INSTALLED, *_PROGRAM_FOLDERS))
        if probe.is_dir(folder) and not below(folder, (*SYSTEM, *roots)) and (marked or not whole):
            found += [part for part in (Path(name), folder) if part not in [home / shared for shared in _SHARED]]
    found += [part for folder in found for part in _base(folder, home, roots)]
    return tuple(dict.fromkeys(folder for folder in found if not _around(folder, home, roots)))


def _installation(folder: Path, home: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the folder above a `bin` if it is an installation and contains nothing else."""
    above = folder.parent
    if folder.name not in _PROGRAM_FOLDERS or _around(above, home, roots):
        return
    if above not in [home / name for name in _SHARED] and any(probe.is_dir(above / name) for name in _INSTALLED):
        yield above


def _led_to(folder: Path) -> Iterator[Path]:
    """Yield the programs elsewhere to which a folder's entries lead: by links, and as interpreters of scripts."""
    for _, entry in zip(range(_ENTRIES), entries_of(str(folder)), strict=False):
        if entry.is_symlink():
            yield resolved(entry.path)
        elif (program := _interpreter(entry.path)) is not None:
            yield program


def _interpreter(script: str) -> Path | None:
    """Return the program, outside the system, that runs a script; None for anything else."""
    try:
        with open(script, "rb") as file:
            found = _INTERPRETER.match(file.read(300))
    except OSError:
        return None
    program = Path(os.fsdecode(found[1])) if found else None
    return resolved(program) if program is not None and not below(program, SYSTEM) else None


def _base(folder: Path, home: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the Python installation on which an environment is built, under both its names."""
    with_text = folder / "pyvenv.cfg"
    try:
        base = _BASE.search(with_text.read_text(errors="replace"))
    except OSError:
        return
    if base is None:
        return
    for programs in dict.fromkeys((Path(os.path.normpath(base[1].strip())), resolved(base[1].strip()))):
        # A file of the workspace may name anything: only a Python is shown because of it, and nothing around it.
        if any((programs.parent / "lib").glob("python3*")) and not below(programs, (*SYSTEM, *roots)):
            yield from _installation(programs, home, roots)


def _environments(top: Path, home: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    for name in _ENVIRONMENTS:
        yield from _base(top / name, home, roots)


def _holds(file: Path) -> bool:
    """Return True if a settings file seems to contain credentials, or is unreadable."""
    try:
        return _CREDENTIALS.search(file.read_bytes()) is not None
    except OSError:
        return True


def _unreadable_for_others() -> tuple[Path, ...]:
    """Return system settings and states that only root may read: password hashes, the machine's keys."""
    global _last
    if not _last[0] or probe.changed("/etc", _last[0]):
        waiting, found = ["/etc", "/var/cache", "/var/lib"], dict[str, Private]()
        while waiting:
            path = waiting.pop()
            found[path] = folder = private_in(path)
            waiting += folder.below if path.startswith("/etc") else ()
        stamps = {probe.name_below("/etc", path): folder.stamp for path, folder in found.items()}
        _last = stamps, tuple(path for folder in found.values() for path in folder.own)
    return _last[1]


_last: tuple[dict[str, probe.Stamp | None], tuple[Path, ...]] = {}, ()
"""The folders of the last look with their stamps, and what was found in them."""


@dataclass(frozen=True, slots=True)
class Private:
    """The entries of a folder that only their owner may read, and its other folders."""

    stamp: probe.Stamp | None
    own: tuple[Path, ...]
    below: tuple[str, ...]


_privates: dict[str, Private] = {}
"""The folders of the last look: looking again costs one system call for each unchanged one."""


def private_in(folder: str) -> Private:
    """Return which entries of a folder only their owner may read."""
    stamp = probe.stamp_of(folder)
    known = _privates.get(folder)
    if known is not None and stamp is not None and known.stamp == stamp:
        return known
    own, others = [], []
    for entry in entries_of(folder):
        if _only_owner(entry):
            own.append(Path(entry.path))
        elif entry.is_dir(follow_symlinks=False):
            others.append(entry.path)
    settled = stamp is not None and probe.is_settled(stamp)
    _privates[folder] = Private(stamp if settled else None, tuple(own), tuple(others))
    return _privates[folder]


def _only_owner(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.is_symlink() and not entry.stat(follow_symlinks=False).st_mode & 0o004
    except OSError:
        return False


def _outside_sockets(tops: Iterable[Path]) -> Iterator[Path]:
    """Yield the sockets in the system's folders through which programs outside can be reached now."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as rows:
            names = {row.rstrip("\n").split(maxsplit=7)[7] for row in rows if "/" in row}
    except (OSError, IndexError):
        return
    for name in sorted(names):
        real = resolved(name) if name.startswith("/") else None
        if real is not None and below(real, tops) and probe.exists(real) and all(map(_open, real.parents)):
            yield real


def _open(folder: Path) -> bool:
    """Return True if a command may look into a folder: in the sandbox, root has only the owner's rights."""
    try:
        status = folder.stat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() or os.geteuid() != 0 or bool(status.st_mode & 0o001)


def _around(folder: Path, home: Path, roots: tuple[Path, ...]) -> bool:
    """Return True if a folder is, or contains, the home folder or the workspace, so it contains more than programs."""
    return any(top == folder or folder in top.parents for top in (home, *roots))
