"""Every command that a shell text may run, read generously for rules that forbid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command of a line that is fully understood. `joint` is what stands before it; `bare` says that the name is unquoted."""

    words: tuple[str, ...]
    joint: str
    bare: bool

    @property
    def text(self) -> str:
        """The words joined by single spaces, as rules match them."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class Piece:
    """A word of any line as far as it can be told: `text` with `UNKNOWN` for what only the shell will know.

    `loose` when it holds an unquoted wildcard or brace, so that the shell may put other words in its place.
    """

    text: str
    known: bool = True
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One command found anywhere in a line; `writes` and `reads` are the targets of its redirections."""

    words: tuple[Piece, ...]
    writes: tuple[Piece, ...] = ()
    reads: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Every command of a line, nested ones too, the texts fed to them, and whether the parser could read all of it."""

    parts: tuple[Part, ...]
    fed: tuple[str, ...]
    whole: bool


UNKNOWN = "\ufffc"
_LOOSE = frozenset("*?[{")


def dissect(text: str) -> Anatomy:
    """Every command that a line may run, however nested, for rules that forbid."""
    tree = parser().parse(text.encode("utf-8", "surrogatepass"))
    root = tree.root_node
    fed = [node for node in below(root) if node.type in ("heredoc_body", "herestring_redirect")]
    parts = tuple(_part(node) for node in _commands(root))
    return Anatomy(parts, tuple(map(_fed, fed)), not root.has_error)


def below(node: Node) -> Iterator[Node]:
    """Every node of a syntax tree below this one."""
    for child in node.children:
        yield child
        yield from below(child)


@lru_cache(maxsize=1)
def parser() -> Parser:
    """The parser for bash, made at its first use."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


_COMMAND_NODES = frozenset({"command", "declaration_command", "unset_command", "test_command"})


def _commands(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _COMMAND_NODES or _stands_alone(node):
            yield node
        waiting.extend(reversed(node.children))


def _stands_alone(node: Node) -> bool:
    """Whether a redirection belongs to no simple command: to a group, a pipeline, a `$(<file)`, or to nothing at all."""
    if node.type == "command_substitution":
        return node.child_by_field_name("redirect") is not None
    body = node.child_by_field_name("body")
    return node.type == "redirected_statement" and (body is None or body.type not in _COMMAND_NODES)


def _part(node: Node) -> Part:
    children = node.children if node.type in _COMMAND_NODES else []
    words = [_value(child) for child in children if not child.type.endswith("redirect") and not _is_prefix(child)]
    writes: list[Piece] = []
    reads: list[Piece] = []
    for redirect in _redirects(node):
        first, *rest = [_value(child) for child in redirect.children_by_field_name("destination")] or [Piece("", False)]
        (reads if any(child.type == "<" for child in redirect.children) else writes).append(first)
        words.extend(rest)
    return Part(tuple(words), tuple(writes), tuple(reads))


def _is_prefix(node: Node) -> bool:
    return node.type == "variable_assignment" and node.parent is not None and node.parent.type == "command"


def _redirects(node: Node) -> list[Node]:
    around = [node]
    if node.type in _COMMAND_NODES and node.parent is not None and node.parent.type == "redirected_statement":
        around.append(node.parent)
    return [child for place in around for child in place.children if child.type == "file_redirect"]


def _value(node: Node) -> Piece:
    """A word's value; what the shell would fill in stands as UNKNOWN, but for HOME and PWD."""
    raw = (node.text or b"").decode("utf-8", "replace")
    match node.type:
        case "word" | "number" | "string_content" | "variable_name" | "test_operator" | "[" | "]" | "[[" | "]]":
            inside = node.parent is not None and node.parent.type == "string"
            raw = raw.replace("\\\n", "")
            plain = re.sub(r'\\([$`"\\])' if inside else r"\\(.)", r"\1", raw, flags=re.DOTALL)
            return Piece(plain, loose=not inside and not _LOOSE.isdisjoint(raw))
        case "raw_string":
            return Piece(raw[1:-1])
        case "ansi_c_string":
            return Piece(_ansi(raw[2:-1]))
        case "string" | "translated_string" | "concatenation" | "command_name":
            pieces = [_value(child) for child in node.children if child.type not in ('"', "$")]
            text = "".join(piece.text for piece in pieces)
            return Piece(text, all(piece.known for piece in pieces), any(piece.loose for piece in pieces))
        case "simple_expansion" | "expansion" if raw.strip("${}") in ("HOME", "PWD"):
            return Piece("$HOME" if "HOME" in raw else ".")
        case _:
            return Piece(UNKNOWN, False)


def _fed(node: Node) -> str:
    """The text of a here-document or here-string, as far as it can be told."""
    if node.type == "heredoc_body":
        return (node.text or b"").decode("utf-8", "replace")
    return _value(node.children[-1]).text


def _ansi(body: str) -> str:
    """The value of `$'…'`."""
    try:
        return body.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except (UnicodeDecodeError, UnicodeEncodeError):
        return UNKNOWN
