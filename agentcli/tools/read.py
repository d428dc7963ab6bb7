"""The read tool: a file, a part of a huge one, a picture, or the entries of a folder."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.message import Image
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import decode, decode_beginning
from agentcli.core.text.plural import plural
from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.system import probe
from agentcli.tools.entry import Entry
from agentcli.tools.list import entries_of

if TYPE_CHECKING:
    from agentcli.tools.lib.paths import FileHandle


@dataclass(frozen=True, slots=True)
class _Range:
    """The lines that a call asks for, from 1; `numbered` if they get line numbers."""

    first: int
    count: int
    numbered: bool


@dataclass(frozen=True, slots=True)
class _Page:
    """Some lines of a file as they are shown.

    `total` is the number of all lines, None if it would need further reading. `numbered` is true if the lines have
    numbers, `clipped` if one of them is shown in part.
    """

    rows: tuple[str, ...]
    first: int
    total: int | None
    numbered: bool
    cut_by: str = ""
    clipped: bool = False

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


async def read(
    ctx: ToolContext,
    call_id: str,
    file_path: str,
    offset: Annotated[int, "First line, from 1"] = 0,
    limit: int = 0,
) -> ToolOutput:
    if _is_small(ctx, file_path):
        return _read(ctx, file_path, offset, limit)
    return await asyncio.to_thread(_read, ctx, file_path, offset, limit)


_HEAD = 64_000
"""Bytes of a file too large for memory that decide about its encoding."""
AT_ONCE = 64_000
"""Maximum bytes of a file that is read without a thread, which would take longer than the reading."""


def _is_small(ctx: ToolContext, path: str) -> bool:
    """Return True for a regular file of at most `AT_ONCE` bytes; a folder may have many entries."""
    from agentcli.system.resolve import spelled

    try:
        found = os.stat(spelled(ctx.cwd, path))
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= AT_ONCE


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Read a.py (lines 5-14)`."""
    first, count = _whole_number(given.get("offset")) or 1, _whole_number(given.get("limit"))
    lines = f" (lines {first}-{first + count - 1})" if count > 0 else f" (from line {first})" if first > 1 else ""
    return f"Read {given.get('file_path', '')}{lines}"


def _whole_number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _read(ctx: ToolContext, path: str, offset: int, limit: int) -> ToolOutput:
    from agentcli.tools.lib.paths import open_parent, open_regular

    count = min(limit, ctx.limits.read_lines) if limit > 0 else ctx.limits.read_lines
    numbers = ctx.limits.line_numbers
    numbered = numbers == "always" or (numbers != "never" and offset > 0)
    wanted = _Range(max(1, offset), count, numbered)
    with open_parent(ctx, path) as handle:
        if probe.is_dir(handle.path):
            return entries_of(ctx, path)
        if (buffer := ctx.scope.buffers.get(handle.path)) is not None:
            return _read_whole(ctx, handle, buffer, wanted)
        with os.fdopen(open_regular(handle), "rb") as file:
            return _read_file(ctx, handle, file, wanted)


def _read_file(ctx: ToolContext, handle: FileHandle, file: BinaryIO, wanted: _Range) -> ToolOutput:
    from agentcli.core.images import mime_of

    size = os.fstat(file.fileno()).st_size
    head = file.read(16)
    file.seek(0)
    mime = mime_of(head)
    if mime:
        return _image(handle, file, size, mime)
    if size > ctx.limits.file_bytes:
        return _outcome(ctx, handle, _page_of_huge(ctx, handle, file, wanted), size, {})
    return _read_whole(ctx, handle, file.read(), wanted)


def _read_whole(ctx: ToolContext, handle: FileHandle, data: bytes, wanted: _Range) -> ToolOutput:
    from agentcli.tools.lib.files import remember

    page = _page(ctx, handle, data, wanted)
    return _outcome(ctx, handle, page, len(data), remember(ctx, handle.path, data))


def _image(handle: FileHandle, file: BinaryIO, size: int, mime: str) -> ToolOutput:
    from agentcli.core.images import IMAGE_BYTES, STRICTEST, damage, excess, mime_of
    from agentcli.system.pictures import smaller

    data = file.read(_LARGEST_IMAGE)
    if size <= _LARGEST_IMAGE and (why := damage(data)):
        raise ToolError(
            f"No model can read the image {handle.display}: {why}. Make it again, or look at its bytes with bash."
        )
    shown, note = data, ""
    if size > IMAGE_BYTES or excess(base64.b64encode(data[:48_000]).decode(), STRICTEST):
        small = smaller(data, IMAGE_BYTES) if size <= _LARGEST_IMAGE else None
        if small is None and size > IMAGE_BYTES:
            raise ToolError(
                f"{handle.display} is an image of {size:,} bytes; the maximum is {IMAGE_BYTES:,}. Make it smaller with bash first."
            )
        shown, note = (small, ", in a smaller copy") if small else (data, "")
    mime = mime_of(shown)
    encoded = base64.b64encode(shown).decode("ascii")
    return ToolOutput(
        f"[{mime}, {size:,} bytes{note}]",
        metadata={"path": str(handle.path)},
        images=(Image(mime, encoded, str(handle.path)),),
    )


