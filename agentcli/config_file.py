"""Changes config.toml in place: comments stay, other processes wait their turn, a file that cannot be read is never overwritten."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agentcli.core.errors import ConfigError
from agentcli.paths import folder


def set_key(path: Path, key: str, value: Any) -> None:
    """Set a dotted key. Raises ConfigError when the file there is not TOML."""

    def change(tables: Any) -> None:
        *parents, last = key.split(".")
        table = tables
        for name in parents:
            table = table.setdefault(name, _table())
        table[last] = list(value) if isinstance(value, tuple) else value

    _edit(path, change)


def add_to_list(path: Path, section: str, key: str, item: str) -> None:
    """Add an item to a list in a section, once. Raises ConfigError when the file there is not TOML."""

    def change(tables: Any) -> None:
        items = tables.setdefault(section, _table()).setdefault(key, [])
        if item not in items:
            items.append(item)

    _edit(path, change)


def _edit(path: Path, change: Callable[[Any], None]) -> None:
    import tomlkit

    folder(path.parent)
    with _locked(path.with_suffix(".lock")):
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            tables = tomlkit.parse(text)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be changed because it cannot be read: {error}. Mend it first.") from error
        change(tables)
        _replace(path, tomlkit.dumps(tables))


def _table() -> Any:
    import tomlkit

    return tomlkit.table()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "a", opener=lambda name, flags: os.open(name, flags, 0o600)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
