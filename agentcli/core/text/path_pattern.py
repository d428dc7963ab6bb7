"""Path patterns of rules, `glob` and `grep`.

Within a name, `*`, `?`, `[…]` and `{a,b}` match. `**` crosses folders, and `\\` escapes a character.

Names may contain brackets and braces themselves (`app/[slug]/page.tsx`), so a pattern has several readings: see
`READINGS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, product, zip_longest

from agentcli.core.dataclass import dataclass

_STAR, _FOLDERS, _ALL = "[^/]*", "(?:[^/]+/)*", ".*"
_DEEP = (_FOLDERS, _ALL)
_TOKEN = re.compile(r"\\.|\*\*/|\*\*|\*|\?|\[[^/][^\]/]*\]|\{|.", re.DOTALL)
_SIGNS = frozenset("\\*?[{")
_MOST = 64
"""Maximum patterns to write out for the braces of one pattern; beyond that, each group becomes `*`."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a pattern: brackets as character sets or text, braces as alternatives or text."""

    sets: bool
    alternatives: bool


READINGS = (Reading(False, False), Reading(False, True), Reading(True, False), Reading(True, True))
"""All readings, the literal one first: it applies if a file has such a name."""
GLOB = READINGS[-1]


@lru_cache(maxsize=4096)
def path_regex(pattern: str, reading: Reading = GLOB) -> re.Pattern[str]:
    """Compile a pattern as in .gitignore.

    Without a slash before its end, it matches at any depth. A trailing slash matches everything below. A set that a
    regular expression can't express, such as `[z-a]`, is text.
    """
    text = pattern.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        text = f"**/{text}"
    if text.endswith("/"):
        text += "**"
    pieces, grouped = list[str](), False
    for piece in _pieces(text, reading):
        grouped |= piece == "(?:"
        if piece in _DEEP and pieces and pieces[-1] in _DEEP:  # next to each other they mean the wider one
            piece = _ALL if _ALL in (piece, pieces.pop()) else piece
        pieces.append(piece)
    return re.compile("".join(pieces if grouped else _atomic(pieces)), re.DOTALL)


