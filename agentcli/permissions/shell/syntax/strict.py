"""Shell text as plain commands, parsed strictly so that it may be approved.

A text that is more than plain words gives the reason.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import invisible
from agentcli.permissions.shell.syntax.here_texts import HERE_TEXT, here_text, prints_text
from agentcli.permissions.shell.syntax.parse import PLACE, Command, Loop, source_of, syntax_tree

if TYPE_CHECKING:
    from tree_sitter import Node

_EXPANDS, _REDIRECTS = "has $( ) or variables", "redirects output"


def unchecked(problem: str) -> str:
    """Return the reason for a line that is more than plain words."""
    return f"{problem}: can't {'tell what it runs' if problem == _EXPANDS else 'be checked'}"


WRITES = unchecked(_REDIRECTS)
"""Reason for a line that would be plain words without a redirection to a file."""

OBSTACLES = {
    "$": _EXPANDS,
    "`": _EXPANDS,
    "*": "uses a wildcard",
    "?": "uses a wildcard",
    "[": "uses a wildcard or test",
    "{": "uses braces",
    "(": "uses a subshell",
    ")": "uses a subshell",
    "<": "redirects input",
    ">": _REDIRECTS,
    "&": "runs in the background",
    "#": "has a comment inside a word",
    "~": "uses ~",
    "\\": "continues a line",
    "'": "has an open quote",
    '"': _EXPANDS,
}
KEYWORDS = {
    **dict.fromkeys(("for", "while", "until", "select"), "uses a shell loop"),
    **dict.fromkeys(("if", "case"), "uses a shell condition"),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "unset", "let"), "sets a variable"),
    "function": "defines a function",
}
_NODES = {
    **dict.fromkeys(("for_statement", "while_statement", "c_style_for_statement"), "uses a shell loop"),
    **dict.fromkeys(("if_statement", "case_statement"), "uses a shell condition"),
    **dict.fromkeys(("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"), _EXPANDS),
    **dict.fromkeys(("variable_assignment", "declaration_command", "unset_command"), "sets a variable"),
    **dict.fromkeys(("heredoc_redirect", "herestring_redirect"), "has a here-document"),
    "file_redirect": _REDIRECTS,
    "subshell": "uses a subshell",
    "function_definition": "defines a function",
    "process_substitution": "uses <(…)",
    "negated_command": "negates a command",
    "brace_expression": "uses braces",
}


def unusual_node(node: str) -> str:
    """Return the reason for a line whose syntax tree has a node of this type."""
    return unchecked(_NODES.get(node, f"has a {node.replace('_', ' ')}"))


@dataclass(frozen=True, slots=True)
class NotPlain:
    """Reason why a line is more than plain words joined by `&& || ; |` and newlines."""

    why: str


def read_plain(text: str) -> tuple[Command, ...] | NotPlain:
    """Parse a line of plain words into its commands, or return why it is not one.

    Two parsers, ours and tree-sitter, must agree on the position of every word. No quirk of either then decides alone.
    """
    if odd := odd_letter(text):
        return NotPlain(f"contains the invisible character U+{ord(odd):04X}")
    read = _lex(text)
    if isinstance(read, NotPlain):
        return read
    commands, spans = read
    if not commands:
        return NotPlain("the command is empty")
    seen = _tree_spans(text, frozenset(command.loop.variable for command in commands if command.loop))
    if isinstance(seen, NotPlain):
        return seen
    # tree-sitter counts bytes.
    ours = spans if text.isascii() else [tuple(len(text[:index].encode()) for index in span) for span in spans]
    return commands if ours == seen else NotPlain("the command can be read in more than one way")


def odd_letter(text: str) -> str:
    """Return the first invisible character of a line, or an empty string."""
    if text.isascii() and text.isprintable():
        return ""
    return next((letter for letter in text if letter == PLACE or (letter not in "\n\t" and invisible(letter))), "")


_BLANK = re.compile(r"(?:[ \t]|(?:(?<=[ \t\n])|(?<=\A))\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_JOINT = re.compile(r"&&|\|\||;(?!;)|\|(?![|&])|\n")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "in", "case", "esac", "select"}
)
_RESERVED |= {"function", "coproc", "let", "declare", "typeset", "local", "export", "readonly", "unset"}
"""Words that begin something other than a simple command."""
_END = r"(?=[\s;|&]|$)"
_REDIRECT = re.compile(rf"(?:[0-9]?>>?[ \t]*/dev/null|&>>?[ \t]*/dev/null|[0-9]?<[ \t]*/dev/null|[0-9]?>&[0-9]){_END}")
_BRACKET = re.compile(rf"\[\[?(?=[ \t])|\]\]?{_END}")
_DOLLAR = r'\$(?=["|) ])'
"""A dollar sign with no special meaning."""
_WORD = re.compile(
    r"(?P<bare>(?:[A-Za-z0-9_./,:=+@%^~#!-]|[^\x00-\x7f])+)"
    r"|(?P<escape>\\[!-/:-@\[-`{-~ ])"
    r"|(?P<raw>'[^']*')"
    r"|(?P<ansi>\$'(?:[^'\\]|\\[nrt\"\\])*')"  # every shell ends it at the same quote
    rf'|(?P<double>"(?:[^"\\$`]|\\[^\n]|\$(?=["|) ])|{HERE_TEXT})*")'
    r"|(?P<brace>(?<=[@^])\{[A-Za-z0-9/_-]*\}|(?<=[ \t])\{\}(?=[ \t\n;|]|\Z))"
    r"|(?P<wild>[*?]|\[(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_.]+)\])"
)
# With any file name in place of `--include=*.py`, the word still begins with `--include=` and lists files to search.
_FIXED_OPTIONS = ("--include=", "--exclude=", "--exclude-dir=", "--glob=", "--iglob=")


@dataclass(slots=True)
class _Reader:
    """Commands read so far, and the current one."""

    commands: list[Command] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    globs: list[str] = field(default_factory=list)
    loop: Loop | None = None
    """The loop whose body is being read."""
    closed: bool = False
    """True directly after a loop."""
    joint: str = ""
    bare: bool = False
    begun: bool = False
    """True if a redirection has been read, but not its command."""

    def add(self, value: str, start: int, end: int, bare: bool, glob: str = "") -> None:
        self.bare = self.bare if self.words else bare
        self.words.append(value)
        self.globs.append(glob)
        self.spans.append((start, end))

    def finish(self) -> None:
        globs = tuple(self.globs) if any(self.globs) else ()
        self.commands.append(Command(tuple(self.words), self.joint, self.bare, globs, self.loop))
        self.words, self.globs, self.begun = [], [], False


_NAMELESS = NotPlain("a part of the command has no name")


def _lex(text: str) -> tuple[tuple[Command, ...], list[tuple[int, int]]] | NotPlain:
    reader, index = _Reader(), 0
    while index < len(text):
        step = _step(text, index, reader)
        if isinstance(step, NotPlain):
            return step
        index = step
    if reader.loop is not None:
        return NotPlain("a loop has no end")
    if reader.words:
        reader.finish()
    elif reader.begun or (reader.joint in ("&&", "||", "|") and not reader.closed):
        return _NAMELESS
    return tuple(reader.commands), reader.spans


def _step(text: str, index: int, reader: _Reader) -> int | NotPlain:
    """Read the token at `index`; return the index after it."""
    if blank := (_BLANK.match(text, index) or _COMMENT.match(text, index)):
        return blank.end()
    if redirect := _REDIRECT.match(text, index):
        reader.begun = True
        return redirect.end()
    if mark := _JOINT.match(text, index):
        return _joint(mark, reader)
    if reader.closed:
        return NotPlain("a loop is followed by something unusual")
    if not (reader.words or reader.begun) and (mark := _FOR.match(text, index) or _DONE.match(text, index)):
        return _loop(text, mark, reader)
    bracket = _BRACKET.match(text, index)
    if bracket and (
        reader.words[0] == {"]": "[", "]]": "[["}.get(bracket[0]) if reader.words else bracket[0][0] == "["
    ):
        reader.add(bracket[0], *bracket.span(), bare=True)
        return bracket.end()
    word = _word(text, index, reader, first=not reader.words)
    if isinstance(word, NotPlain):
        return word
    value, end, pattern = word
    if pattern and reader.words[0] in ("[", "[["):
        return NotPlain(unchecked("uses a wildcard"))
    reader.add(value, index, end, bare=value == text[index:end], glob=pattern)
    return end


_FOR = re.compile(r"for[ \t]+(?P<name>[a-z][a-z0-9]{0,15})[ \t]+in(?=[ \t])")
"""Beginning of a loop over words. Its variable's name means nothing to the shell or to programs."""
_DONE = re.compile(rf"done{_END}")
_DO = re.compile(r"[ \t]*(?:;|\n)\s*do(?=[ \t\n])")


