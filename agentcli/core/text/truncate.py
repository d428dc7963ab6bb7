"""Truncation: a text that is too long keeps its beginning and end; no character is split."""

from __future__ import annotations

from collections.abc import Iterable

from agentcli.core.text.encodings import readable


def truncate_middle(text: str, longest: int, why: str = "") -> str:
    """Return the text, or `longest` characters of it, half from each end.

    A notice between them states how many are omitted, and why.
    """
    if len(text) <= longest:
        return text
    half = longest // 2
    return _ends(text[:half], text[len(text) - half :], len(text), why)


def ends_of(pieces: Iterable[str], longest: int, why: str = "") -> str:
    """Truncate a text that comes in pieces like `truncate_middle`, without the whole text in memory."""
    half, size, head, tail = longest // 2, 0, "", ""
    for piece in pieces:
        size += len(piece)
        head += piece[: longest - len(head)]
        tail = (tail + piece[-half:])[-half:] if half else ""
    return head if size <= longest else _ends(head[:half], tail, size, why)


def _ends(head: str, tail: str, size: int, why: str) -> str:
    """Return the two ends of a text of so many characters, with the notice between them."""
    left = size - len(head) - len(tail)
    return f"{head}\n[… {left:,} characters left out{f': {why}' if why else ''} …]\n{tail}"


def clip(line: str, characters: int) -> str:
    """Cut a line to `characters`, and append the number of omitted ones."""
    if len(line) <= characters:
        return line
    return f"{line[:characters]} [… {len(line) - characters} more characters]"


def truncate_bytes(text: str, size: int, notice: str) -> str:
    """Return the text, or `size` bytes of its UTF-8, half from each end, with the notice between them."""
    data = text.encode("utf-8", "replace")
    if len(data) <= size:
        return text
    return around(data[: size // 2], data[len(data) - (size - size // 2) :], notice)


def at_line_ends(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Return a beginning and an end without the lines that were cut in two.

    Such a line stays if it makes up more than an eighth of its part.
    """
    end, start = head.rfind(b"\n") + 1, tail.find(b"\n") + 1
    return (
        head[:end] if end >= len(head) - len(head) // 8 else head,
        tail[start:] if 0 < start <= len(tail) // 8 else tail,
    )


def around(head: bytes, tail: bytes, notice: str) -> str:
    """Return a beginning and an end with the notice between them. A character that is cut in two is omitted."""
    return f"{readable(head[: len(head) - _begun(head)])}\n\n[{notice}]\n\n{readable(tail[_split(tail) :])}"


def head_of(data: bytes, size: int) -> bytes:
    """Return the first `size` bytes, or up to three fewer to keep UTF-8 characters whole."""
    if len(data) <= size:
        return data
    end = size
    while end > max(0, size - 3) and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]


def _begun(head: bytes) -> int:
    """Return the number of bytes at the end that begin an incomplete UTF-8 character."""
    for count, byte in enumerate(reversed(head[-3:]), 1):
        if 0xC2 <= byte <= 0xF4:
            size = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return count if count < size else 0
        if byte < 0x80:
            return 0
    return 0


def _split(tail: bytes) -> int:
    """Return the number of bytes at the beginning that belong to a character begun before."""
    return next((n for n, byte in enumerate(tail[:3]) if byte & 0xC0 != 0x80), min(3, len(tail)))