_LARGEST_IMAGE = 50_000_000
"""Maximum bytes of an image that is read to make a smaller copy."""


def _page(ctx: ToolContext, handle: FileHandle, data: bytes, wanted: _Range) -> _Page:
    decoded = decode(data)
    if decoded is None:
        raise _binary(handle, len(data))
    text = replace_surrogates(decoded[0])
    lines = text.split("\n") if "\n" in text else text.split("\r")
    if lines[-1] == "":
        lines.pop()
    if wanted.first > max(1, len(lines)):
        raise ToolError(
            f"{handle.display} has only {plural(len(lines), 'line')}; line {wanted.first:,} is beyond its end."
        )
    return _paged(ctx, lines[wanted.first - 1 : wanted.first - 1 + wanted.count], wanted, len(lines))


def _page_of_huge(ctx: ToolContext, handle: FileHandle, file: BinaryIO, wanted: _Range) -> _Page:
    """Return only the wanted lines of a file too large for memory, whose bytes for newlines are those of ASCII; the file counts as not seen."""
    decoded = decode_beginning(file.read(_HEAD))
    if decoded is None:
        raise _binary(handle, os.fstat(file.fileno()).st_size)
    file.seek(len(decoded[1].bom))
    lines = []
    for n, line in enumerate(_bounded_lines(file, 4 * ctx.limits.line_characters, decoded[1].name), 1):
        if n >= wanted.first:
            lines.append(line)
        if len(lines) > wanted.count:
            break
    if not lines:
        raise ToolError(f"{handle.display} ends before line {wanted.first:,}.")
    known = wanted.first + len(lines) - 1 if len(lines) <= wanted.count else None
    return _paged(ctx, lines[: wanted.count], wanted, known)


def _bounded_lines(file: BinaryIO, size: int, encoding: str) -> Iterator[str]:
    from agentcli.core.text.truncate import head_of

    while line := file.readline(size):
        rest = 0
        ended = line.endswith(b"\n")
        while not ended and (more := file.readline(1 << 20)):
            rest += len(more)
            ended = more.endswith(b"\n")
        text = (head_of(line, size - 4) if rest else line).decode(encoding, "replace")
        yield text.rstrip("\n") + (f" [… about {rest:,} more bytes]" if rest else "")


def _paged(ctx: ToolContext, lines: Sequence[str], wanted: _Range, total: int | None) -> _Page:
    from agentcli.tools.lib.truncate import fitting

    limits = ctx.limits
    bare = [line.removesuffix("\r") for line in lines]
    rows = fitting(enumerate(bare, wanted.first), limits, numbers=wanted.numbered)
    cut_by = f"{limits.read_bytes:,} bytes" if len(rows) < len(lines) else ""
    clipped = any(len(line) > limits.line_characters for line in bare[: len(rows)])
    return _Page(tuple(rows), wanted.first, total, wanted.numbered, cut_by, clipped)


def _outcome(ctx: ToolContext, handle: FileHandle, page: _Page, size: int, seen: Mapping[str, str]) -> ToolOutput:
    metadata = {"path": str(handle.path), "lines": [page.first, page.last], **({"seen": seen} if seen else {})}
    if page.total == 0:
        return ToolOutput(f"[{handle.display} is empty]", metadata=metadata)
    more = page.total is None or page.last < page.total
    notices = []
    if more or (page.first > 1 and not page.numbered):
        of = f" of {page.total:,}" if page.total is not None else f" of a file of {size:,} bytes"
        why = f", cut at {page.cut_by}" if page.cut_by else ""
        on = f"; go on with offset={page.last + 1}" if more else ""
        notices.append(f"[lines {page.first:,}-{page.last:,}{of}{why}{on}]")
    if handle.path in ctx.scope.buffers:
        notices.append(_UNSAVED)
    if page.clipped:
        notices.append("[for the rest of a long line use bash: cut -c or grep -o]")
    return ToolOutput("\n".join((*page.rows, *notices)), truncated=more, metadata=metadata)


_UNSAVED = "[with changes in the user's editor that are not saved: commands and searches see the file on disk]"


def _binary(handle: FileHandle, size: int) -> ToolError:
    suffix = Path(handle.name).suffix.lower()
    hint = (
        " Extract its text with bash (pdftotext)."
        if suffix == ".pdf"
        else " Look at it with bash (file, xxd) if you must."
    )
    return ToolError(f"{handle.display} is a binary file of {size:,} bytes.{hint}")


READ = Entry("read", read, title, Traits("read", Subject("file_path", "file")))