def _loop(text: str, mark: re.Match[str], reader: _Reader) -> int | NotPlain:
    """Begin a loop, up to its `do`, or end the current one; return the index after it."""
    name = mark.groupdict().get("name")
    if name is None:
        if reader.loop is None or reader.joint not in (";", "\n") or reader.commands[-1].loop is not reader.loop:
            return NotPlain("a loop ends that has not begun")
        reader.loop, reader.closed = None, True
        return mark.end()
    if reader.loop is not None or name == "histchars":
        return NotPlain(unchecked(KEYWORDS["for"]))
    return _loop_head(text, mark.end(), name, reader)


def _loop_head(text: str, index: int, name: str, reader: _Reader) -> int | NotPlain:
    words: list[str] = []
    globs: list[str] = []
    while not (do := _DO.match(text, index)):
        if blank := _BLANK.match(text, index):
            index = blank.end()
            continue
        word = _word(text, index, reader, first=False)
        if isinstance(word, NotPlain):
            return word
        value, end, pattern = word
        reader.spans.append((index, end))
        words.append(value)
        globs.append(pattern)
        index = end
    if not words:
        return NotPlain("a loop has no words")
    reader.loop = Loop(name, tuple(words), tuple(globs))
    return do.end()


def _joint(mark: re.Match[str], reader: _Reader) -> int | NotPlain:
    if reader.closed:
        reader.closed, reader.joint = False, mark.group()
    elif reader.words:
        reader.finish()
        reader.joint = mark.group()
    elif reader.begun or mark.group() != "\n":
        return _NAMELESS
    return mark.end()


