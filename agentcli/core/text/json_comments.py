"""JSON as editors and other programs write it: with comments and trailing commas."""

from __future__ import annotations

import re


def without_comments(text: str) -> str:
    """Return a text as plain JSON, with each line in its place."""
    kept = re.sub(
        r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda match: match[1] or _blank(match[0]), text, flags=re.DOTALL
    )
    return re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda match: match[1] or "", kept)


def _blank(comment: str) -> str:
    return "\n" * comment.count("\n") or " "
