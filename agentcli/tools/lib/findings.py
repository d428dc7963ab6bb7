"""Findings in the output of a check, and those that an edit introduced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe

SHOWN = 20
"""Maximum findings that the model is shown of one check."""
CHARACTERS = 400
"""Maximum characters of one finding."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PLACE = re.compile(r":(\d+)\b|^\s*(\d+)[:,]\d+\b|\((\d+),\d+\)")
_FRAME = re.compile(r"\s*\d*\s*\|")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its text, and its line, 0 if it has none."""

    text: str
    line: int = 0

    @property
    def key(self) -> str:
        """The text without its numbers: an edit elsewhere moves lines."""
        return _DIGITS.sub("#", self.text)


def findings_in(output: str) -> Sequence[Finding]:
    """Return the findings of an output: its lines that contain a file and line number, or its paragraphs that do.

    Texts without a place, such as a summary, count only if no text has one.
    """
    clean = safe(_COLOURS.sub("", output.replace("\r\n", "\n"))).strip("\n")
    units = [unit for block in re.split(r"\n\s*\n", clean) for unit in _units(block)]
    placed = [unit for unit in units if unit.line]
    return placed or units


def _units(block: str) -> Iterator[Finding]:
    lines = [line for line in block.split("\n") if line.strip()]
    places = [(line, found) for line in lines if not _FRAME.match(line) and (found := _PLACE.search(line))]
    if len(places) == 1 and len(block) <= CHARACTERS:
        yield Finding("\n".join(lines), _line(places[0][1]))
    elif places:
        yield from (Finding(_short(line), _line(found)) for line, found in places)
    elif lines:
        yield Finding(_short("\n".join(lines)))


def _line(found: re.Match[str]) -> int:
    digits = next(filter(None, found.groups()))
    return int(digits) if len(digits) < 10 else 0


def _short(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"


def new_findings(
    before: Sequence[Finding], after: Sequence[Finding], moved: Callable[[int], int | None]
) -> Sequence[Finding]:
    """Return the findings that an edit introduced.

    `moved` maps an old line number to the new one, and a changed line to None. Of findings with the same text, only as
    many are old as there were before. Findings in their old places count as old first.
    """
    had = Counter(finding.key for finding in before)
    there = Counter((finding.key, moved(finding.line)) for finding in before)
    left: list[Finding] = []
    for finding in after:
        place = (finding.key, finding.line)
        if there[place] > 0:
            there[place] -= 1
            had[finding.key] -= 1
        else:
            left.append(finding)
    new: list[Finding] = []
    for finding in left:
        if had[finding.key] > 0:
            had[finding.key] -= 1
        else:
            new.append(finding)
    return new


def line_shift(old: Sequence[str], new: Sequence[str]) -> Callable[[int], int | None]:
    """Return a function from an old line's number to its new number, or None for a changed line."""
    least = min(len(old), len(new))
    begin = next((n for n in range(least) if old[n] != new[n]), least)
    end = next((n for n in range(least - begin) if old[-1 - n] != new[-1 - n]), least - begin)

    def moved(line: int) -> int | None:
        if line <= begin:
            return line
        return line + len(new) - len(old) if line > len(old) - end else None

    return moved


def report(line: str, new: Sequence[Finding]) -> str:
    """Return the text for the model about the new findings of a command line."""
    more = [f"[{len(new) - SHOWN:,} more]"] if len(new) > SHOWN else []
    return "\n".join([f"New findings of `{line}`:", *(finding.text for finding in new[:SHOWN]), *more])