def _word(text: str, start: int, reader: _Reader, first: bool) -> tuple[str, int, str] | NotPlain:
    """Return the value of the word at `start`, the index after it, and its pattern of file names.

    The shell substitutes the files that match the pattern.
    """
    index, value = start, []
    pattern: list[str] = []
    wild = False
    variable = reader.loop.variable if reader.loop else ""
    pieces = _pieces(variable, status=_prints(reader.words))
    while index < len(text) and (piece := pieces.match(text, index)):
        raw = piece.group()
        if piece.lastgroup == "bare" and (problem := _bare_problem(raw, index == start, first)):
            return NotPlain(unchecked(problem))
        if piece["body"] is not None and not _literal(text, piece):
            return NotPlain(unchecked(_EXPANDS))
        wild = wild or (piece.lastgroup == "wild" and not text.startswith(_FIXED_OPTIONS, start))
        value.append(_piece_value(piece.lastgroup or "", raw, variable))
        # What `?` and `[a-z]` match depends on the locale; `*` matches more.
        if piece.lastgroup != "wild" or pattern[-1:] != ["*"]:
            pattern.append("*" if piece.lastgroup == "wild" else glob.escape(value[-1]))
        index = piece.end()
    if wild and (first or any(PLACE in each for each in value)):
        return NotPlain(unchecked("uses a wildcard"))
    if (index < len(text) and text[index] not in " \t\n;|&<>") or index == start:
        return NotPlain(unchecked(OBSTACLES.get(text[index : index + 1], "contains something unusual")))
    if text[index : index + 1] in ("<", ">"):
        return NotPlain(unchecked(OBSTACLES[text[index]]))
    return "".join(value), index, "".join(pattern) if wild else ""