def matching(pattern: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that a pattern matches, using its first reading with a match."""
    given = list(paths)
    found = ([path for path in given if regex.fullmatch(path)] for regex in _regexes(pattern))
    return next(filter(None, found), [])


@lru_cache(maxsize=4096)
def matches_in_some_reading(pattern: str, path: str) -> bool:
    """Return True if a pattern matches a path, however its brackets and braces are read."""
    return any(regex.fullmatch(path) for regex in _regexes(pattern))


def any_component(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells of a name whether some of these components of patterns matches it in some reading.

    It takes a fraction of the time of `matches_in_some_reading` for each.
    """
    found = dict.fromkeys(regex.pattern for each in patterns for regex in _regexes(f"./x/{each}"))
    regex = re.compile("|".join(f"(?:{each})" for each in found) or "(?!)", re.DOTALL)
    return lambda name: regex.fullmatch(f"x/{name}") is not None


@lru_cache(maxsize=1024)
def written_out(pattern: str) -> tuple[str, ...]:
    """Return the patterns without braces that a pattern stands for in any reading.

    `{a,b}` is read as `a`, as `b` and as text.
    """
    if "{" not in pattern:
        return (pattern,)
    choices = [_choices(part) for part in _split_groups(pattern)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > _MOST:
        choices = [choice if len(choice) == 1 else ("*",) for choice in choices]
    return tuple(dict.fromkeys("".join(each) for each in product(*choices)))


def names_wildcard(component: str) -> bool:
    """Return True if a component of a pattern has an unescaped `*` or `?`."""
    return any(token[0] in "*?" for token in _TOKEN.findall(component))


def covers_below(pattern: str) -> bool:
    """Return True if a pattern covers everything below its folder: its last component is `**`, or has no wildcard."""
    last = pattern.rstrip("/").rpartition("/")[2]
    return last == "**" or not names_wildcard(last)


def literal(path: str) -> str:
    """Return the pattern that matches only this path."""
    return "".join(f"\\{letter}" if letter in _SIGNS else letter for letter in path)


def as_text(pattern: str) -> str:
    """Return the path that a pattern names, with brackets and braces as text."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)


def _regexes(pattern: str) -> Iterator[re.Pattern[str]]:
    signs = {token[0] for token in _TOKEN.findall(pattern) if token[0] in "[{"}
    for reading in READINGS:
        if (reading.sets or "[" in signs or reading is GLOB) and (
            reading.alternatives or "{" in signs or reading is GLOB
        ):
            yield path_regex(pattern, reading)


def _pieces(text: str, reading: Reading) -> Iterator[str]:
    """Yield the expression for each token; a `{` begins alternatives only if its `}` follows."""
    depth, n = 0, 0
    while n < len(text):
        token = _TOKEN.match(text, n)
        assert token is not None
        sign, n = token[0], token.end()
        if reading.alternatives and sign == "{" and "}" in text[n:]:
            depth += 1
            yield "(?:"
        elif depth and sign in ",}":
            depth -= sign == "}"
            yield "|" if sign == "," else ")"
        elif len(sign) > 1 and sign[0] == "[" and not reading.sets:
            yield from map(re.escape, sign)
        else:
            yield _piece(sign)
    yield ")" * depth


def _piece(token: str) -> str:
    match token:
        case "**/":
            return _FOLDERS
        case "**":
            return _ALL
        case "*":
            return _STAR
        case "?":
            return "[^/]"
        case _ if len(token) > 2 and token[0] == "[":
            return _set(token)
        case _:
            return re.escape(token[-1])


def _set(token: str) -> str:
    inside = token[1:-1]
    negated = len(inside) > 1 and inside[0] in "!^"
    listed = re.sub(r"([\\\[&~|])", r"\\\1", inside[1:] if negated else inside)
    expression = f"[{'^/' if negated else ''}{listed}]" if listed != "^" else re.escape("^")
    try:
        re.compile(expression)
    except re.error:
        return re.escape(token)
    return expression


def _atomic(pieces: Sequence[str]) -> Iterator[str]:
    """Yield the same expression without useless backtracking, which would take forever with many wildcards.

    The first fit is as good as any later one if the next wildcard reaches as far.
    """
    sections = _divided(pieces, _DEEP)
    for section, following in zip_longest(sections, sections[1:]):
        head, *parts = _divided(section, (_STAR,))
        if following is not None and (following[0] == _ALL or section[-1:] == ["/"]):
            yield f"(?>{_lazy(head)}{''.join(f'(?>{_lazy(part)})' for part in parts)})"
        else:
            yield from head
            yield from (f"(?>{_lazy(part)})" for part in parts[:-1])
            yield from parts[-1] if parts else ()


def _divided(pieces: Sequence[str], wild: Sequence[str]) -> Sequence[Sequence[str]]:
    """Divide the pieces into groups; all but the first begin with a wildcard."""
    starts = [0, *(n for n, piece in enumerate(pieces) if n and piece in wild), len(pieces)]
    return [pieces[start:end] for start, end in pairwise(starts)]


def _lazy(group: Sequence[str]) -> str:
    """Join a group so that its wildcard matches as little as possible."""
    return "".join([piece + "?" * (n == 0 and piece in (_STAR, *_DEEP)) for n, piece in enumerate(group)])


def _split_groups(pattern: str) -> Iterator[str]:
    """Yield the parts of a pattern: outermost groups in braces, and the text between them."""
    depth, part = 0, ""
    for token in _TOKEN.findall(pattern):
        if token == "{" and not depth:
            yield part
            part = ""
        part += token
        depth += (token == "{") - (token == "}" and depth > 0)
        if token == "}" and not depth and part.startswith("{"):
            yield part
            part = ""
    yield part


def _choices(part: str) -> tuple[str, ...]:
    """Return the readings of a part: a group's alternatives and the group as text, or only the part."""
    if not (part.startswith("{") and part.endswith("}")):
        return (part.replace("{", "\\{") if part.startswith("{") else part,)
    options, depth, option = list[str](), 0, ""
    for token in _TOKEN.findall(part[1:-1]):
        depth += (token == "{") - (token == "}")
        if token == "," and not depth:
            options.append(option)
            option = ""
        else:
            option += token
    inner = [text for each in (*options, option) for text in written_out(each)]
    return (*inner, re.sub(r"\{", r"\\{", part))
