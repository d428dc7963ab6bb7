"""Edit config.toml in place: comments stay, other processes wait their turn, an unreadable file is never overwritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.errors import ConfigError
from agentcli.system.locked_file import update


def set_key(path: Path, key: str | Sequence[str], value: Any) -> None:
    """Set a dotted key, or a key given in parts, whose names may contain dots.

    Raise ConfigError if the file is not TOML, StoreError if it is not readable or writable.
    """

    def change(tables: Any) -> None:
        *parents, last = key.split(".") if isinstance(key, str) else key
        table = tables
        for name in parents:
            table = _inner(table, name, last, path)
        table[last] = list(value) if isinstance(value, tuple) else value

    _edit(path, change)


def add_to_list(path: Path, section: str, key: str, *items: str) -> None:
    """Add items to a list in a section, each once, in one write. Raises like `set_key`."""

    def change(tables: Any) -> None:
        known = _inner(tables, section, key, path).setdefault(key, [])
        if not isinstance(known, list):
            raise ConfigError(
                f"{section}.{key} in {path} is not a list, so nothing can be added to it. Edit the file by hand."
            )
        for item in items:
            if item not in known:
                known.append(item)

    _edit(path, change)


def _edit(path: Path, change: Callable[[Any], None]) -> None:
    import tomlkit

    def changed(text: str) -> str:
        try:
            tables = tomlkit.parse(text)
        except ValueError as error:
            raise ConfigError(f"Can't change {path} because it is not valid TOML: {error}. Fix it first.") from error
        change(tables)
        return tomlkit.dumps(tables)

    update(path, changed)


def _inner(table: Any, name: str, key: str, path: Path) -> Any:
    """Return the table of this name within another, creating it if missing, to set `key` in it."""
    import tomlkit

    inner = table.setdefault(name, tomlkit.table())
    if not isinstance(inner, Mapping):
        raise ConfigError(f"{name} in {path} is not a table, so {key} cannot be set in it. Edit the file by hand.")
    return inner
