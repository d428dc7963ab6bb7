"""Parser of shell text: finds every command that it may run, including wrappers and nested shells, for deny rules."""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass
from agentcli.permissions.shell.programs.known_programs import (
    ANYWHERE,
    EVALUATING,
    MARKS,
    OPERANDS,
    PASSING_INPUT,
    RUNNING,
    SHELLS,
    WRAPPERS,
    is_interpreter,
)
from agentcli.permissions.shell.syntax.here_texts import prints_text, scripts_in

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_parsers = threading.local()


class _Grammar:
    """Parser of bash lines, whose trees have the positions of the line."""

    def __init__(self, bash: Parser) -> None:
        self._bash = bash

    def parse(self, source: bytes) -> Tree:
        """Return the tree of a line. The grammar reads `<<M 2>&1 | tail` only in the other order, `2>&1 <<M | tail`.

        It takes the line after a longer pipeline for words of its last command if that line has a redirection. Such
        an end of a line is read as `;`.
        """
        source = _JOINED_ERRORS.sub(rb"\2 \1\3", source) if b"<<" in source else source
        tree = self._bash.parse(source)
        if b"\n" not in source or b"|" not in source:
            return tree
        while ends := _ends_within_commands(tree.root_node, source):
            ended = bytearray(source)
            for start, end in ends:
                ended[start:end] = b";".rjust(end - start)
            source = bytes(ended)
            tree = self._bash.parse(source)
        return tree


def _ends_within_commands(root: Node, source: bytes) -> list[tuple[int, int]]:
    """Return the ranges between two words or redirections of a command, comments included, in which a line ends."""
    found: list[tuple[int, int]] = []
    for node in below(root):
        if node.type not in _ON_ONE_LINE:
            continue
        words = [child for child in node.children if child.type != "comment"]
        for before, after in pairwise(words):
            gap = source[before.end_byte : after.start_byte]
            if _LINE_END.search(gap) and before.type != "heredoc_redirect":
                found.append((before.end_byte, before.end_byte + gap.rfind(b"\n") + 1))
    return sorted(set(found))


_ON_ONE_LINE = frozenset({"command", "redirected_statement", "file_redirect", "herestring_redirect"})
_LINE_END = re.compile(rb"(?<!\\)\n")
"""End of a line without a continuation."""
_JOINED_ERRORS = re.compile(rb"""(<<-?(?:'\w+'|"\w+"|\w+))[ \t](2>&1)([ \t]*\|)""")


def parser() -> _Grammar:
    """Return the parser of this thread, created at its first use."""
    found: _Grammar | None = getattr(_parsers, "bash", None)
    if found is None:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        found = _parsers.bash = _Grammar(Parser(Language(tree_sitter_bash.language())))
    return found


def syntax_tree(text: str) -> Node:
    """Return the root of a line's syntax tree."""
    return parser().parse(text.encode("utf-8", "surrogatepass")).root_node


