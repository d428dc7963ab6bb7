"""Truncation: a text too long for its place keeps its beginning and its end; no character is split."""

from __future__ import annotations

import codecs


def truncate_middle(text: str, longest: int, why: str = "") -> str:
    """Return the text, or `longest` characters of it, half from each end, with a notice between them: how many are left out, and why."""
    if len(text) <= longest:
        return text
    half = longest // 2
    notice = f"[… {len(text) - 2 * half:,} characters left out{f': {why}' if why else ''} …]"
    return f"{text[:half]}\n{notice}\n{text[-half:] if half else ''}"


def truncate_bytes(text: str, size: int, notice: str) -> str:
    """Return the text, or `size` bytes of its UTF-8, half from each end, with the notice between them."""
    data = text.encode("utf-8", "replace")
    if len(data) <= size:
        return text
    return around(data[: size // 2], data[len(data) - (size - size // 2) :], notice)


def around(head: bytes, tail: bytes, notice: str) -> str:
    """Return the text of a beginning and of an end with the notice between them.

    A character that is cut in two is left out; other bytes that are not UTF-8 become U+FFFD.
    """
    first = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    return f"{first}\n\n[{notice}]\n\n{tail[_split(tail) :].decode('utf-8', 'replace')}"


def head_of(data: bytes, size: int) -> bytes:
    """Return the first `size` bytes, or up to three fewer so that no UTF-8 character is split."""
    if len(data) <= size:
        return data
    end = size
    while end > max(0, size - 3) and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]


def _split(tail: bytes) -> int:
    """Return the number of bytes at the beginning that belong to a character begun before."""
    return next((n for n, byte in enumerate(tail[:3]) if byte & 0xC0 != 0x80), min(3, len(tail)))
