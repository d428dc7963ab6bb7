"""A reader of plain YAML: blocks, lists, texts, anchors. Anything else is not understood.

It serves decisions: a text that it understands has the same structure for every program. A key that occurs twice, or is
merged into a mapping, is in the result each time.
"""

from __future__ import annotations

import re
from typing import NoReturn, TypeAlias

Node: TypeAlias = "str | list[Node] | tuple[tuple[str, Node], ...]"
"""A text, a list, or the pairs of a mapping."""

_KEY = re.compile(r"""(?:"([^"\\]*)"|'([^'\\]*)'|(<<|[A-Za-z0-9_./][\w./-]*)) *:(?: +|$)""", re.ASCII)
_ODD = re.compile(r"[^\x20-\x7e\n\xa0-\u2027\u202a-\ufefe\uff00-\uffef\U00010000-\U0010ffff]")
"""Characters that a program may take for the end of a line, or for nothing; also tabs."""
_ANCHOR = re.compile(r"&([\w-]+)(?: +|$)", re.ASCII)
_ALIAS = re.compile(r"\*([\w-]+)", re.ASCII)
_BLOCK = re.compile(r"[|>][+-]?")
_DOUBLE, _SINGLE = re.compile(r'"((?:[^"\\]|\\.)*)"'), re.compile(r"'((?:[^']|'')*)'")
_PLAIN = re.compile(r"(?![-?:](?: |$))[^\s,\[\]{}#&*!|>'\"%@`][^#]*")
_ITEM = re.compile(
    r"""\s*((?:[A-Za-z_][\w-]*: +)?(?:"(?:[^"\\]|\\.)*"|'[^'\\]*'|[^\s,\[\]{}#&*!|>'"%@`:][^,\[\]{}#'"]*|\*[\w-]+))\s*(?:,|$)""",
    re.ASCII,
)
_PAIR = re.compile(r"([A-Za-z_][\w-]*): +(.*)", re.ASCII)
_DEEPEST = 20
"""Largest depth of a text that is read."""
_MOST_ALIASES, _MOST_PAIRS = 300, 1_000
"""Maximum uses of anchors in a text, and keys of one mapping."""


class _Unknown(Exception):
    """The text is not plain."""


def read_yaml(text: str) -> Node | None:
    """Return what a text of YAML contains; None if it is not plain."""
    text = text.replace("\r\n", "\n")
    if _ODD.search(text):
        return None
    reader = _Reader(text.split("\n"))
    try:
        return reader.document()
    except _Unknown:
        return None


def _refuse() -> NoReturn:
    raise _Unknown


