"""A typed prompt with the files that it names by @path."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.errors import InputError
from agentcli.core.images import IMAGE_BYTES, mime_of
from agentcli.core.message import File, Image, Part, Text

if TYPE_CHECKING:
    from agentcli.agent.ports import Prompt

FILE_BYTES = 100_000
"""A longer file is attached up to here; the model can read the rest."""
FOLDER_ENTRIES = 200

_AT = re.compile(r"""(?:^|(?<=[\s("']))@(?:"([^"\n]+)"|([^\s"']+))""")


def with_attachments(text: str, folder: Path, before: tuple[Part, ...] = ()) -> Prompt:
    """The words, with `before` and every existing file, picture or folder named by @path ahead of them.

    Raises InputError for one that cannot be read, and for a picture that is too large.
    """
    from agentcli.agent.ports import Prompt  # the editor knows this module, and it stands before the agent is loaded

    attached = tuple(part for name in _names(text) for part in _attach(name, folder))
    if not attached and not before:
        return Prompt(text)
    return Prompt(text, (*before, *attached, Text(text)))


def _names(text: str) -> Iterable[str]:
    """What is named, each once."""
    return dict.fromkeys(found[1] or found[2] for found in _AT.finditer(text))


def _attach(name: str, folder: Path) -> Iterator[Part]:
    for candidate in (name, name.rstrip(".,;:!?)")):
        try:
            path = (folder / Path(candidate).expanduser()).resolve()
            folder_, file = path.is_dir(), path.is_file()
        except (OSError, RuntimeError, ValueError):  # too long a name, no such user, a null byte: it names nothing
            continue
        if folder_:
            yield File("inode/directory", str(path), _listing(path))
            return
        if file:
            yield from _read(path)
            return


def _read(path: Path) -> Iterator[Part]:
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
            mime = mime_of(data)
            data += stream.read(IMAGE_BYTES) if mime else b""
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Attach another file.") from error
    if mime and len(data) > IMAGE_BYTES:
        raise InputError(
            f"{path} is a picture of more than {IMAGE_BYTES:,} bytes. Make it smaller and attach it again."
        )
    if mime:
        yield Image(mime, base64.b64encode(data).decode(), str(path))
    elif b"\0" in data:
        yield File("application/octet-stream", str(path))
    else:
        cut = "\n… (the file goes on)" if len(data) > FILE_BYTES else ""
        yield File("text/plain", str(path), data[:FILE_BYTES].decode(errors="replace") + cut)


def _listing(path: Path) -> str:
    try:
        entries = list(path.iterdir())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Attach another folder.") from error
    names = sorted(entry.name + "/" * entry.is_dir() for entry in entries)
    more = f"\n… and {len(names) - FOLDER_ENTRIES} more" if len(names) > FOLDER_ENTRIES else ""
    return "\n".join(names[:FOLDER_ENTRIES]) + more
