"""The folders of agentcli's files (the XDG variables on every platform, platformdirs where they are not set), and their replacement."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from agentcli.core.dataclass import dataclass

_VARIABLES = {
    "config": "XDG_CONFIG_HOME",
    "data": "XDG_DATA_HOME",
    "state": "XDG_STATE_HOME",
    "cache": "XDG_CACHE_HOME",
}
_LINUX = {"config": ".config", "data": ".local/share", "state": ".local/state", "cache": ".cache"}


@dataclass(frozen=True, slots=True)
class AppDirs:
    """The four folders of agentcli. They need not exist; `folder` makes them, for their owner alone."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def sessions(self) -> Path:
        """The folder of the session store."""
        return self.data / "sessions"

    @property
    def config_file(self) -> Path:
        """The user's configuration."""
        return self.config / "config.toml"


def app_dirs(env: Mapping[str, str] = os.environ) -> AppDirs:
    """The folders for this environment. A relative XDG path is ignored, as the specification says."""
    return AppDirs(**{kind: _place(kind, env) for kind in _VARIABLES})


def folder(path: Path) -> Path:
    """The folder, made with mode 0700 together with its missing parents."""
    if not path.is_dir():
        if not path.parent.is_dir():
            folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def replace_file(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a file anew in one step, as `replacement` does. Its folder is made. Raises OSError."""
    folder(path.parent)
    with replacement(path, mode=mode) as file:
        file.write(text)


@contextlib.contextmanager
def replacement(path: Path, *, mode: int = 0o666, errors: str = "strict") -> Iterator[TextIO]:
    """A file that takes the place of another at the end: whoever reads it sees the old text or the new one, also where two write at once.

    Raises OSError; whatever ends the writing before, the old file then stands as it was. Nothing here outlasts a power cut: the session
    store has its own way of writing (`sessions/storage/disk.py`).
    """
    aside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with open(os.open(aside, flags, mode), "w", encoding="utf-8", errors=errors, newline="") as file:
            yield file
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def _place(kind: str, env: Mapping[str, str]) -> Path:
    base = env.get(_VARIABLES[kind], "")
    if base and Path(base).is_absolute():
        return Path(base) / "agentcli"
    if os.name == "posix" and os.uname().sysname == "Linux":
        # The answer platformdirs gives on Linux, without the 20 ms that importing it takes.
        home = env.get("HOME") or str(Path.home())
        return Path(home) / _LINUX[kind] / "agentcli"
    return _platform_place(kind)


def _platform_place(kind: str) -> Path:
    import platformdirs

    finders = {
        "config": platformdirs.user_config_path,
        "data": platformdirs.user_data_path,
        "state": platformdirs.user_state_path,
        "cache": platformdirs.user_cache_path,
    }
    return Path(finders[kind]("agentcli", appauthor=False))