class _Reader:
    """The lines of a text, and the place up to which they are read."""

    def __init__(self, lines: list[str]) -> None:
        """Begin with the first line."""
        self._lines = lines
        self._at = 0
        self._anchors: dict[str, Node] = {}
        self._aliases = 0

    def document(self) -> Node:
        if self._next() is not None and self._lines[self._at].rstrip() == "---":
            self._at += 1
        found = self._block(0, 0) if self._next() is not None else ()
        if self._next() is not None:
            _refuse()
        return found

    def _next(self) -> int | None:
        """Skip empty lines and comments. Return the indentation of the next line; None at the end."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            stripped = line.lstrip(" ")
            if stripped and not stripped.startswith("#"):
                return len(line) - len(stripped)
            self._at += 1
        return None

    def _rest(self) -> str:
        return self._lines[self._at].strip(" ")

    def _block(self, indent: int, depth: int) -> Node:
        if depth > _DEEPEST:
            _refuse()
        if self._is_item():
            return self._list(indent, depth)
        return self._mapping(indent, depth)

    def _is_item(self) -> bool:
        rest = self._rest()
        return rest == "-" or rest.startswith("- ")

    def _list(self, indent: int, depth: int) -> Node:
        found: list[Node] = []
        while (here := self._next()) is not None and here >= indent:
            if here > indent or not self._is_item():
                if here > indent:
                    _refuse()
                break
            rest = self._rest()[1:].lstrip(" ")
            if _KEY.match(rest):
                column = len(self._lines[self._at].rstrip(" ")) - len(rest)
                self._lines[self._at] = " " * column + rest
                found.append(self._mapping(column, depth + 1))
            else:
                self._at += 1
                found.append(self._value(rest, indent, depth, in_list=True))
        return found

    def _mapping(self, indent: int, depth: int) -> Node:
        found: list[tuple[str, Node]] = []
        while (here := self._next()) is not None and here >= indent:
            rest = self._rest()
            key = _KEY.match(rest)
            if here > indent or key is None:
                _refuse()
            self._at += 1
            name = next(filter(None, key.groups()), "")
            value = self._value(rest[key.end() :], indent, depth, in_list=False)
            if name != "<<":
                found.append((name, value))
                continue
            for merged in value if isinstance(value, list) else [value]:
                if not isinstance(merged, tuple):
                    _refuse()
                found += merged
        return tuple(found) if len(found) <= _MOST_PAIRS else _refuse()

    def _value(self, text: str, indent: int, depth: int, *, in_list: bool) -> Node:
        """Return the value that begins with the rest of a line, whose key or dash has this indentation."""
        if anchor := _ANCHOR.match(text):
            value = self._value(text[anchor.end() :], indent, depth, in_list=in_list)
            self._anchors[anchor[1]] = value
            return value
        text = text.strip(" ")
        if not text or text.startswith("#"):
            here = self._next()
            if here is None or here < indent or (here == indent and (in_list or not self._is_item())):
                return ""
            rest = self._rest()
            if here == indent or self._is_item() or _KEY.match(rest):
                return self._block(here, depth + 1)
            self._at += 1
            return self._inline(self._list_lines(rest, indent))
        return self._literal(indent) if _BLOCK.fullmatch(text) else self._inline(self._list_lines(text, indent))

    def _list_lines(self, text: str, indent: int) -> str:
        """Return a list in brackets whose lines are indented more, as one line; any other text unchanged."""
        while text.startswith("[") and not text.endswith("]"):
            here = self._next()
            if here is None or here <= indent or "#" in text:
                _refuse()
            text = f"{text} {self._rest()}"
            self._at += 1
        return text

    def _literal(self, indent: int) -> str:
        """Return the text of the lines that are indented more."""
        found = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip(" ") and len(line) - len(line.lstrip(" ")) <= indent:
                break
            found.append(line)
            self._at += 1
        return "\n".join(found)

    def _inline(self, text: str) -> Node:
        bare = text.partition(" #")[0].rstrip(" ")
        if alias := _ALIAS.fullmatch(bare):
            self._aliases += 1
            known = alias[1] in self._anchors and self._aliases <= _MOST_ALIASES
            return self._anchors[alias[1]] if known else _refuse()
        if bare.startswith("[") and bare.endswith("]"):
            return [self._inline(item) for item in _items(bare[1:-1])]
        if bare.startswith("{") and bare.endswith("}"):
            pairs = [_PAIR.fullmatch(item) or _refuse() for item in _items(bare[1:-1])]
            return tuple((pair[1], self._inline(pair[2].strip(" "))) for pair in pairs)
        for quoted in (_DOUBLE, _SINGLE):
            if found := quoted.fullmatch(bare):
                return found[1]
        plain = _PLAIN.fullmatch(bare) and ": " not in bare and not bare.endswith(":")
        return bare if plain else _refuse()


def _items(text: str) -> list[str]:
    """Return the items of a list within one line. Each is a plain or quoted text, or a pair of a mapping."""
    found: list[str] = []
    at = 0
    text = text.strip(" ")
    while at < len(text):
        item = _ITEM.match(text, at)
        if item is None:
            _refuse()
        found.append(item[1].strip(" "))
        at = item.end()
    return found
