"""Shell text as plain commands, read strictly so that it may be approved."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentcli.core.sanitise import invisible
from agentcli.permissions.shell.parse import Command, below, parser

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class NotPlain:
    """The reason that a line is more than plain words joined by `&& || ; |` and newlines."""

    why: str


def read_plain(text: str) -> tuple[Command, ...] | NotPlain:
    """The commands of a line of plain words only, or the reason that it is not one.

    Two readers must agree on every word's place, ours and tree-sitter's, so that no quirk of either decides alone.
    """
    if odd := next((letter for letter in text if letter not in "\n\t" and invisible(letter)), ""):
        return NotPlain(f"holds the invisible character U+{ord(odd):04X}")
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
    ours = spans if text.isascii() else [tuple(len(text[:index].encode()) for index in span) for span in spans]
    return commands if ours == seen else NotPlain("the command can be read in more than one way")


UNCHECKED = ": can't be checked"
"""Ends the reason about a line that is more than plain words."""

_BLANK = re.compile(r"(?:[ \t]|(?:(?<=[ \t\n])|(?<=\A))\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_JOINT = re.compile(r"&&|\|\||;(?!;)|\|(?![|&])|\n")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "in", "case", "esac", "select"}
)
_RESERVED |= {"function", "time", "coproc", "let", "declare", "typeset", "local", "export", "readonly", "unset"}
"""Words that begin something other than a simple command."""
_END = r"(?=[\s;|&]|$)"
_REDIRECT = re.compile(rf"(?:[0-9]?>>?[ \t]*/dev/null|&>>?[ \t]*/dev/null|[0-9]?<[ \t]*/dev/null|[0-9]?>&[0-9]){_END}")
_BRACKET = re.compile(rf"\[\[?(?=[ \t])|\]\]?{_END}")
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
    "$": "uses $… or $(…)",
    "`": "uses `…`",
    "*": "uses a wildcard",
    "?": "uses a wildcard",
    "[": "uses a wildcard or test",
    "{": "uses braces",
    "(": "uses a subshell",
    ")": "uses a subshell",
    "<": "redirects input",
    ">": "redirects output",
    "&": "runs in the background",
    "#": "has a comment inside a word",
    "~": "uses ~",
    "\\": "continues a line",
    "'": "has an open quote",
    '"': "uses $… in quotes",
}
_KEYWORDS = {
    **dict.fromkeys(("for", "while", "until", "select"), "uses a shell loop"),
    **dict.fromkeys(("if", "case"), "uses a shell condition"),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "unset", "let"), "sets a variable"),
    "function": "defines a function",
}
_NODES = {
    **dict.fromkeys(("for_statement", "while_statement", "c_style_for_statement"), "uses a shell loop"),
    **dict.fromkeys(("if_statement", "case_statement"), "uses a shell condition"),
    **dict.fromkeys(
        ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"), "uses $… or $(…)"
    ),
    **dict.fromkeys(("variable_assignment", "declaration_command", "unset_command"), "sets a variable"),
    **dict.fromkeys(("heredoc_redirect", "herestring_redirect"), "has a here-document"),
    "file_redirect": "redirects output",
    "subshell": "uses a subshell",
    "function_definition": "defines a function",
    "process_substitution": "uses <(…)",
    "negated_command": "negates a command",
    "brace_expression": "uses braces",
}


@dataclass(slots=True)
class _Reader:
    """The commands read so far, and the one that is being read."""

    commands: list[Command] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    joint: str = ""
    bare: bool = False
    begun: bool = False
    """Whether a redirection stands here without its command."""

    def add(self, value: str, start: int, end: int, bare: bool) -> None:
        self.bare = self.bare if self.words else bare
        self.words.append(value)
        self.spans.append((start, end))

    def finish(self) -> None:
        self.commands.append(Command(tuple(self.words), self.joint, self.bare))
        self.words, self.begun = [], False


_NAMELESS = NotPlain("a part of the command has no name")


def _lex(text: str) -> tuple[tuple[Command, ...], list[tuple[int, int]]] | NotPlain:
    reader, index = _Reader(), 0
    while index < len(text):
        step = _step(text, index, reader)
        if isinstance(step, NotPlain):
            return step
        index = step
    if reader.words:
        reader.finish()
    elif reader.begun or reader.joint in ("&&", "||", "|"):
        return _NAMELESS
    return tuple(reader.commands), reader.spans


def _step(text: str, index: int, reader: _Reader) -> int | NotPlain:
    """Read the token at `index`; the index after it."""
    if blank := (_BLANK.match(text, index) or _COMMENT.match(text, index)):
        return blank.end()
    if redirect := _REDIRECT.match(text, index):
        reader.begun = True
        return redirect.end()
    if mark := _JOINT.match(text, index):
        return _joint(mark, reader)
    bracket = _BRACKET.match(text, index)
    if bracket and (
        reader.words[0] == {"]": "[", "]]": "[["}.get(bracket[0]) if reader.words else bracket[0][0] == "["
    ):
        reader.add(bracket[0], *bracket.span(), bare=True)
        return bracket.end()
    word = _word(text, index, first=not reader.words)
    if isinstance(word, NotPlain):
        return word
    value, end = word
    reader.add(value, index, end, bare=value == text[index:end])
    return end


def _joint(mark: re.Match[str], reader: _Reader) -> int | NotPlain:
    if reader.words:
        reader.finish()
        reader.joint = mark.group()
    elif reader.begun or mark.group() != "\n":
        return _NAMELESS
    return mark.end()


def _word(text: str, start: int, first: bool) -> tuple[str, int] | NotPlain:
    """The value of the word at `start` and where it ends."""
    index, value = start, []
    while index < len(text) and (piece := _WORD.match(text, index)):
        raw = piece.group()
        if piece.lastgroup == "bare" and (problem := _bare_problem(raw, index == start, first)):
            return NotPlain(f"{problem}{UNCHECKED}")
        if piece.lastgroup == "wild" and not text.startswith(_FIXED_OPTIONS, start):
            return NotPlain(f"uses a wildcard{UNCHECKED}")
        value.append(_piece_value(piece.lastgroup or "", raw))
        index = piece.end()
    if (index < len(text) and text[index] not in " \t\n;|&<>") or index == start:
        return NotPlain(f"{_OBSTACLES.get(text[index], 'holds something unusual')}{UNCHECKED}")
    if text[index : index + 1] in ("<", ">"):
        return NotPlain(f"{_OBSTACLES[text[index]]}{UNCHECKED}")
    return "".join(value), index


def _bare_problem(raw: str, at_start: bool, first: bool) -> str:
    if at_start and raw[0] in "~#":
        return _OBSTACLES[raw[0]]
    if "=~" in raw or ":~" in raw:
        return _OBSTACLES["~"]
    if at_start and first and raw in _RESERVED:
        return _KEYWORDS.get(raw, f"uses the shell word {raw}")
    if at_start and first and (raw[0] in "!%^" or "=" in raw):
        return "sets a variable" if "=" in raw else "negates a command or names a job"
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
    {"program", "list", "pipeline", "command", "redirected_statement", "file_descriptor", "command_name", "comment"}
    | {"&&", "||", ";", "|", "\n", ">", ">>", "<", "&>", "&>>", ">&"}
)
_WORD_NODES = frozenset({"word", "number", "raw_string", "string", "concatenation"})
_STRING_NODES = frozenset({"string_content", '"', "$", "word", "number", "raw_string", "string", "{", "}"})
_TEST_NODES = frozenset({"unary_expression", "binary_expression"})
_TEST_WORDS = _WORD_NODES | {"test_operator", "extglob_pattern", "[", "[[", "]", "]]", "=", "==", "!=", "!"}


def _tree_spans(text: str) -> list[tuple[int, int]] | NotPlain:
    """The spans of the words of simple commands as tree-sitter sees them, in order; NotPlain where it sees anything else."""
    root = parser().parse(text.encode()).root_node
    if root.has_error:
        return NotPlain("the command cannot be parsed")
    spans: list[tuple[int, int]] = []
    problem = _collect(root, spans)
    return NotPlain(problem) if problem else sorted(spans)


def _collect(node: Node, spans: list[tuple[int, int]]) -> str:
    tested = node.type == "test_command" or node.type in _TEST_NODES
    for child in node.children:
        if child.type in (_TEST_WORDS if tested else _WORD_NODES):
            if unusual := next((inner.type for inner in below(child) if inner.type not in _STRING_NODES), ""):
                return _unusual(unusual)
            if not tested and node.type not in ("command", "command_name"):
                return _unusual(node.type)
            spans.append((child.start_byte, child.end_byte))
        elif child.type == "file_redirect":
            spans.extend(_redirected(child))
        elif child.type not in (_TEST_NODES if tested else _PLAIN_NODES) and child.type != "test_command":
            return _unusual(child.type)
        elif problem := _collect(child, spans):
            return problem
    return ""


def _unusual(node: str) -> str:
    return f"{_NODES.get(node, 'holds ' + node.replace('_', ' '))}{UNCHECKED}"


def _redirected(redirect: Node) -> list[tuple[int, int]]:
    """The words that tree-sitter takes for further targets of a redirection: they are arguments."""
    return [(word.start_byte, word.end_byte) for word in redirect.children_by_field_name("destination")[1:]]
