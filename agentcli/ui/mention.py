"""Pictures that are dropped onto the terminal: it types their path."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def of_picture(pasted: str) -> str:
    """`@path` for a paste that is nothing but the path of a picture, quoted in any of the ways of terminals; else nothing."""
    if len(pasted) > 4_096 or "\n" in pasted.strip():
        return ""
    path = pasted.strip().strip("'\"").replace("\\ ", " ")
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if not path.lower().endswith(PICTURES) or " " in path:
        return ""
    try:
        return f"@{path} " if Path(path).expanduser().is_file() else ""
    except (OSError, ValueError):
        return ""
