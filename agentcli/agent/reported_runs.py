"""Runs that a message reports by their names, such as commands in a list below `Verified with:`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath

from agentcli.agent.check_commands import named_kinds
from agentcli.agent.claim_words import Kind

SPAN = r"`[^`\n]+`"
REPORTED = re.compile(r"\x02(.*?)\x02")
"""Mark before an item of a list of runs, with the language of the words above it."""
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(rf"\s*(?:\||(?:[-*+•]|\d+[.)])[\s|]|[✅✓✔☑]|{SPAN}|$)")
_NAMED = rf"(?i)[\s*+•|.)\[\]x✅✓✔☑\d-]*(?:(?<=[✅✓✔☑]) ?[^`\n]|(?:[\w./-]+:\**\s+)?(?:(?:re-?)?ran )?{SPAN}|[\d,]+ \w|[^`\n]*[✅✓✔☑]|(?:[\w/-]+ ){{0,3}}(?:%s))"
_MARKS = "\\s>*#_•|+-"
_HEAD = re.compile(rf"[{_MARKS}]*(?:\d+[.)])?[{_MARKS}]*((?:[\w'’ ,-]|{SPAN})+?)(?:\*\*|__)?(?::(?:\*\*|__)?(.*)| *$)")
_HEADING = re.compile(r"\s*(?:#|\*\*|__)")
_PLAN = re.compile(r"(?im)^\s*#.*\bplan\b|<\w*plan>")
_PLANNED = re.compile(r"(?i)\b(?:plan|steps?|how|to|next|suggested|recommended|manual\w*|you|your)\b")
_EXPECTED = re.compile(
    r"(?i)\W*(?:expected\b|(?:it |you )?should (?:see|show|print)|(?:it|you)(?: will|['’]ll) (?:see|show|print))[^.]*:\W*$"
)
"""A line before what somebody else is to see."""
_COMMAND = re.compile(r"(?!//)[a-z\d./~$@({_]|[A-Z]\w*=")
_MOST_WORDS = 8
"""Words of the longest line that introduces a list of runs."""


def with_reports_marked(text: str, reports: Mapping[str, Callable[[str], bool]], subject: str) -> str:
    """Return a text with a mark before each run in a list that words of `reports` introduce.

    Such a list follows their colon, below their line, or in a block of code below it. All other blocks of code are
    left out. `reports` tells by language which line introduces a list, `subject` is a pattern for what a run checks.
    """
    kept, listing, fenced = list[str](), "", False
    text = _unfenced(text)
    named = _NAMED % subject
    planned = _PLAN.search(text) is not None
    expected = False
    for line in text.splitlines():
        expected = _EXPECTED.match(line) is not None or (expected and (fenced or _ITEM.match(line) is not None))
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            kept += [_marked(listing, f"`{line.strip()}`")] if listing and line.strip() else []
        elif not planned and (head := _head(line, reports)):
            listing, rest = head
            if not rest and re.search("[✅✓✔]", line):
                kept.append(_marked(listing, line))
            kept += [line[: line.rindex(rest)], _marked(listing, rest)] if rest and re.match(named, rest) else [line]
            listing = "" if rest else listing
        elif expected and _ITEM.match(line):
            continue
        elif listing and _ITEM.match(line):
            kept.append(_marked(listing, line) if re.match(named, line) else line)
        else:
            listing = ""
            kept.append(line)
    return "\n".join(kept)


def _unfenced(text: str) -> str:
    """Return a text without the fences of its blocks of code if it begins with one, and has little else."""
    if not _FENCE.match(text):
        return text
    inside, fenced, size = 0, False, 0
    for line in text.splitlines():
        size += len(line)
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            inside += len(line)
    plain = re.sub(rf"(?m)^{_FENCE.pattern}.*$", "", text)
    return re.sub(r"(?<=\S) +", " ", plain) if 2 * inside > size else text


def _head(line: str, reports: Mapping[str, Callable[[str], bool]]) -> tuple[str, str] | None:
    """Return the language of a line that introduces a list of runs, and what follows its colon."""
    for start in (0, *(end.end() for end in re.finditer(r"(?<=[.!?])\s+", line))):
        found = _HEAD.match(line, start)
        if found is None or (found[2] is None and not _HEADING.match(line)):
            continue
        if len(found[1].split()) > _MOST_WORDS or _PLANNED.search(found[1]):
            continue
        if language := next((name for name, introduces in reports.items() if introduces(found[1])), ""):
            return language, (found[2] or "").strip()
    return None


def _marked(language: str, item: str) -> str:
    return f"\x02{language}\x02{item}"


def runs_in(clause: str) -> frozenset[Kind]:
    """Return the kinds of checks that the commands in backquotes run."""
    spans = (span.strip("`$ ") for span in re.findall(SPAN, clause))
    return frozenset(kind for span in spans if _COMMAND.match(span) for kind in _kinds(span))


def runs(named: str, ran: str) -> bool:
    """Return True if a command that ran has all words of the one that a message names, in their order."""
    words = iter(ran.split())
    return all(word in words for word in named.split())


def _kinds(command: str) -> Iterator[Kind]:
    for part in re.split(r"&&|\|\||[;|\n]", command):
        try:
            words = shlex.split(part) if re.search(r"['\"\\]", part) else part.split()
        except ValueError:
            words = part.split()
        while words and re.match(r"\w+=", words[0]):
            words.pop(0)
        if not words or (len(words) == 1 and _is_no_program(words[0])):
            continue
        found = named_kinds(words if len(words) > 1 else [f"./{words[0]}"])
        yield from found - {"lint"} if "build" in found else found


def _is_no_program(word: str) -> bool:
    """Return True for the path of a file, or a name in a program; `lint:fix` is a script."""
    script = re.fullmatch(r"[a-z-]+(?::[a-z-]+)+", word)
    return not script and bool(re.search(r"[/:_]", word) or PurePath(word).suffix)
