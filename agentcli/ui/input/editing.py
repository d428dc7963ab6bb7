"""The user's editor, and how it is told of a line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), ("-g", "{file}:{line}")),
        **dict.fromkeys(("hx", "helix", "subl", "zed", "zeditor"), ("{file}:{line}",)),
        **dict.fromkeys(("idea", "pycharm", "goland", "webstorm", "clion"), ("--line", "{line}", "{file}")),
    }
)
"""Arguments of editors that do not take `+LINE FILE`, as vi, nano and emacs do."""


def editor(environment: Mapping[str, str] = os.environ) -> str:
    """The command of the user's editor."""
    return environment.get("VISUAL") or environment.get("EDITOR") or "vi"


def at_line(command: str, file: Path, line: int) -> tuple[str, ...]:
    """Arguments that open a file at a line."""
    program = Path(command.split()[0]).name if command.split() else ""
    return tuple(one.format(file=file, line=line) for one in _OPTIONS.get(program, ("+{line}", "{file}")))
