"""Truncation: a text too long for its place keeps its beginning and its end."""

from __future__ import annotations


def truncate_middle(text: str, longest: int, why: str = "") -> str:
    """The text, or `longest` characters of it, half from each end, with a notice between them of how many are left out, and why."""
    if len(text) <= longest:
        return text
    half = longest // 2
    notice = f"[… {len(text) - 2 * half:,} characters left out{f': {why}' if why else ''} …]"
    return f"{text[:half]}\n{notice}\n{text[-half:] if half else ''}"