def _prints(words: Sequence[str]) -> bool:
    """Return True if a command that begins so only prints its next word."""
    return words[:1] == ["echo"] or (words[:1] == ["printf"] and len(words) > 1 and not words[1].startswith("-"))


@lru_cache(maxsize=64)
def _pieces(variable: str, status: bool = False) -> re.Pattern[str]:
    """Return the pattern of a word's pieces; in a loop, also with its variable in double quotes.

    With `status` also `$?`: the word is only printed.
    """
    words = _WORD.pattern
    if status:
        words = words.replace(_DOLLAR, rf"\$\?|{_DOLLAR}") + r"|(?P<status>\$\?)"
    if variable:
        inside = rf"\$(?:{variable}(?!\w)|\{{{variable}\}})"
        words = words.replace(_DOLLAR, f"{inside}|{_DOLLAR}")
    return re.compile(words) if variable or status else _WORD


def _literal(text: str, piece: re.Match[str]) -> bool:
    """Return True if every here-document in a quoted word is text for every shell."""
    found = list(re.compile(HERE_TEXT).finditer(text, piece.start(), piece.end()))
    return len(found) == 1 and here_text(text, *found[0].span()) is not None


def _bare_problem(raw: str, at_start: bool, first: bool) -> str:
    if at_start and raw[0] in "~#":
        return OBSTACLES[raw[0]]
    if "=~" in raw or ":~" in raw:
        return OBSTACLES["~"]
    if at_start and first and raw in _RESERVED:
        return KEYWORDS.get(raw, f"uses the shell word {raw}")
    if at_start and first and (raw[0] in "!%^" or "=" in raw):
        return "sets a variable" if "=" in raw else "negates a command or names a job"
    return ""


def _piece_value(kind: str, raw: str, variable: str) -> str:
    match kind:
        case "double":
            inside = rf"|(?P<place>\$(?:{variable}(?!\w)|\{{{variable}\}}))" if variable else "|(?P<place>(?!))"
            marked = re.compile(rf'{HERE_TEXT}|\\(?P<sign>[$`"\\]){inside}')
            return marked.sub(_filled, raw[1:-1])
        case "escape":
            return raw[1:]
        case "raw":
            return raw[1:-1]
        case "ansi":
            return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), raw[2:-1])
        case _:
            return raw


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def _filled(match: re.Match[str]) -> str:
    if match["place"]:
        return PLACE
    return match["sign"] or match["body"].rstrip("\n")


_LOOP_NODES = frozenset({"for_statement", "do_group", "for", "in", "do", "done", "variable_name"})
_PLAIN_NODES = _LOOP_NODES | frozenset(
    {"program", "list", "pipeline", "command", "redirected_statement", "file_descriptor", "command_name", "comment"}
    | {"&&", "||", ";", "|", "\n", ">", ">>", "<", "&>", "&>>", ">&"}
)
_WORD_NODES = frozenset({"word", "number", "raw_string", "ansi_c_string", "string", "concatenation"})
_STRING_NODES = frozenset(
    {"string_content", "ansi_c_string", '"', "$", "word", "number", "raw_string", "string", "{", "}"}
)
_VARIABLE_NODES = frozenset({"simple_expansion", "expansion", "variable_name", "${"})
_TEST_NODES = frozenset({"unary_expression", "binary_expression"})
_TEST_WORDS = _WORD_NODES | {"test_operator", "extglob_pattern", "[", "[[", "]", "]]", "=", "==", "!=", "!"}


