"""Changes config.toml in place: comments stay, other processes wait their turn, a file that cannot be read is never overwritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.errors import ConfigError
from agentcli.sessions.storage.locked_file import update


def set_key(path: Path, key: str | Sequence[str], value: Any) -> None:
    """Set a dotted key, or one given in parts, whose names may hold dots. Raises ConfigError when the file there is not TOML, StoreError when it cannot be read or written."""

    def change(tables: Any) -> None:
        *parents, last = key.split(".") if isinstance(key, str) else key
        table = tables
        for name in parents:
            table = table.setdefault(name, _table())
            if not isinstance(table, Mapping):
                raise ConfigError(
                    f"{name} in {path} is not a table, so {last} cannot be set in it. Edit the file by hand."
                )
        table[last] = list(value) if isinstance(value, tuple) else value

    _edit(path, change)


def add_to_list(path: Path, section: str, key: str, item: str) -> None:
    """Add an item to a list in a section, once. Raises as `set_key` does."""

    def change(tables: Any) -> None:
        items = tables.setdefault(section, _table()).setdefault(key, [])
        if item not in items:
            items.append(item)

    _edit(path, change)


def _edit(path: Path, change: Callable[[Any], None]) -> None:
    import tomlkit

    def changed(text: str) -> str:
        try:
            tables = tomlkit.parse(text)
        except ValueError as error:
            raise ConfigError(
                f"{path} cannot be changed because it is not valid TOML: {error}. Fix it first."
            ) from error
        change(tables)
        return tomlkit.dumps(tables)

    update(path, changed)


def _table() -> Any:
    import tomlkit

    return tomlkit.table()
