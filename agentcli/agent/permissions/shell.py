"""Shell text as commands: read strictly to be approved, read generously to be denied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from agentcli.core.sanitise import invisible

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
class NotPlain:
    """Why a line is more than plain words joined by `&& || ; |` and newlines."""

    why: str


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


def read_plain(text: str) -> tuple[Command, ...] | NotPlain:
    """The commands of a line that holds nothing but plain words, or why it holds more.

    Two readers must agree on every word's place, ours and tree-sitter's, so that no quirk of either decides alone.
    """
    if odd := next((letter for letter in text if letter not in "\n\t" and invisible(letter)), ""):
        return NotPlain(f"the command holds the invisible character U+{ord(odd):04X}")
    read = _lex(text)
    if isinstance(read, NotPlain):
        return read
    commands, spans = read
    if not commands:
        return NotPlain("the command is empty")
    seen = _tree_spans(text)
    if isinstance(seen, NotPlain):
        return seen
    # tree-sitter counts bytes.
    ours = spans if text.isascii() else [tuple(len(text[:place].encode()) for place in span) for span in spans]
    return commands if ours == seen else NotPlain("the command can be read in more than one way")


def dissect(text: str) -> Anatomy:
    """Every command that a line may run, however nested, for rules that forbid."""
    tree = _parser().parse(text.encode("utf-8", "surrogatepass"))
    root = tree.root_node
    fed = [node for node in _below(root) if node.type in ("heredoc_body", "herestring_redirect")]
    parts = tuple(_part(node) for node in _commands(root))
    return Anatomy(parts, tuple(map(_fed, fed)), not root.has_error)


_BLANK = re.compile(r"[ \t]+")
_JOINT = re.compile(r"&&|\|\||;(?!;)|\|(?![|&])|\n")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "in", "case", "esac", "select"}
)
_RESERVED |= {"function", "time", "coproc", "let", "declare", "typeset", "local", "export", "readonly", "unset"}
"""Words that begin something other than a simple command."""
_END = r"(?=[\s;|&]|$)"
_REDIRECT = re.compile(rf"(?:[0-9]?>>?[ \t]*/dev/null|&>>?[ \t]*/dev/null|[0-9]?<[ \t]*/dev/null|[0-9]?>&[0-9]){_END}")
_WORD = re.compile(
    r"(?P<bare>(?:[A-Za-z0-9_./,:=+@%^~#!-]|[^\x00-\x7f])+)"
    r"|(?P<escape>\\[!-/:-@\[-`{-~ ])"
    r"|(?P<raw>'[^']*')"
    r'|(?P<double>"(?:[^"\\$`]|\\[^\n]|\$(?=["|) ]))*")'
    r"|(?P<brace>(?<=[@^])\{[A-Za-z0-9/_-]*\})"
    r"|(?P<wild>[*?])"
)
# Whatever the shell puts for `--include=*.py`, it still begins with `--include=` and names files to search.
_FIXED_OPTIONS = ("--include=", "--exclude=", "--exclude-dir=", "--glob=", "--iglob=")
_OBSTACLES = {
    "$": "an expansion",
    "`": "a command substitution",
    "*": "an unquoted wildcard",
    "?": "an unquoted wildcard",
    "[": "an unquoted wildcard or test",
    "{": "a brace expansion or group",
    "(": "a subshell",
    ")": "a subshell",
    "<": "a redirection",
    ">": "a redirection",
    "&": "a background command",
    "#": "a comment",
    "~": "a home folder",
    "\\": "a line continuation",
    "'": "an open quote",
    '"': "a quote that expands",
}


def _lex(text: str) -> tuple[tuple[Command, ...], list[tuple[int, int]]] | NotPlain:
    commands: list[Command] = []
    spans: list[tuple[int, int]] = []
    words: list[str] = []
    place, joint, bare, redirected = 0, "", False, False
    while place < len(text):
        if blank := _BLANK.match(text, place):
            place = blank.end()
        elif redirect := _REDIRECT.match(text, place):
            place, redirected = redirect.end(), True
        elif mark := _JOINT.match(text, place):
            if words:
                commands.append(Command(tuple(words), joint, bare))
                words, joint = [], mark.group()
            elif redirected or mark.group() != "\n":
                return NotPlain("a part of the command has no name")
            place, redirected = mark.end(), False
        else:
            word = _word(text, place, first=not words)
            if isinstance(word, NotPlain):
                return word
            value, end = word
            bare = bare if words else value == text[place:end]
            words.append(value)
            spans.append((place, end))
            place = end
    if words:
        commands.append(Command(tuple(words), joint, bare))
    elif redirected or joint in ("&&", "||", "|"):
        return NotPlain("a part of the command has no name")
    return tuple(commands), spans


def _word(text: str, start: int, first: bool) -> tuple[str, int] | NotPlain:
    """The value of the word at `start` and where it ends."""
    place, value = start, []
    while place < len(text) and (piece := _WORD.match(text, place)):
        raw = piece.group()
        if piece.lastgroup == "bare" and (problem := _bare_problem(raw, place == start, first)):
            return NotPlain(f"the command holds {problem}")
        if piece.lastgroup == "wild" and not text.startswith(_FIXED_OPTIONS, start):
            return NotPlain("the command holds an unquoted wildcard")
        value.append(_piece_value(piece.lastgroup or "", raw))
        place = piece.end()
    if (place < len(text) and text[place] not in " \t\n;|&<>") or place == start:
        return NotPlain(f"the command holds {_OBSTACLES.get(text[place], 'something unusual')}")
    if text[place : place + 1] in ("<", ">"):
        return NotPlain("the command holds a redirection")
    return "".join(value), place


def _bare_problem(raw: str, at_start: bool, first: bool) -> str:
    if at_start and raw[0] in "~#":
        return _OBSTACLES[raw[0]]
    if "=~" in raw or ":~" in raw:
        return "a home folder"
    if at_start and first and raw in _RESERVED:
        return f"the word {raw}"
    if at_start and first and (raw[0] in "!%^" or "=" in raw):
        return "an assignment" if "=" in raw else "a negation or job"
    return ""


def _piece_value(kind: str, raw: str) -> str:
    match kind:
        case "escape":
            return raw[1:]
        case "raw":
            return raw[1:-1]
        case "double":
            return re.sub(r'\\([$`"\\])', r"\1", raw[1:-1])
        case _:
            return raw


_PLAIN_NODES = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "command",
        "redirected_statement",
        "file_redirect",
        "file_descriptor",
        "command_name",
    }
    | {"&&", "||", ";", "|", "\n", ">", ">>", "<", "&>", "&>>", ">&"}
)
_WORD_NODES = frozenset({"word", "number", "raw_string", "string", "concatenation"})
_STRING_NODES = frozenset({"string_content", '"', "$", "word", "number", "raw_string", "string", "{", "}"})


def _tree_spans(text: str) -> list[tuple[int, int]] | NotPlain:
    """Where tree-sitter sees the words of simple commands, in order; NotPlain when it sees anything else."""
    root = _parser().parse(text.encode()).root_node
    if root.has_error:
        return NotPlain("the command cannot be parsed")
    spans: list[tuple[int, int]] = []
    problem = _collect(root, spans)
    return NotPlain(problem) if problem else sorted(spans)


def _collect(node: Node, spans: list[tuple[int, int]]) -> str:
    for child in node.children:
        if child.type in _WORD_NODES:
            if unusual := next((inner.type for inner in _below(child) if inner.type not in _STRING_NODES), ""):
                return f"the command holds {unusual.replace('_', ' ')}"
            if node.type in ("command", "command_name"):
                spans.append((child.start_byte, child.end_byte))
            elif node.type != "file_redirect":
                return f"the command holds {node.type.replace('_', ' ')}"
        elif child.type not in _PLAIN_NODES:
            return f"the command holds {child.type.replace('_', ' ')}"
        elif problem := _collect(child, spans):
            return problem
    return ""


def _below(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from _below(child)


@lru_cache(maxsize=1)
def _parser() -> Parser:
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
    """Whether a redirection belongs to no simple command: to a group, a pipeline, or to nothing at all."""
    body = node.child_by_field_name("body")
    return node.type == "redirected_statement" and (body is None or body.type not in _COMMAND_NODES)


def _part(node: Node) -> Part:
    children = [] if node.type == "redirected_statement" else node.children
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
