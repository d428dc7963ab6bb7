"""A typed prompt with the files that it names by @path."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

from agentcli.agent.ports import Prompt
from agentcli.core.message import File, Image, Part, Text

FILE_BYTES = 100_000
"""A longer file is attached up to here; the model can read the rest."""
IMAGE_BYTES = 5_000_000
FOLDER_ENTRIES = 200

_AT = re.compile(r"(?:^|(?<=[\s(\"']))@([^\s\"']+)")
_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}


def prompt(text: str, folder: Path, before: tuple[Part, ...] = ()) -> Prompt:
    """The words, with `before` and every existing file, picture or folder named by @path ahead of them."""
    attached = tuple(part for name in dict.fromkeys(_AT.findall(text)) for part in _attach(name, folder))
    if not attached and not before:
        return Prompt(text)
    return Prompt(text, (*before, *attached, Text(text)))


def _attach(name: str, folder: Path) -> Iterator[Part]:
    for candidate in (name, name.rstrip(".,;:!?)")):
        path = (folder / Path(candidate).expanduser()).resolve()
        if path.is_dir():
            yield File("inode/directory", str(path), _listing(path))
            return
        if path.is_file():
            yield from _read(path)
            return


def _read(path: Path) -> Iterator[Part]:
    mime = _IMAGES.get(path.suffix.lower())
    try:
        with path.open("rb") as stream:
            data = stream.read(IMAGE_BYTES + 1 if mime else FILE_BYTES + 1)
    except OSError:
        return
    if mime and len(data) <= IMAGE_BYTES:
        yield Image(mime, base64.b64encode(data).decode(), str(path))
    elif b"\0" in data:
        yield File("application/octet-stream", str(path))
    else:
        cut = "\n… (the file goes on)" if len(data) > FILE_BYTES else ""
        yield File("text/plain", str(path), data[:FILE_BYTES].decode(errors="replace") + cut)


def _listing(path: Path) -> str:
    names = sorted(entry.name + "/" * entry.is_dir() for entry in path.iterdir())
    more = f"\n… and {len(names) - FOLDER_ENTRIES} more" if len(names) > FOLDER_ENTRIES else ""
    return "\n".join(names[:FOLDER_ENTRIES]) + more