def source_of(node: Node) -> str:
    """Return the text of a node as the line has it."""
    return (node.text or b"").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command of a fully understood line. `joint` is the operator before it; `bare` is true if the name is unquoted."""

    words: tuple[str, ...]
    joint: str
    bare: bool
    globs: tuple[str, ...] = ()
    """For each word the pattern of the file names that the shell substitutes for it; empty if it stays.

    There may also be no entries at all.
    """
    loop: Loop | None = None
    """The loop whose body contains the command; `PLACE` in a word is the loop's variable."""

    @property
    def text(self) -> str:
        """The command as rules match it: words joined by blanks, quoted only if a blank is part of a word."""
        variable = f"${self.loop.variable}" if self.loop else ""
        words = [word.replace(PLACE, variable) for word in self.words]
        spaced = any(not word or any(letter.isspace() for letter in word) for word in words)
        return (shlex.join if spaced else " ".join)(words)


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` loop over words, with the patterns of words that the shell replaces by file names."""

    variable: str
    words: tuple[str, ...]
    globs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A word of any line as far as known. `UNKNOWN` stands for text that only the shell will know.

    `loose` is true if it contains an unquoted wildcard or brace. The shell may then replace it by other words.
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

    @property
    def texts(self) -> list[str]:
        """The texts of its words."""
        return [piece.text for piece in self.words]


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """Every command of a line, including nested ones, and the texts fed to them.

    `whole` is true if the parser read the line without error.
    """

    parts: tuple[Part, ...]
    fed: tuple[str, ...]
    whole: bool


UNKNOWN = "\ufffc"
PLACE = "\ue000"
_LOOSE = frozenset("*?[{")
_DEPTH = 6


def parse(text: str, depth: int = _DEPTH) -> ParsedLine:
    """Return every command that a line may run, however nested, for deny rules. Scripts in texts are read to a `depth`."""
    root = syntax_tree(text)
    nodes = list(below(root))
    fed = tuple(_fed(node) for node in nodes if node.type in ("heredoc_body", "herestring_redirect"))
    hiding = "`" in text or "$(" in text
    texts = [script for node in nodes for script in scripts_in(node)] if hiding else []
    scripts = [parse(script, depth - 1) for script in texts] if depth else []
    parts = (*map(_part, _commands(root)), *(part for script in scripts for part in script.parts))
    return ParsedLine(
        parts, fed, not root.has_error and len(texts) == len(scripts) and all(script.whole for script in scripts)
    )


def command_nodes(text: str) -> Iterator[tuple[Part, tuple[int, ...]]]:
    """Yield the commands in a line itself, with the byte at which each word ends.

    Words after a redirection are left out.
    """
    for node in _commands(syntax_tree(text)):
        if node.type == "command":
            yield _part(node), tuple(child.end_byte for child in _word_nodes(node))


def told_only(text: str, reads: Callable[[Part], bool]) -> frozenset[tuple[Piece, ...]]:
    """Return the words of the commands of a line whose output only reading commands take.

    Commands in `$(…)`, `<(…)` and functions are left out, as are those whose pipeline does more than read.
    """
    found: set[tuple[Piece, ...]] = set()
    taken: set[tuple[Piece, ...]] = set()
    nodes = list(_commands(syntax_tree(text)))
    parts = {node.id: _part(node) for node in nodes}
    pipelines: dict[int, bool] = {}
    for node in nodes:
        around, plain = node.parent, True
        while around is not None and plain:
            plain = around.type not in _TAKING
            if around.type == "pipeline":
                if around.id not in pipelines:
                    pipelines[around.id] = all(reads(parts[other.id]) for other in _commands(around))
                plain = pipelines[around.id]
            around = around.parent
        (found if plain else taken).add(parts[node.id].words)
    return frozenset(found - taken)


_TAKING = frozenset({"command_substitution", "process_substitution", "function_definition"})
"""What surrounds a command whose output becomes words or input of another one."""


def starts_in_background(text: str) -> bool:
    """Return True if a line starts a command in the background."""
    return any(node.type == "&" for node in below(syntax_tree(text)))


def below(node: Node) -> Iterator[Node]:
    """Yield every node of a syntax tree below this one."""
    waiting = list(reversed(node.children))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def assigned_words(text: str) -> tuple[str, ...]:
    """Return the words that a line assigns to variables: the list of a loop, the value of an assignment.

    A quoted value stays whole if its variable is used in double quotes only, and no other shell gets it.
    """
    nodes = list(below(syntax_tree(text)))
    words: list[str] = []
    for node in nodes:
        if node.type in ("for_statement", "variable_assignment"):
            for value in node.children_by_field_name("value"):
                given = _value(value).text
                whole = node.type == "variable_assignment" and value.type in ("string", "raw_string") and " " in given
                words += [given] if whole and _is_never_split(node, given, text, nodes) else given.split()
    return tuple(words)


def _is_never_split(assignment: Node, value: str, text: str, nodes: Sequence[Node]) -> bool:
    """Return True if every mention of an assigned variable in a line is an expansion in double quotes."""
    name = assignment.child_by_field_name("name")
    plain = source_of(name) if name is not None else ""
    quoted = [node for node in nodes if node.type in ("simple_expansion", "expansion") and _is_in_string(node, plain)]
    named = re.findall(rf"(?<!\w){re.escape(plain)}(?!\w)", text)
    given = assignment.parent is not None and assignment.parent.type in _GIVING
    own = (f'"${plain}"', f'"${{{plain}}}"')
    names = (
        _value(node).text if source_of(node) not in own else value for node in nodes if node.type == "command_name"
    )
    starting = any(UNKNOWN in each or os.path.basename(each) in WRAPPERS | SHELLS for each in names)
    return plain.isidentifier() and not (given or starting) and len(named) == len(quoted) + 1


def _is_in_string(node: Node, name: str) -> bool:
    inside = node.parent is not None and node.parent.type == "string"
    return inside and source_of(node) in (f"${name}", f"${{{name}}}")


def assignments(text: str, own: Callable[[str], bool] = lambda _: False) -> list[tuple[str, str]] | None:
    """Return the variables that a line sets, with their values; None if one is not known.

    Omit unknown values of the shell's `own` variables, which no program gets.
    """
    found: list[tuple[str, str]] = []
    for node in below(syntax_tree(text)):
        if node.type in ("for_statement", "c_style_for_statement", "subscript"):
            return None
        if node.type == "variable_assignment":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            piece = _value(value) if value is not None else Piece("")
            if name is None or name.type != "variable_name":
                return None
            plain = source_of(name)
            if piece.known and not piece.loose:
                found.append((plain, piece.text))
            elif not own(plain) or (node.parent is not None and node.parent.type in _GIVING):
                return None
    return found


_GIVING = frozenset({"command", "declaration_command"})
"""Nodes whose assignments may reach a program."""
_COMMAND_NODES = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_SEQUENCES = frozenset({"list", "pipeline"})


def _commands(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _COMMAND_NODES or _stands_alone(node):
            yield node
        waiting.extend(reversed(node.children))


def _stands_alone(node: Node) -> bool:
    """Return True if a redirection belongs to no simple command.

    It belongs to a group, a `$(<file)`, or to nothing.
    """
    if node.type == "command_substitution":
        return node.child_by_field_name("redirect") is not None
    if node.type != "redirected_statement":
        return False
    inner = node.child_by_field_name("body")
    while inner is not None and inner.type in (*_SEQUENCES, "redirected_statement"):
        inner = inner.children[-1] if inner.type in _SEQUENCES else inner.child_by_field_name("body")
    return inner is None or inner.type not in _COMMAND_NODES


def _part(node: Node) -> Part:
    words = [_value(child) for child in _word_nodes(node)]
    if _ends_in_dash(node):
        words.append(Piece("-"))
    writes: list[Piece] = []
    reads: list[Piece] = []
    for redirect in _redirects(node):
        first, *rest = [_value(child) for child in redirect.children_by_field_name("destination")] or [Piece("", False)]
        if first.text.isdigit() and any(child.type in (">&", "<&") for child in redirect.children):
            words.extend(rest)
            continue  # it copies a descriptor
        (reads if any(child.type == "<" for child in redirect.children) else writes).append(first)
        words.extend(rest)
    for here in _redirects(node, "heredoc_redirect"):
        words.extend(map(_value, here.children_by_field_name("argument")))
    return Part(tuple(words), tuple(writes), tuple(reads))


def _ends_in_dash(node: Node) -> bool:
    """Return True if a lone `-` stands between a command and its redirections: the grammar leaves it out."""
    inner, around = node, node.parent
    while around is not None and around.type in _SEQUENCES and around.children[-1] == inner:
        inner, around = around, around.parent
    after = inner.next_sibling
    if node.type != "command" or around is None or around.type != "redirected_statement" or after is None:
        return False
    text, start = around.text or b"", around.start_byte
    return text[node.end_byte - start : after.start_byte - start].strip() == b"-"


def _word_nodes(node: Node) -> list[Node]:
    children = node.children if node.type in _COMMAND_NODES else []
    return [child for child in children if not child.type.endswith("redirect") and not _is_prefix(child)]


def _is_prefix(node: Node) -> bool:
    return node.type == "variable_assignment" and node.parent is not None and node.parent.type == "command"


def _redirects(node: Node, kind: str = "file_redirect") -> list[Node]:
    around, inner = [node], node
    # The grammar puts a redirection around a list or pipeline; for a shell it is the last command's.
    while node.type in _COMMAND_NODES and (outer := inner.parent) is not None:
        if outer.type == "redirected_statement":
            around.append(outer)
        elif outer.type not in _SEQUENCES or outer.children[-1] != inner:
            break
        inner = outer
    found = [child for outer in around for child in outer.children]
    # Behind a here-document, it holds the redirection.
    found += [child for here in found if here.type == "heredoc_redirect" for child in here.children]
    return [child for child in found if child.type == kind]


def parse_word(node: Node) -> Piece:
    """Return the value of one word of a syntax tree, as far as it is known without its line."""
    return _value(node)


def _value(node: Node) -> Piece:
    """Return the value of a word, with UNKNOWN for text that only the shell knows, except HOME and PWD."""
    raw = source_of(node)
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
            pieces = list(_pieces(node))
            text = "".join(piece.text for piece in pieces)
            return Piece(text, all(piece.known for piece in pieces), any(piece.loose for piece in pieces))
        case "export" | "declare" | "typeset" | "readonly" | "local" | "unset" | "unsetenv":
            return Piece(raw)
        case "simple_expansion" | "expansion" if raw.strip("${}") in ("HOME", "PWD"):
            return Piece("$HOME" if "HOME" in raw else ".")
        case "command_substitution" if raw.strip("$(`) ") == "pwd":
            return Piece(".")
        case "command_substitution" if (printed := prints_text(node)) is not None:
            return Piece(printed)
        case _:
            return Piece(UNKNOWN, False)


def _pieces(node: Node) -> Iterator[Piece]:
    """Yield the values in a word, and in a string the line ends that the grammar leaves out."""
    whole, end = node.text or b"", node.start_byte
    for child in node.children:
        if node.type == "string" and child.start_byte > end:
            yield Piece(whole[end - node.start_byte : child.start_byte - node.start_byte].decode("utf-8", "replace"))
        if child.type not in ('"', "$"):
            yield _value(child)
        end = child.end_byte


def _fed(node: Node) -> str:
    """Return the text of a here-document or here-string, as far as it is known."""
    if node.type == "heredoc_body":
        return source_of(node)
    return _value(node.children[-1]).text


def _ansi(body: str) -> str:
    """Return the value of `$'…'`."""
    try:
        return body.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except (UnicodeDecodeError, UnicodeEncodeError):
        return UNKNOWN


_SCRIPTED = frozenset(" \t\n;|&$`(<>")
_IN_PARENTHESES = re.compile(r"[\w./@\[\]-]*[\w./\]-](?:\([\w.-]+\)[\w./\[\]-]*)+")
"""A path such as `app/(auth)/page.tsx`: no script of `sh` or `bash`."""
_TESTS = ("[", "[[")
"""Commands whose name looks like a wildcard."""


def contents(text: str, completions: bool = True) -> tuple[tuple[Part, ...], bool]:
    """Return all commands of a line, including wrappers and nested shells, as deep as text can be followed.

    The second value is false if the line may run commands that were not found. With `completions`, the arguments of
    `complete` count as commands, and programs in the languages of other interpreters as shell text. A shell without a
    terminal runs none of it, and fish only shows how such a line would continue.
    """
    parts: list[Part] = []
    whole = _look(text, parts, _DEPTH, completions)
    # A word may continue in the next line, where the parser sees two words.
    if "\\\n" in text:
        whole = _look(text.replace("\\\n", ""), parts, _DEPTH, completions) and whole
    return tuple(parts), whole


def spellings(part: Part) -> Iterator[str]:
    """Yield the texts by which a rule may match the commands of this part, with wrappers removed."""
    line = part.texts
    if not line:
        return
    for form in (line, plain_git(line), [line[0].lower(), *line[1:]]):
        yield " ".join(form)
        yield shlex.join(form)
        if "/" in form[0]:
            yield " ".join([os.path.basename(form[0]), *form[1:]])
    for inner in _wrapped(line):
        yield " ".join(plain_git(inner))
        if "/" in inner[0]:
            yield " ".join([os.path.basename(inner[0]), *inner[1:]])


def runs(part: Part) -> Iterator[list[str]]:
    """Yield the commands that a part may run: its own, and the wrapped ones.

    They have no folders in names and no global options of git.
    """
    line = part.texts
    if line and line[0]:
        for words in (line, *_wrapped(line)):
            named = [os.path.basename(words[0]) or words[0], *words[1:]]
            yield plain_git(named)


def started(part: Part) -> list[str]:
    """Return the words of a part without global options of git.

    For a command that it starts in other circumstances, return those: `timeout 5 make` gives `make`.
    """
    line = part.texts
    inner = list(_wrapped(line)) if os.path.basename(line[0]) in PLAIN_WRAPPERS else []
    return plain_git(inner[-1] if inner else line)


def _wrapped(line: list[str]) -> Iterator[list[str]]:
    """Yield the commands that a wrapper may run: from each possible start, because an option's value looks like an
    operand.
    """
    name, arguments = os.path.basename(line[0]), line[1:]
    if marks := MARKS.get(name):
        yield from (arguments[index + 1 :] for index, word in enumerate(arguments[:-1]) if word in marks)
        return
    if name in ANYWHERE:
        yield from (arguments[index:] for index in range(len(arguments)))
    if not _wraps(name, arguments):
        return
    waiting, after_option = OPERANDS.get(name, 0), False
    for index, word in enumerate(arguments):
        yield arguments[index:]
        if word.startswith("-") or "=" in word.partition("/")[0]:
            after_option = word.startswith("-")
        elif after_option:
            after_option = False
        elif waiting:
            waiting -= 1
        else:
            yield from _wrapped(arguments[index:])
            return


def _wraps(name: str, arguments: list[str]) -> bool:
    running = RUNNING.get(name)
    if name == "find" and MARKS["find"].isdisjoint(arguments):
        return False  # it starts nothing without one of these whole words
    return name in WRAPPERS if running is None else not running.isdisjoint(arguments[:3])


_GIT_VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--attr-source"}
)


def plain_git(line: list[str]) -> list[str]:
    """Return `git -C x -c a=b push` as `git push`, and `git-push` too."""
    name = os.path.basename(line[0])
    if name.startswith("git-"):
        return ["git", name.removeprefix("git-"), *line[1:]]
    if name != "git":
        return line
    rest = line[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _GIT_VALUED else rest[1:]
    return [line[0], *rest]


def _look(text: str, parts: list[Part], depth: int, completions: bool) -> bool:
    anatomy = parse(text)
    whole = anatomy.whole
    if depth and any(_reads_script(part) for part in anatomy.parts):
        for text in anatomy.fed:
            whole = _look(text, parts, depth - 1, completions) and whole
    for part in anatomy.parts:
        parts.append(part)
        if not part.words:
            continue
        name = os.path.basename(part.words[0].text)
        named = part.words[0].known and (not part.words[0].loose or part.words[0].text in _TESTS)
        whole = whole and named and not _reads_script(part)
        if name == "complete" and not completions:
            continue
        if _wraps(name, part.texts[1:]) or _has_alias(part):
            whole = whole and (all(word.known for word in part.words) or _starts_known(name, part))
            whole = _look_inside(part, parts, depth, completions) and whole
        elif name in EVALUATING and any("$(" in word.text or "`" in word.text for word in part.words[1:]):
            whole = _look_inside(part, parts, depth, completions) and whole
    return whole


PLAIN_WRAPPERS = frozenset({"timeout", "gtimeout", "nice", "nohup", "time", "stdbuf"})


def _starts_known(name: str, part: Part) -> bool:
    """Return True if a wrapper without its own language starts a known program, whatever its arguments."""
    waiting = OPERANDS.get(name, 0) + 1
    for word in part.words[1:]:
        if name not in PLAIN_WRAPPERS or not word.known or word.loose or word.text.startswith("-"):
            return False
        waiting -= 1
        if not waiting:
            inner = os.path.basename(word.text)
            return not (inner in WRAPPERS or inner in EVALUATING or inner in RUNNING or inner in MARKS)
    return False


def _reads_script(part: Part) -> bool:
    """Return True if a shell, maybe behind wrappers, reads its commands from standard input."""
    line = part.texts
    if not line or not line[0]:
        return False
    inner = _wrapped(line) if os.path.basename(line[0]) in PASSING_INPUT else ()
    return any(map(reads_input, (line, *inner)))


def reads_input(words: Sequence[str]) -> bool:
    """Return True if a command is a shell that reads its commands from standard input.

    It has only options, or `-s`, or a name of the input as its script. The last also holds for `source`.
    """
    name = os.path.basename(words[0])
    if name not in SHELLS:
        return name in ("source", ".") and any(map(_INPUT.fullmatch, words[1:2]))
    left = [word for before, word in pairwise(words) if not _VALUED.fullmatch(before)]
    options = list(takewhile(lambda word: word.startswith(("-", "+")), left))
    script = left[len(options) :]
    return not script or _INPUT.fullmatch(script[0]) is not None or any(map(_FROM_INPUT.fullmatch, options))


_VALUED = re.compile(r"[-+]\w*[oO]|--(?:rcfile|init-file)")
"""Option of a shell that takes the next word."""
_FROM_INPUT = re.compile(r"-[^\Wc]*s[^\Wc]*")
"""`-s` among other options of a shell, but not beside `-c`, which has its commands in a word."""
_INPUT = re.compile(r"/dev/stdin|(?:/dev|/proc/(?:self|thread-self|\d+))/fd/0")


def _has_alias(part: Part) -> bool:
    """Return True if git may get an alias or a program on the command line: `git -c alias.x='!…' x`."""
    if part.words[0].text != "git" or not any(word.text.startswith(_GIT_SETTING) for word in part.words[1:]):
        return False
    from agentcli.system.git import reads_only  # only for git with settings

    rest = list(part.words[1:])
    while rest and rest[0].text in ("-c", "-C", "-P", "--no-pager"):
        option = rest.pop(0).text
        given = rest.pop(0) if option in _GIT_VALUED and rest else None
        if option == "-c" and not (given and given.known and reads_only(given.text.partition("=")[0].lower())):
            return True
    if rest and rest[0].text == "config" and any(" " in word.text for word in rest):
        return any("." in word.text and not reads_only(word.text.lower()) for word in rest[1:])
    return any(word.text.startswith("alias.") for word in rest[:2]) or (bool(rest) and rest[0].text.startswith("-"))


_GIT_SETTING = ("-c", "alias.", "config")


def _own_language(words: list[str]) -> int:
    """Return where the arguments of an interpreter begin that is no shell: `uv run python -c 'import x'`.

    Return the number of words if there is none, or if a program after it runs commands.
    """
    names = list(map(os.path.basename, words))
    runs = [name in WRAPPERS or name in RUNNING for name in names]
    if any(found and name not in _EXECUTING for name, found in zip(names, runs, strict=True)):
        return len(words)
    last = max((place for place, found in enumerate(runs) if found), default=0)
    for place, word in enumerate(words[1:], 1):
        if is_interpreter(word) and not runs[place]:
            return place + 1 if place > last else len(words)
    return len(words)


_EXECUTING = PLAIN_WRAPPERS.union(
    ("env", "exec", "command", "xargs", "find", "mise"),
    ("uv", "poetry", "pipenv", "conda", "mamba", "micromamba", "pixi", "hatch", "pdm", "rye"),
)
"""Wrappers that start a program with the words that they get."""


def starts_interpreter(part: Part) -> bool:
    """Return True if a command may start an interpreter that is no shell."""
    words = part.texts
    return bool(words) and _own_language(words) < len(words)


def _look_inside(part: Part, parts: list[Part], depth: int, completions: bool) -> bool:
    whole = True
    program = len(part.words) if completions else _own_language(part.texts)
    shells = any(os.path.basename(text) in SHELLS for text in part.texts)
    for word in part.words[1:program]:
        if word.text in (UNKNOWN, ";") or _SCRIPTED.isdisjoint(word.text):
            continue
        if not shells and _IN_PARENTHESES.fullmatch(word.text):
            continue
        if depth == 0:
            return False
        joined = word.text[2:] if word.text.startswith("-") else ""
        for script in filter(None, dict.fromkeys((word.text, word.text.partition("=")[2].lstrip("!"), joined))):
            whole = _look(script, parts, depth - 1, completions) and whole
    evaluated = " ".join(word.text for word in part.words[1:])
    if part.words[0].text == "eval" and depth:
        whole = _look(evaluated, parts, depth - 1, completions) and whole
    return whole
