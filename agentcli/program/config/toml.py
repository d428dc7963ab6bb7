"""Values as TOML, and edits of config.toml in place.

Comments stay, other processes wait their turn, and an unreadable file is never overwritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.errors import ConfigError
from agentcli.system.locked_file import update

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    """Return the value as TOML, with a table in braces, so that it stays on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # DEL is the one control character that JSON does not escape and TOML forbids.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case Mapping():
            inner = ", ".join(f"{toml_key(name)} = {toml_value(each)}" for name, each in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case list() | tuple() | set() | frozenset():
            return f"[{', '.join(map(toml_value, value))}]"
        case _:
            return toml_value(str(value))


def toml_key(*names: str) -> str:
    """Return a dotted key, with quotes around names that TOML does not accept bare."""
    return ".".join(name if _BARE.fullmatch(name) else toml_value(name) for name in names)


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
