"""JSON as editors and other programs write it: with comments, and commas before closing brackets."""

from __future__ import annotations

import re


def without_comments(text: str) -> str:
    """Plain JSON of a text, each line where it was."""
    kept = re.sub(
        r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda match: match[1] or _blank(match[0]), text, flags=re.DOTALL
    )
    return re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda match: match[1] or "", kept)


def _blank(comment: str) -> str:
    return "\n" * comment.count("\n") or " "