def _tree_spans(text: str, variables: frozenset[str]) -> list[tuple[int, int]] | NotPlain:
    """Return the spans of the words of simple commands that tree-sitter finds, in order; NotPlain if it finds anything else."""
    root = syntax_tree(text)
    if root.has_error:
        return NotPlain("can't parse the command")
    spans: list[tuple[int, int]] = []
    problem = _collect(root, spans, variables)
    return NotPlain(problem) if problem else sorted(spans)


def _collect(node: Node, spans: list[tuple[int, int]], variables: frozenset[str]) -> str:
    tested = node.type == "test_command" or node.type in _TEST_NODES
    for child in node.children:
        if child.type == "simple_expansion" and _usual(child, frozenset()) and node.type == "command":
            spans.append((child.start_byte, child.end_byte))
        elif child.type in (_TEST_WORDS if tested else _WORD_NODES):
            if unusual := next((inner.type for inner in _inside(child) if not _usual(inner, variables)), ""):
                return unusual_node(unusual)
            if not tested and node.type not in ("command", "command_name", "for_statement"):
                return unusual_node(node.type)
            spans.append((child.start_byte, child.end_byte))
        elif child.type == "file_redirect":
            spans.extend(_redirected(child))
        elif child.type not in (_TEST_NODES if tested else _PLAIN_NODES) and child.type != "test_command":
            return unusual_node(child.type)
        elif problem := _collect(child, spans, variables):
            return problem
    return ""


def _inside(node: Node) -> Iterator[Node]:
    """Yield the nodes inside a word, except the parts of a here-document that only prints its text."""
    for child in node.children:
        if prints_text(child) is None:
            yield child
            yield from _inside(child)


def _usual(node: Node, variables: frozenset[str]) -> bool:
    """Return True if a node inside a word is text, or the line's loop variable."""
    if node.type == "simple_expansion" and node.text == b"$?":
        return True  # exit code of a command: the other parser accepts it only in printed words
    if node.type == "special_variable_name":
        return node.text == b"?"
    if node.type in ("simple_expansion", "expansion"):
        return source_of(node).strip("${}") in variables
    return node.type in _STRING_NODES or (node.type in _VARIABLE_NODES and bool(variables))


def _redirected(redirect: Node) -> list[tuple[int, int]]:
    """Return the words that tree-sitter treats as further targets of a redirection: they are arguments."""
    return [(word.start_byte, word.end_byte) for word in redirect.children_by_field_name("destination")[1:]]


_HERE = re.compile(r"<<[ \t]*(?P<quote>['\"])(?P<mark>[A-Za-z_]\w*)(?P=quote)(?=[ \t\n;|&])")


def without_here_texts(text: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Return a line with empty input instead of its quoted here-documents, and the commands that they are for.

    The line is unchanged if it is more than plain words and such texts.
    """
    reader, index, marks, kept, start = _Reader(), 0, list[str](), list[str](), 0
    fed: list[int] = []
    while index < len(text):
        if here := _HERE.match(text, index):
            if not reader.words or len(fed) > len(reader.commands):
                return text, ()
            kept += [text[start : here.start()], "</dev/null"]
            marks.append(here["mark"])
            fed.append(len(reader.commands))
            index = start = here.end()
            continue
        step = _step(text, index, reader)
        if isinstance(step, NotPlain):
            return text, ()
        if marks and text[step - 1] == "\n" and text[index] == "\n":
            body = re.compile("".join(rf"(?:(?!{mark}\n).*\n)*?{mark}(?:\n|\Z)" for mark in marks)).match(text, step)
            if body is None:
                return text, ()
            kept, start, marks = [*kept, text[start:step]], body.end(), []
            step = start
        index = step
    if reader.words:
        reader.finish()
    if marks or not fed:
        return text, ()
    return "".join([*kept, text[start:]]), tuple(reader.commands[number].words for number in fed)
