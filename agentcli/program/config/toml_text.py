"""TOML text of values, in one line each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

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
