"""Edits that cannot be made, and hints for the next attempt.

Lines that stand for omitted code are refused. If the old text is not in the file, the hints show the most similar
place. They also say if the new text is already there.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Sequence

from agentcli.core.errors import ToolError
from agentcli.tools.lib.matching import NEWLINE, Match

_SEARCHED = 20_000
"""Maximum lines to search for the nearest place if nothing matches."""
_SHOWN, _LEAD, _WIDTH = 30, 3, 200
"""Lines of the diff, lines before the first difference, characters of a line: the cost grows with their cubes."""
_AROUND = 2
"""Lines of the file shown before and after the place."""
_PLACES = 3
"""Maximum places of a text that are shown with their surroundings."""
_WORDS_SHARED = 0.6
"""Minimum share of the words of a part of a line that the line has."""
_TELLING = 3
"""Minimum characters of a new text, without outer blanks, for a hint that it is already in the file."""


def nearest(text: str, old: str, named: str = "your old_string") -> str:
    """Return the most similar lines with a small diff against the old text, called `named`, or an empty text.

    The model can correct its next attempt with it.
    """
    lines = re.split(NEWLINE, text)[:_SEARCHED]
    wanted = re.split(NEWLINE, old.strip("\r\n"))
    start = _most_alike(lines, wanted)
    if start is None:
        return ""
    pairs = zip(wanted, lines[start : start + len(wanted)], strict=False)
    different = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
    skipped = max(0, different - _LEAD)
    first, last = start + skipped, min(len(lines), start + min(len(wanted), skipped + _SHOWN))
    begin, end = max(0, first - _AROUND), min(len(lines), last + _AROUND)
    if end == len(lines) and lines[-1] == "":
        end -= 1
    ours = [line[:_WIDTH] for line in wanted[skipped : skipped + _SHOWN]]
    theirs = [line[:_WIDTH] for line in lines[begin:end]]
    excerpt = "\n".join(_compared(ours, theirs, first - begin, max(0, end - last))[: _SHOWN + 2 * _AROUND])
    return f"Nearest: lines {begin + 1}-{end} (- {named}, + the file):\n{excerpt}"


def contexts(text: str, matches: Sequence[Match]) -> str:
    """Return the first places of a text that is not unique, each with the lines around it."""
    lines = re.split(NEWLINE, text)
    shown = []
    for match in matches[:_PLACES]:
        first, last = (len(re.findall(NEWLINE, text[:end])) for end in (match.start, max(match.start, match.end - 1)))
        begin, end = max(0, first - _AROUND), min(len(lines) - (lines[-1] == ""), last + 1 + _AROUND)
        rows = [line[:_WIDTH] for line in lines[begin:end]]
        if len(rows) > 2 * _LEAD + 2 * _AROUND:
            rows = [*rows[: _LEAD + _AROUND], "…", *rows[-_LEAD - _AROUND :]]
        shown.append("\n".join([f"Lines {begin + 1}-{end}:", *rows]))
    return "\n".join(shown)


def already_there(text: str, new: str) -> str:
    """Return `new_string is already there (line 12).` if the text has it once, or an empty text."""
    if len(new.strip()) < _TELLING or text.count(new) != 1:
        return ""
    return f"new_string is already there (line {text.count(chr(10), 0, text.index(new)) + 1:,})."


def _compared(ours: Sequence[str], theirs: Sequence[str], lead: int, trail: int) -> list[str]:
    """Return the diff; the file's own lines among its first `lead` and last `trail` lines count as context."""
    diff = [line for line in difflib.ndiff(ours, theirs) if not line.startswith("?")]
    return _context_first(_context_first(diff, lead)[::-1], trail)[::-1]


def _context_first(diff: Sequence[str], most: int) -> list[str]:
    """Move up to `most` of the file's lines to the beginning of the first lines that differ, as context."""
    differing = list(itertools.takewhile(lambda line: not line.startswith(" "), diff))
    context = [n for n, line in enumerate(differing) if line.startswith("+")][:most]
    rest = [line for n, line in enumerate(diff) if n not in context]
    return [*(f"  {diff[n][2:]}" for n in context), *rest]


