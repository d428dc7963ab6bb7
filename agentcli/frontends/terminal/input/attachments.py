"""Attachments of a prompt: @path mentions, folded pastes, pictures."""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.message import GOES_ON, File, Image, Part, Text
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import decode, decode_beginning
from agentcli.core.text.words import PASTED_IMAGE
from agentcli.system import probe

if TYPE_CHECKING:
    from agentcli.agent.ports import Prompt

FILE_BYTES = 100_000
"""Maximum bytes attached of a longer file; the model can read the rest."""


FOLDER_ENTRIES = 200


_AT = re.compile(r"""(?:^|(?<=[\s("']))@(?:"((?:[^"\\\n]|\\.)+)"(:\d+(?:-\d+)?)?|([^\s"']+))""")
_ESCAPED = re.compile(r'\\(["\\])')
_LINES = re.compile(r"(.+):(\d{1,9})(?:-(\d{1,9}))?")


_NO_BUFFERS: Mapping[Path, bytes] = MappingProxyType({})


def with_attachments(
    text: str, folder: Path, before: tuple[Part, ...] = (), buffers: Mapping[Path, bytes] = _NO_BUFFERS
) -> Prompt:
    """Return the prompt, preceded by `before` and by everything that it mentions by @path.

    A mention names an existing file, image or folder. @path:10-20 means lines of a file. The content in `buffers`
    replaces the file on disk.

    Raises InputError for an unreadable file or an image that is too large.
    """
    from agentcli.agent.ports import Prompt  # imported late: the editor loads this module before the agent

    found = [existing(name, folder) for name in mentions(text)]
    attached = tuple(part for each in found if each for part in _attach(*each, buffers))
    if not attached and not before:
        return Prompt(text)
    return Prompt(text, (*before, *attached, Text(text)))


def mentions(text: str) -> Iterable[str]:
    """Return the distinct @path mentions, in order."""
    return dict.fromkeys(
        _ESCAPED.sub(r"\1", found[1]) + (found[2] or "") if found[1] else found[3] for found in _AT.finditer(text)
    )


def mentioned(text: str, folder: Path) -> Sequence[Path]:
    """Return the resolved paths of mentioned files and folders that exist."""
    return [found[0] for name in mentions(text) if (found := existing(name, folder))]


def existing(name: str, folder: Path) -> tuple[Path, range | None] | None:
    """Return the resolved path of a mention, and its lines if it has some; None if no such file exists.

    A file with the whole name takes precedence.
    """
    for candidate in candidates(name):
        if (path := _resolved(candidate, folder)) is not None:
            return path, None
    found = _LINES.fullmatch(candidates(name)[-1])
    path = _resolved(found[1], folder) if found else None
    if found is None or path is None or probe.is_dir(path):
        return None
    return path, range(int(found[2]), int(found[3] or found[2]) + 1)


def _resolved(name: str, folder: Path) -> Path | None:
    try:
        path = (folder / os.path.expanduser(name)).resolve()  # a Path no longer distinguishes ./~a from ~a
        return path if probe.is_dir(path) or probe.is_file(path) else None
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # the name is too long, has a null byte, or its ~user does not exist: not a file
        return None


def _attach(path: Path, lines: range | None, buffers: Mapping[Path, bytes]) -> Iterator[Part]:
    if lines is not None:
        yield _excerpt(path, lines, buffers.get(path))
    elif probe.is_dir(path):
        yield File("inode/directory", str(path), _listing(path))
    elif path in buffers:
        yield _text(path, buffers[path], len(buffers[path]))
    else:
        yield from _read(path)


def candidates(name: str) -> tuple[str, str]:
    """Return the mention as written, and without the sentence's punctuation."""
    return name, name.rstrip(".,;:!?)")


def _read(path: Path) -> Iterator[Part]:
    from agentcli.core.images import IMAGE_BYTES, damage, mime_of

    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
            mime = mime_of(data)
            data += stream.read(IMAGE_BYTES) if mime else b""
            size = os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise InputError(f"Can't read {path}: {error.strerror}. Attach another file.") from error
    if mime and len(data) > IMAGE_BYTES:
        data = _smaller(path)
    if mime and (why := damage(data)):
        yield File(mime, str(path), f"[an image that no model can read: {why}; it is not attached]")
    elif mime:
        mime = mime_of(data)
        yield Image(mime, base64.b64encode(data).decode(), str(path))
    else:
        yield _text(path, data, size)


def _smaller(path: Path) -> bytes:
    """Return a smaller copy of an image. Raises InputError if that is impossible."""
    from agentcli.core.images import IMAGE_BYTES
    from agentcli.system.installing import install_extra
    from agentcli.system.pictures import can_shrink, smaller

    small = smaller(path.read_bytes(), IMAGE_BYTES)
    if small is None:
        cure = "" if can_shrink() else f" To have it made smaller: {install_extra('images')}"
        raise InputError(
            f"{path} is an image of more than {IMAGE_BYTES:,} bytes. Make it smaller and attach it again.{cure}"
        )
    return small


def binary(path: str, size: int, mime: str = "application/octet-stream") -> File:
    """Return a binary file of `size` bytes; a note that it is binary replaces its content."""
    return File(mime, path, f"[binary file of {size:,} bytes, which are not attached]")


