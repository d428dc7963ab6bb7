"""The text that replaces a match of an edit.

It is the model's text with the file's own line endings, indentation and punctuation.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from unicodedata import is_normalized, normalize

from agentcli.core.text.encodings import newline_style
from agentcli.tools.lib.matching import FOLD, NEWLINE, Match

_COMPARED = 2_000
"""Maximum characters of a line to compare character by character: the cost grows with their square."""


def replacement(text: str, match: Match, old: str, new: str) -> str:
    """Return the replacement of a match: the new text with the file's line endings.

    Lines that old and new share keep the file's own bytes, even if an allowance found them. A changed line keeps the
    file's typographic characters in its unchanged parts.
    """
    found = text[match.start : match.end]
    ending = _ending_around(text, match)
    if not is_normalized("NFC", found) and is_normalized("NFD", found):
        old, new = normalize("NFD", old), normalize("NFD", new)
    if match.unended:
        old, new = re.sub(f"{NEWLINE}\\Z", "", old), re.sub(f"{NEWLINE}\\Z", "", new)
    if match.exact:
        return _exactly(new, old, found, ending)
    ours = re.split(f"({NEWLINE})", found)
    contents, endings = ours[0::2], ours[1::2]
    old_lines, new_lines = re.split(NEWLINE, old), re.split(NEWLINE, new)
    same, changed = _paired(old_lines, new_lines)
    indent = ("", "") if _stands_right(old_lines, new_lines, contents) else match.indent
    result = []
    for n, line in enumerate(new_lines):
        twin = same.get(n)
        if twin is not None:
            result.append(contents[twin])
        elif n in changed:
            former = changed[n]
            result.append(_with_signs(line, old_lines[former], contents[former], indent))
        else:
            result.append(_indented(line, indent))
        if n < len(new_lines) - 1:
            result.append(endings[twin] if twin is not None and twin < len(endings) else ending)
    return "".join(result)


def _stands_right(old: Sequence[str], new: Sequence[str], found: Sequence[str]) -> bool:
    """Return True if only the old text is indented differently from the file.

    The new text then begins where the file's lines do. A text whose indentation alone changes is meant to move.
    """
    here, there, then = (next((line for line in lines if line.strip(" \t")), "") for lines in (old, found, new))
    moved = [line.strip(" \t") for line in old] == [line.strip(" \t") for line in new]
    return _margin(then) == _margin(there) != _margin(here) and not moved


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _exactly(new: str, old: str, found: str, ending: str) -> str:
    """Return the new text unchanged, except for plain newlines in a file with other line endings."""
    if "\r" in new or "\r" in old or ("\n" in found and "\r" not in found):
        return new
    return new.replace("\n", ending)


def _ending_around(text: str, match: Match) -> str:
    """Return the line ending used in the match, else after it, else in most of the file."""
    found = re.search(NEWLINE, text[match.start : match.end]) or re.compile(NEWLINE).search(text, match.end)
    return found.group() if found else newline_style(text)


def _paired(old: Sequence[str], new: Sequence[str]) -> tuple[dict[int, int], dict[int, int]]:
    """Map each new line to the old line that it repeats, and to the old line that it replaces."""
    same: dict[int, int] = {}
    changed: dict[int, int] = {}
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("equal", "replace"):
            pairs = same if tag == "equal" else changed
            pairs.update(zip(range(j1, j2), range(i1, i2), strict=False))
    return same, changed


def _with_signs(new: str, old: str, found: str, indent: tuple[str, str]) -> str:
    """Return a changed line in which the parts shared with the old one are spelled as in the file."""
    old, new = _indented(old, indent), _indented(new, indent)
    if found.isascii() or len(old) > _COMPARED or len(new) > _COMPARED:
        return new
    if old.rstrip(" \t").translate(FOLD) != found.rstrip(" \t").translate(FOLD):
        return new
    spelled = list(new)
    for block in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        spelled[block.b : block.b + block.size] = (found + old[len(found) :])[block.a : block.a + block.size]
    return "".join(spelled)


def _indented(line: str, indent: tuple[str, str]) -> str:
    taken, put = indent
    if not line.strip(" \t"):
        return line
    return put + line[len(taken) :] if line.startswith(taken) else put + line.lstrip(" \t")