def _most_alike(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the index where most wanted lines match, ignoring outer blanks; otherwise by a line like the longest of
    them.
    """
    stripped = [line.strip() for line in lines]
    places: dict[str, list[int]] = {}
    for n, line in enumerate(stripped):
        if line:
            places.setdefault(line, []).append(n)
    votes = Counter(
        place - offset
        for offset, line in enumerate(wanted)
        for place in places.get(line.strip(), ())[:50]
        if place >= offset
    )
    if votes:
        return max(votes, key=lambda start: (votes[start], -start))
    longest = max(range(len(wanted)), key=lambda n: len(wanted[n].strip()))
    close = difflib.get_close_matches(wanted[longest].strip()[:300], [line[:300] for line in places], 1, 0.6)
    found = next((n for n, line in enumerate(stripped) if close and line[:300] == close[0]), None)
    found = _with_words_of(wanted[longest], stripped) if found is None else found
    return None if found is None else max(0, found - longest)


def _with_words_of(part: str, lines: Sequence[str]) -> int | None:
    """Return the index of the line that shares most words with a part of a line, or None."""
    words = frozenset(re.findall(r"\w+", part))
    shared = [len(words.intersection(re.findall(r"\w+", line))) for line in lines]
    most = max(shared, default=0)
    return shared.index(most) if most >= 2 and most >= _WORDS_SHARED * len(words) else None


_NOUN = (
    r"(?:code|file|function|method|class|implementation|content|import|logic|line|test|bod(?:y|ies)|module|component|style|rule|"
    r"field|propert(?:y|ies)|handler|case|definition|section|setup|config(?:uration)?|part|it|everything)(?:e?s)?"
)
_WORDS = (
    rf"(?:(?:the |your )?rest of (?:the |your )?(?:\w+ ){{0,2}}{_NOUN}|(?:the )?rest|(?:(?:the )?rest of )?(?:the )?(?:\w+ ){{0,2}}"
    rf"{_NOUN}(?: (?:remains?|stays?|is|are))?(?: the same| unchanged| as before| here)|(?:keep |the )?existing (?:\w+ ){{0,2}}{_NOUN}"
    rf"|(?:the )?remaining (?:\w+ ){{0,2}}{_NOUN}|(?:the )?unchanged (?:\w+ ){{0,2}}{_NOUN}|unchanged)"
    r"(?: (?:goes |continues )?(?:here|unchanged|as before|as is|remains? (?:unchanged|the same)|stays? the same|is unchanged))?"
)
_DOTS = r"(?:\.{3,}|…)"
_OPEN = r"(?://+|#+|--|;+|%+|/\*+|\*|<!--|\{/\*|\(|\[)"
_CLOSE = r"(?:\*+/\}?|-->|\)|\])"
# Patterns compiled on first use: together they would add milliseconds to each start.
_PLACEHOLDER = (
    rf"(?i)(?:{_OPEN}\s*[(\[]?{_DOTS}\s*[(\[]?{_WORDS}[)\]]?\s*\.?|{_OPEN}\s*{_DOTS}?\s*[(\[]?{_WORDS}[)\]]?\s*{_DOTS}"
    rf"|{_DOTS}\s*[(\[]?{_WORDS}[)\]]?\s*{_DOTS}?)\s*{_DOTS}?\s*{_CLOSE}?"
)
_HINT = re.compile(r"(?i)rest|existing|unchanged|remain|same|before|here")


_PROSE = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".org", ".tex", ".txt")
"""Extensions of prose files, where such a line is an example or a sentence."""


def refuse_omissions(file: str, before: str, new: str, field: str) -> None:
    """Raise ToolError if a line of the new text stands for omitted code.

    Prose may contain such a line, and so may an edit whose old text has it too.
    """
    if file.lower().endswith(_PROSE):
        return
    stop = -1
    for match in re.finditer(_DOTS, new):
        if match.start() < stop:
            continue  # a line is examined once
        start, stop = new.rfind("\n", 0, match.start()) + 1, new.find("\n", match.end())
        text = new[start : stop if stop >= 0 else None].strip()
        stop = stop if stop >= 0 else len(new)
        if _is_placeholder(text) and text not in (former.strip() for former in before.splitlines()):
            raise ToolError(
                f"Line {new.count(chr(10), 0, start) + 1} of {field} is a placeholder for omitted code: {text[:100]}. Nothing was changed. "
                "Write that code out, or keep it out of the edit. If the file should really contain this line, write it with bash."
            )


def _is_placeholder(line: str) -> bool:
    if len(line) > 120 or not _HINT.search(line):
        return False
    return re.fullmatch(_PLACEHOLDER, line) is not None
