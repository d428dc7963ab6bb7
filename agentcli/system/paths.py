"""Folders of agentcli's files (XDG variables on every platform, otherwise platformdirs), and replacement of files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from agentcli.core.dataclass import dataclass
from agentcli.system import probe
from agentcli.system.disk import temporary_name

_VARIABLES = {
    "config": "XDG_CONFIG_HOME",
    "data": "XDG_DATA_HOME",
    "state": "XDG_STATE_HOME",
    "cache": "XDG_CACHE_HOME",
}
_LINUX = {"config": ".config", "data": ".local/share", "state": ".local/state", "cache": ".cache"}


@dataclass(frozen=True, slots=True)
class AppDirs:
    """The four folders of agentcli. They need not exist; `folder` creates them, private to their owner."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def sessions(self) -> Path:
        """Folder of the session store."""
        return self.data / "sessions"

    @property
    def config_file(self) -> Path:
        """File of the user's configuration."""
        return self.config / "config.toml"


def app_dirs(env: Mapping[str, str] = os.environ) -> AppDirs:
    """Return the folders for this environment. A relative XDG path is ignored, as the specification requires."""
    return AppDirs(**{kind: _place(kind, env) for kind in _VARIABLES})


def folder(path: Path) -> Path:
    """Make a folder with mode 0700, together with its missing parents, and return it."""
    if not probe.is_dir(path):
        if not probe.is_dir(path.parent):
            folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def replace_file(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Replace a file's text in one step, as `replacement` does, and make its folder. Raise OSError."""
    folder(path.parent)
    with replacement(path, mode=mode) as file:
        file.write(text)


@contextlib.contextmanager
def replacement(path: Path, *, mode: int = 0o666, errors: str = "strict") -> Iterator[TextIO]:
    """Open a file that replaces another when closed.

    Readers see the old text or the new one, even if two programs write at once. The new file has the old one's mode as
    far as `mode` allows. Without an old file, it has `mode` reduced by the umask.

    Raises OSError; if writing ends early for any reason, the old file is unchanged. A power cut may undo the write; the
    session store writes differently (`sessions/storage/disk.py`).
    """
    aside = path.with_name(temporary_name(path.name))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with open(os.open(aside, flags, mode), "w", encoding="utf-8", errors=errors, newline="") as file:
            with contextlib.suppress(OSError):  # no old file, or a link that leads nowhere
                os.fchmod(file.fileno(), path.stat().st_mode & mode)
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
        # The same result as platformdirs on Linux, without its import of 20 ms.
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
