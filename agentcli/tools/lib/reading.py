"""Files, parts of huge ones, images and entries of folders, as read and list show them."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.images import IMAGE_BYTES, STRICTEST, damage, excess, mime_of
from agentcli.core.message import Image
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import decode, decode_beginning
from agentcli.core.text.truncate import head_of
from agentcli.core.text.words import plural
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.system import probe
from agentcli.system.pictures import smaller
from agentcli.system.resolve import spelled
from agentcli.tools.lib.files import remember
from agentcli.tools.lib.paths import FileHandle, open_folder, open_parent, open_regular
from agentcli.tools.lib.truncate import fitting

_HEAD = 64_000
"""Bytes of a file too large for memory that decide its encoding."""
AT_ONCE = 64_000
"""Maximum bytes of a file to read without a thread, which would take longer than the reading."""
_LARGEST_IMAGE = 50_000_000
"""Maximum bytes of an image that is read to make a smaller copy."""
_UNSAVED = "[with changes in the user's editor that are not saved: commands and searches see the file on disk]"

_SORTED = 50_000
"""Maximum entries to read and sort: a million would take longer than people wait."""


@dataclass(frozen=True, slots=True)
class _Range:
    """The lines that a call requests, from 1; `numbered` if they get line numbers."""

    first: int
    count: int
    numbered: bool


@dataclass(frozen=True, slots=True)
class _Page:
    """Some lines of a file as shown.

    `total` is the number of all lines, None if it would need further reading. `numbered` is true if the lines have
    numbers, `clipped` if one of them is truncated.
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


def is_small(ctx: ToolContext, path: str) -> bool:
    """Return True for a regular file of at most `AT_ONCE` bytes; a folder may have many entries."""
    try:
        found = os.stat(spelled(ctx.cwd, path))
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= AT_ONCE


def read_file(ctx: ToolContext, path: str, offset: int, limit: int) -> ToolOutput:
    """Return some lines of a file, an image, or the entries of a folder. Raises ToolError."""
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
            return _read_open(ctx, handle, file, wanted)


def _read_open(ctx: ToolContext, handle: FileHandle, file: BinaryIO, wanted: _Range) -> ToolOutput:
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
    page = _page(ctx, handle, data, wanted)
    return _outcome(ctx, handle, page, len(data), remember(ctx, handle.path, data))


def _image(handle: FileHandle, file: BinaryIO, size: int, mime: str) -> ToolOutput:
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
    """Return only the wanted lines of a file too large for memory, whose newlines are ASCII bytes.

    The file does not count as seen.
    """
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
    while line := file.readline(size):
        rest = 0
        ended = line.endswith(b"\n")
        while not ended and (more := file.readline(1 << 20)):
            rest += len(more)
            ended = more.endswith(b"\n")
        text = (head_of(line, size - 4) if rest else line).decode(encoding, "replace")
        yield text.rstrip("\n") + (f" [… about {rest:,} more bytes]" if rest else "")


def _paged(ctx: ToolContext, lines: Sequence[str], wanted: _Range, total: int | None) -> _Page:
    limits = ctx.limits
    bare = [line.removesuffix("\r") for line in lines]
    rows = fitting(enumerate(bare, wanted.first), limits, numbers=wanted.numbered)
    cut_by = f"{limits.read_bytes:,} bytes" if len(rows) < len(lines) else ""
    clipped = max(map(len, bare[: len(rows)]), default=0) > limits.line_characters
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


def _binary(handle: FileHandle, size: int) -> ToolError:
    suffix = Path(handle.name).suffix.lower()
    hint = (
        " Extract its text with bash (pdftotext)."
        if suffix == ".pdf"
        else " Look at it with bash (file, xxd) if you must."
    )
    return ToolError(f"{handle.display} is a binary file of {size:,} bytes.{hint}")


def entries_of(ctx: ToolContext, path: str) -> ToolOutput:
    """List the entries of a folder, sorted; its subfolders first."""
    target, fd = open_folder(ctx, path)
    try:
        with os.scandir(fd) as entries:
            rows = [
                (not entry.is_dir(follow_symlinks=False), entry.name, _row(entry)) for entry in islice(entries, _SORTED)
            ]
            more = next(entries, None) is not None
    finally:
        os.close(fd)
    rows.sort()
    part = rows[: ctx.limits.entries]
    metadata = {"path": str(target.path), "entries": len(rows)}
    text = "\n".join(replace_surrogates(row) for _, _, row in part)
    if not rows:
        return ToolOutput(f"[{target.display} is empty]", metadata=metadata)
    if len(part) == len(rows) and not more:
        return ToolOutput(text, metadata=metadata)
    total = f"{'more than ' if more else ''}{len(rows):,} entries"
    notice = f"[{len(part):,} of {total}; use glob with a pattern to find the others]"
    return ToolOutput(f"{text}\n{notice}", truncated=True, metadata=metadata)


def _row(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name}@"
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