def _text(path: Path, data: bytes, size: int) -> File:
    """Return the file as the `read` tool decodes it: an edit must quote that text."""

    decoded = decode(data) if len(data) <= FILE_BYTES else decode_beginning(data[:FILE_BYTES])
    if decoded is None:
        return binary(str(path), size)
    text = replace_surrogates(decoded[0])
    if len(data) > FILE_BYTES:
        return File("text/plain", str(path), text + GOES_ON)
    whole = text == decoded[0]
    return File("text/plain", str(path), text, sha256=sha256(data).hexdigest() if whole else "")


def _excerpt(path: Path, lines: range, buffer: bytes | None) -> File:
    """Return lines of a file, or of the buffer that replaces it, as the `read` tool counts them.

    The excerpt is not marked as a whole file: edits cannot rely on it.
    """
    try:
        with path.open("rb") if buffer is None else io.BytesIO(buffer) as stream:
            decoded = decode_beginning(stream.read(FILE_BYTES))
            if decoded is None:
                return binary(str(path), stream.seek(0, io.SEEK_END))
            text, encoding = decoded
            stream.seek(len(encoding.bom))
            ending = "\r" if "\r" in text and "\n" not in text else "\n"
            with io.TextIOWrapper(stream, encoding.name, "replace", ending) as rows:
                found = _up_to_the_most(rows, lines)
    except OSError as error:
        raise InputError(f"Can't read {path}: {error.strerror}. Attach another file.") from error
    if not found:
        raise InputError(f"{path} has no {_named(lines)}. Attach other lines, or the whole file.")
    where = _named(range(lines.start, lines.start + len(found))).partition(" ")[2]
    text = "".join(found)
    return File("text/plain", f"{path}:{where}", text if len(text) <= FILE_BYTES else text[:FILE_BYTES] + GOES_ON)


def _up_to_the_most(stream: Iterable[str], lines: range) -> Sequence[str]:
    """Return these lines of a text, counted from 1.

    The last returned line is the first to exceed the maximum size of an attached file.
    """
    found: list[str] = []
    size = 0
    for line in islice(stream, lines.start - 1, lines.stop - 1) if 0 < lines.start < lines.stop else ():
        found.append(line)
        size += len(line)
        if size > FILE_BYTES:
            break
    return found


def _named(lines: range) -> str:
    return f"line {lines.start}" if len(lines) == 1 else f"lines {lines.start}-{lines.stop - 1}"


def _listing(path: Path) -> str:
    try:
        entries = list(path.iterdir())
    except OSError as error:
        raise InputError(f"Can't read {path}: {error.strerror}. Attach another folder.") from error
    names = sorted(entry.name + "/" * entry.is_dir() for entry in entries)
    more = f"\n… and {len(names) - FOLDER_ENTRIES} more" if len(names) > FOLDER_ENTRIES else ""
    return "\n".join(names[:FOLDER_ENTRIES]) + more


def mention(path: str) -> str:
    """Return the mention of a file: `@path`, quoted if needed.

    In quotes, `\\"` is a quote and `\\\\` a backslash.
    """
    if not any(char.isspace() or char in "\"'" for char in path):
        return f"@{path}"
    return '@"' + re.sub(r'(["\\])', r"\\\1", path) + '"'


def mention_of_picture(pasted: str) -> str:
    """Return a mention of an image whose path was pasted; empty for any other text.

    If a file is dropped, a terminal pastes its path, quoted in the terminal's own way.
    """
    from agentcli.core.images import ENDINGS

    if len(pasted) > 4_096 or "\n" in pasted.strip():
        return ""
    path = re.sub(r"\\(.)", r"\1", pasted.strip().strip("'\""))
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if not path.lower().endswith((*ENDINGS.values(), ".jpeg")):
        return ""
    try:
        return f"{mention(path)} " if probe.is_file(Path(path).expanduser()) else ""
    except (OSError, RuntimeError, ValueError):  # too long a name, no such user, a null byte
        return ""


PASTE_LINES, PASTE_CHARACTERS = 8, 1_000
"""A paste with more of either is folded."""


_LABEL = re.compile(r"\[(?:Pasted text #\d+, [\d,]+ (?:lines|characters)|Image #\d+)\]")


@dataclass(slots=True)
class Pastes:
    """Labels in the edit buffer for long pastes and images, with their texts and mentions."""

    lines: int = PASTE_LINES
    characters: int = PASTE_CHARACTERS
    texts: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """Numbers of images by name, the same in the transcript. A label keeps its image as long as the terminal is open."""

    def fold(self, text: str) -> str:
        """Return the text for the buffer: the paste itself, or a label for a long one."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        count = text.removesuffix("\n").count("\n") + 1
        if count <= self.lines and len(text) <= self.characters:
            return text
        size = f"{count:,} lines" if count > 1 else f"{len(text):,} characters"
        label = f"[Pasted text #{len(self.texts) + 1}, {size}]"
        self.texts[label] = text
        return label

    def picture(self, file: Path) -> str:
        """Return a label for a picture, to insert into the buffer."""
        return self._label(mention(str(file)))

    def with_labels(self, text: str) -> str:
        """Return a text that was sent, with labels for the pictures that were pasted into it."""
        return PASTED_IMAGE.sub(lambda found: self._label(found[0]) if found[0].startswith("@") else found[0], text)

    def _label(self, name: str) -> str:
        found = PASTED_IMAGE.fullmatch(name)
        label = f"[Image #{self.numbers.setdefault(found[1] if found else name, len(self.numbers) + 1)}]"
        self.pictures[label] = name
        return label

    def unfold(self, text: str) -> str:
        """Replace every known label by its content."""
        known = {**self.texts, **self.pictures}
        return _LABEL.sub(lambda found: known.get(found[0], found[0]), text)
