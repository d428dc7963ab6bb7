"""How files are named in a prompt; a picture that is dropped onto the terminal is, too: the terminal types its path."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from agentcli.core.images import ENDINGS

PICTURES = (*ENDINGS.values(), ".jpeg")
"""How the names of files that are taken for pictures end."""


def mention(path: str) -> str:
    """`@path`, quoted where it needs to be."""
    return f'@"{path}"' if any(char.isspace() or char in "\"'" for char in path) else f"@{path}"


def mention_of_picture(pasted: str) -> str:
    """`@path` for a paste that is nothing but the path of a picture, quoted in any of the ways of terminals; else nothing."""
    if len(pasted) > 4_096 or "\n" in pasted.strip():
        return ""
    path = re.sub(r"\\(.)", r"\1", pasted.strip().strip("'\""))
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if not path.lower().endswith(PICTURES) or '"' in path:
        return ""
    try:
        return f"{mention(path)} " if Path(path).expanduser().is_file() else ""
    except (OSError, RuntimeError, ValueError):  # too long a name, no such user, a null byte
        return ""
