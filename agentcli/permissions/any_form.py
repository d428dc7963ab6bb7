"""Lines of any form, such as loops and conditions, in which every command only reads.

Nothing but the line itself says that such a line does no harm. So only plain syntax counts, and each word has a certain value.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.permissions.any_code import Judge, set_by
from agentcli.permissions.shell.command_line import CommandLine
from agentcli.permissions.shell.effects.reading import STREAMS
from agentcli.permissions.shell.programs.forge import forge_host
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.listing import placed
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Command, below, source_of, syntax_tree
from agentcli.permissions.shell.syntax.state import Run
from agentcli.permissions.shell.syntax.strict import NotPlain, odd_letter, read_plain
from agentcli.permissions.shell.syntax.values import BELOW, EXPANDED, NUMBER

if TYPE_CHECKING:
    from tree_sitter import Node

_STATEMENTS = word_set("""
program list pipeline command negated_command redirected_statement subshell for_statement while_statement if_statement elif_clause else_clause do_group
variable_assignment command_name concatenation string simple_expansion command_substitution unary_expression binary_expression
""")
"""Nodes of a syntax tree that may have other nodes."""
_LEAVES = {
    "word": r"[\w./@%+,:=*?^-]+|\\;",
    "number": r"-?\d+",
    "string_content": r"(?:[^\\`!]|\\[\w.|()+*?<>/-])*",
    "raw_string": r"'[^']*'",
    "variable_name": r"\w+",
    "special_variable_name": r"[?#$]",
    "test_operator": r"-[abcdefghknprstuwxzLNOS]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)",
    "extglob_pattern": r"[\w.*/-]+",
    "file_descriptor": r"[12]",
    "comment": r"#[^\n]*",
}
"""Nodes without others, and their text."""
_WHOLE = {
    "expansion": r"\$\{\w+\}",
    "arithmetic_expansion": r"\$\(\([\d\s()+*/%-]*\)\)",
    "file_redirect": r"[12]?>\s*/dev/null|&>\s*/dev/null|[12]?>&[12]|<\s*[\w./-]+",
    "test_command": r"\[ [^\n]+|\[\[(?!.*(?:=~|\s-(?:eq|ne|lt|le|gt|ge)\s))[^\n]+",
}
"""Nodes that count only with such a text."""
_SIGNS = word_set('; && || | ( ) $( $ ${ } $(( )) " = == != [ ] [[ ]] ! < > >& &> + - * / %') | {"\n", " $"}
_KEYWORDS = word_set("for in do done while until if then elif else fi")
_NAME = re.compile(r"[a-z_]\w*")
_OF_GH = re.compile(r"\{(owner|repo|branch)\}")
"""Words that `gh api` fills in. In braces without a comma or dots they mean themselves to every shell."""
_TAKING = (("read",), ("mapfile",), ("readarray",))
_UNSURE = word_set("env pushd popd chdir")
"""Commands that are not followed: `env` sets variables, and shells differ in where the others move."""


def only_asks_forges(line: CommandLine) -> bool:
    """Return True if a line of any form, such as a loop, only reads from forges and in the workspace."""
    found = _plain_judge(line)
    workspace, reader = line.workspace, line.reader
    if found is None or workspace is None or reader is None or not workspace.gated:
        return False

    def asks(run: Run) -> bool:
        known = run.words[:1] == ("gh",) and not any(UNKNOWN in word or BELOW in word for word in run.words)
        quiet = not run.reads and not run.env and all(STREAMS.fullmatch(to) or to.isdigit() for to in run.writes)
        if not known or not quiet or not all(map(found.is_place, run.folders)) or reader.chosen_here("gh", run.folders):
            return False
        if workspace.withholds(forge_host(run.words, run.folders, workspace.env)):
            return False
        return reader.asks_forge(Command(run.words, "", True), run.folders)

    runs = list(found.runs())
    return any(map(asks, runs)) and all(asks(run) or _covers(found, run) for run in runs)


def only_reads(line: CommandLine) -> bool:
    """Return True if every command of a line of any form only reads permitted files."""
    found = _plain_judge(line)
    return found is not None and bool(found.followed) and all(_covers(found, run) for run in found.runs())


def _covers(judge: Judge, run: Run) -> bool:
    """Return True if a command only reads. A number that only the shell knows may be part of the name of any file."""
    words, reader = run.words, judge.line.reader
    numbers = any(NUMBER in word for word in words[1:]) and words[0] not in _PRINTING
    if words[:1] == ("mktemp",) or (numbers and (words[0] != "git" or words[1].startswith("-") or _FILES in words)):
        return False
    if words[:1] == ("test",) and any(UNKNOWN in word for word in words):
        return False  # as several words, an unknown one may be an operator
    if words[:1] == ("wait",) and not all(map(str.isdecimal, words[1:])):
        return False
    if reader is None or (words and reader.chosen_here(words[0], run.folders)):
        return False
    if words[:1] == ("cd",) and not all(judge.is_place(at) for at in _reached(words, run.folders, judge)):
        return False  # the shell stays there
    return judge.covers(run)


def _reached(words: Sequence[str], folders: Sequence[Path], judge: Judge) -> Iterator[Path]:
    assert judge.line.workspace is not None
    for target in words[1:] or ("~",):
        yield from (placed(target, folder, judge.line.workspace) for folder in folders)


_PRINTING = ("echo", "printf", "test", "[", "[[")
_FILES = "--no-index"
"""Option with which git reads files that are in no repository."""


def _plain_judge(line: CommandLine) -> Judge | None:
    """Return the judge of a line without rules.

    Return None if its syntax is not plain, or it uses other variables than its own.
    """
    workspace = line.workspace
    if workspace is None or line.reader is None or line.protected or not _is_plain(line.text):
        return None
    found, limits = Judge((), line, sure=True), workspace.limits
    if not found.exact or len(line.text) > limits.characters or len(found.followed or ()) > limits.parts:
        return None
    read = [run.words for run in found.followed or () if run.words[:1] in _TAKING]
    if any(words[:2] != ("read", "-r") for words in read) or any(map(_is_unsure, found.followed or ())):
        return None
    own = frozenset(set_by(line.text)).union(*(words[2:] for words in read))
    if not all(_NAME.fullmatch(name) and name.islower() and name not in workspace.env for name in own):
        return None
    return found if all(_uses_own(node, own) for node in below(syntax_tree(line.text))) else None


def _is_unsure(run: Run) -> bool:
    """Return True for a command that is not followed, and for a `cd` that fails if a file is missing."""
    name = run.words[0] if run.words else ""
    return name in _UNSURE or (name == "cd" and bool(run.reads))


def _uses_own(node: Node, own: Container[str]) -> bool:
    """Return True unless a node is a variable that the line has not set, or one of programs."""
    name = source_of(node)
    if node.type != "variable_name":
        return True
    return not name.endswith("_proxy") and (name in own or name in ("HOME", "PWD", "IFS"))


def _is_plain(text: str) -> bool:
    """Return True if a line has only syntax that every parser reads alike."""
    text = _OF_GH.sub(r"\1", text)
    root = syntax_tree(text)
    nodes = [root, *below(root)]
    if root.has_error or odd_letter(text) or not all(map(_is_known, nodes)):
        return False
    leaves = [node for node in nodes if not node.child_count]
    data = text.encode("utf-8", "surrogatepass")
    gaps = [data[: leaves[0].start_byte], *(data[left.end_byte : right.start_byte] for left, right in pairwise(leaves))]
    if any(gap.strip(b" \t\n") for gap in (*gaps, data[leaves[-1].end_byte :])):
        return False
    return all(_is_one(node, data) for node in nodes if _is_simple(node)) and not any(map(_has_pattern, nodes))


def _is_known(node: Node) -> bool:
    text, above = source_of(node), node.parent
    if not node.is_named:
        return node.type in _SIGNS | _KEYWORDS
    if pattern := _LEAVES.get(node.type) or _WHOLE.get(node.type):
        return re.fullmatch(pattern, text, re.DOTALL | re.ASCII if node.type == "word" else re.DOTALL) is not None
    if node.type == "variable_assignment" and above is not None and above.type == "command":
        return text == "IFS="
    if node.type == "command_name":
        return [child.type for child in node.children] == ["word"]
    if node.type in EXPANDED and above is not None and _in_test(above):
        return _COUNTED.match(text) is not None  # as several words, another value may be an operator
    return node.type in _STATEMENTS


def _has_pattern(node: Node) -> bool:
    """Return True if a pattern of file names may give a command options, a folder or a format."""
    if node.type != "command" or _NAMELESS.isdisjoint(source_of(node).split()):
        return False
    words = (each for each in below(node) if each.type == "word")
    return any(not {"*", "?"}.isdisjoint(source_of(word)) for word in words)


_NAMELESS = word_set("gh cd printf")
"""Commands, also behind `nice` and the like, whose patterns are not replaced by names of files."""


def _is_simple(node: Node) -> bool:
    """Return True for one command, also for `[ … ]`, where signs such as `>` and `&&` are the shell's."""
    return node.type == "command" or (node.type == "test_command" and not source_of(node).startswith("[["))


def _in_test(node: Node) -> bool:
    """Return True for a node in `[ … ]`, where the shell divides values into words."""
    while node.type in ("unary_expression", "binary_expression", "concatenation"):
        assert node.parent is not None
        node = node.parent
    return node.type == "test_command" and _is_simple(node)


def _is_one(node: Node, data: bytes) -> bool:
    """Return True if a command, with plain words for its values, is one command for the strict parser, too."""
    text, end = b"", node.start_byte
    for inner in _values_in(node):
        text += data[end : inner.start_byte] + b"x"
        end = inner.end_byte
    found = read_plain((text + data[end : node.end_byte]).decode("utf-8", "replace").removeprefix("IFS= "))
    return not isinstance(found, NotPlain) and len(found) == 1


def _values_in(node: Node) -> list[Node]:
    """Return the outermost expansions below a node, in order."""
    found: list[Node] = []
    for child in node.children:
        found += [child] if child.type in EXPANDED else _values_in(child)
    return found


_COUNTED = re.compile(r"\$(?:[?#]|\(\()")
"""Beginning of an expansion whose value is one number."""
