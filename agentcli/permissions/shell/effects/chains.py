"""Division of a line into pieces that mean the same in separate shells.

It serves lines whose parts need different sandboxes.

Git commits in a sandbox that may write to the repository; other programs run where it is closed. A piece is judged, and
run, by its own text. A wrong division would change the line's effect, but nothing unjudged would run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.tool import LinePart
from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.effects.containable import Containment
from agentcli.permissions.shell.effects.elsewhere import PROGRAMS
from agentcli.permissions.shell.effects.git_repositories import records_files, renames_blindly
from agentcli.permissions.shell.effects.pushing import why_published
from agentcli.permissions.shell.effects.taking import line_changes_no_file, line_makes_no_links
from agentcli.permissions.shell.programs.known_programs import SHELLS, limited_program, word_set
from agentcli.permissions.shell.syntax.parse import (
    Piece,
    below,
    contents,
    parse,
    parse_word,
    plain_git,
    runs,
    source_of,
    syntax_tree,
)
from agentcli.permissions.shell.syntax.written_out import constants
from agentcli.system import probe

if TYPE_CHECKING:
    from tree_sitter import Node


_MOST = 16
"""Maximum parts: each has its own sandbox, whose description takes some kilobytes."""
_MAKING = word_set("tag branch fetch pull stash")
_STORING = word_set("add branch commit tag")
"""Commands of git that leave the work tree alone."""


def in_parts(text: str, workspace: Workspace, judged: Callable[[str], Containment]) -> Containment | None:
    """Judge a line part by part, each as in its own sandbox; None if it can't be divided.

    Every part must be allowed by itself.
    """
    given = constants(text)
    before = given[0] if given is not None else 0
    found = [replace(each, text=f"{text[:before]}{each.text}") for each in pieces(text[before:])]
    if not 1 < len(found) <= _MOST or renames_blindly([part.texts for part in contents(text)[0] if part.words]):
        return None
    if found[0].moves and not probe.is_dir(Path(os.path.normpath(workspace.cwd / os.path.expanduser(found[0].moves)))):
        return None
    parts: list[LinePart] = []
    linked = wrote = False
    for segment in found:
        verdict = judged(segment.text)
        ran = any(not part.records for part in parts)
        if segment.joint == "|" and _runs_text(segment.text):
            return None  # it would come from elsewhere
        if verdict.why or verdict.parts or (verdict.records and ran and _takes_content(segment.text)):
            return None
        if (verdict.takes and linked) or (verdict.settled and wrote):
            return None
        linked = linked or not (verdict.reads or line_makes_no_links(segment.text))
        wrote = wrote or not (verdict.reads or line_changes_no_file(segment.text))
        if (verdict.switched and any(map(_switches, parts))) or (verdict.fresh and any(map(_makes_refs, parts))):
            return None
        if verdict.outside and (why := why_published(segment.text, [part.text for part in parts], workspace)):
            return Containment(why)
        late = ran and (verdict.records or verdict.outside)
        parts.append(LinePart(segment.text, segment.joint, verdict.records, late, verdict.outside, segment.keeps))
    stores = all(words[1:2] and words[1] in _STORING for part in parts if part.records for words in _git(part.text))
    return Containment(records=any(part.records for part in parts), parts=tuple(parts), stores=stores)


def _runs_text(text: str) -> bool:
    """Return True if a piece may run a text that it reads."""
    parts, whole = contents(text)
    return not whole or any(words[0] in SHELLS for part in parts for words in runs(part))


def _makes_refs(part: LinePart) -> bool:
    """Return True if git may make a tag or a branch in a part without switching to it."""
    return any(words[1:2] and words[1] in _MAKING for words in _git(part.text))


def _switches(part: LinePart) -> bool:
    """Return True if git may switch to another branch in a part."""
    return part.records and any(
        words[1:2] and words[1] not in ("add", "commit", "tag", "mv", "rm") for words in _git(part.text)
    )


def _git(text: str) -> Sequence[Sequence[str]]:
    lines = (plain_git(part.texts) for part in contents(text)[0] if part.words)
    return [words for words in lines if words[0] == "git"]


def _takes_content(text: str) -> bool:
    """Return True if git records or moves a file that an earlier part may have replaced by a link."""
    return any(map(records_files, _git(text)))


_STATEFUL = word_set("""
. alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown enable eval exec exit export fc fg
getopts hash history jobs kill let local logout mapfile popd printf pushd read readarray readonly return set shift shopt source suspend times
trap typeset ulimit umask unalias unset wait
""")
"""Builtins of bash that may change, read or end its state: all except those that only print or test."""
_JOINTS = ("&&", "||")
_ALONE = frozenset({"command", "pipeline", "subshell", "negated_command", "test_command", "redirected_statement"})
_HERE_NODES = frozenset({"<<", "heredoc_start", "heredoc_body", "heredoc_end"})
_STATE = re.compile(
    r"_|BASH.*|FUNCNAME|PIPESTATUS|OLDPWD|PPID|SECONDS|LINENO|RANDOM|SRANDOM|EPOCH.*|SHLVL|DIRSTACK|OPT.*|REPLY|[0-9]+"
)
"""Variables that the shell itself sets while it runs a line."""
_ASSIGNING = frozenset({"=", ":=", "?", ":?"})
"""Operators in `${…}` that set a variable, or end the shell."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A pipeline of a line."""

    text: str
    joint: str = ""
    """The operator before it: `&&`, `||`, `|` or `;`, empty for the first."""
    moves: str = ""
    """The folder that it changes to first, as the line did before it."""
    keeps: bool = False
    """True if it writes the output of the piece before it into a file, with that piece's exit code."""


def pieces(text: str) -> tuple[Segment, ...]:
    """Divide a line like `segments`.

    What a command that may act outside the sandbox prints into a file is written there by another piece.
    """
    found = segments(text) or (Segment(text),)
    return tuple(piece for each in found for piece in _printed_apart(each))


def _printed_apart(segment: Segment) -> tuple[Segment, ...]:
    """Return the two pieces of a segment whose command may act outside and prints into a file; else the segment."""
    data = segment.text.encode("utf-8", "surrogatepass")
    node = syntax_tree(segment.text)
    while node.named_children and node.type in ("program", "list"):
        node = node.named_children[-1]
    if node.type != "redirected_statement" or node.end_byte != len(data.rstrip()):
        return (segment,)
    command, *redirects = node.named_children
    while command.type == "list":
        command = command.named_children[-1]  # the redirection belongs to the last command
    target = _printed_to(redirects[0]) if redirects else ""
    rest = [_written(child) for child in redirects[1:]]
    if _program(command) not in PROGRAMS - {"git"} or not target or not _ERRORS.issuperset(rest):
        return (segment,)
    before, prints = (data[:index].decode("utf-8", "surrogatepass") for index in (command.start_byte, command.end_byte))
    return (
        replace(segment, text=" ".join([prints, *rest])),
        Segment(f"{before}cat {target}", "|", segment.moves, keeps=True),
    )


def _printed_to(node: Node) -> str:
    """Return a redirection of the output to a known file as it is written: `> out.txt`; else an empty text."""
    target = node.child_by_field_name("destination")
    piece = parse_word(target) if node.type == "file_redirect" and target is not None else None
    if piece is None or not piece.known or piece.loose or piece.text == os.devnull:
        return ""
    return _written(node) if node.children[0].type in (">", ">>") else ""


def _program(node: Node) -> str:
    """Return the program of a simple command without folders, behind `timeout` and the like; empty for any other node."""
    if node.type != "command" or node.child_by_field_name("name") is None:
        return ""
    words = [_written(child) for child in node.named_children if child.type != "variable_assignment"]
    return limited_program(words)


def _written(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogatepass")


_ERRORS = frozenset({"2>&1", "2>/dev/null", "2> /dev/null"})
"""Redirections of errors that mean the same before a pipe and before a file."""


def segments(text: str) -> tuple[Segment, ...]:
    """Divide a line into pipelines.

    Return nothing if it has only one, or if one changes the shell's state for a later one.

    The first may be `cd FOLDER`: every other piece then begins with it. The caller checks that the folder exists.
    """
    data = text.encode("utf-8", "surrogatepass")
    root = syntax_tree(text)
    spans = _divided(root)
    if root.has_error or spans is None or len(spans) < 2 or any(map(_shows_state, below(root))):
        return ()
    found = _joined(
        [Segment(data[start:end].decode("utf-8", "surrogatepass"), joint) for start, end, joint in spans], data, spans
    )
    if [words for one in found for words in _words(one.text)] != list(_words(text)):
        return ()
    folder = _moved_to(found[0].text)
    if any(_stateful(each.text) for each in found[bool(folder) : -1]):
        return ()
    if not folder:
        return tuple(found)
    moved = [replace(each, text=f"{found[0].text} && {each.text}", moves=folder) for each in found[1:]]
    if len(moved) < 2:
        return ()
    return (replace(moved[0], joint=""), *moved[1:])


def _joined(found: Sequence[Segment], data: bytes, spans: Sequence[tuple[int, int, str]]) -> list[Segment]:
    """Return the pieces of a line. A piece includes those whose state it changes: `a; cd x && b` has two.

    They stay apart if some of them would run even if the ones before that piece fail.
    """
    first = next((number for number, each in enumerate(found) if number and _stateful(each.text)), len(found))
    joints = [each.joint for each in found[first:]]
    if len(joints) < 2 or not (joints[0] == ";" or set(joints) == {"&&"}):
        return list(found)
    text = data[spans[first][0] : spans[-1][1]].decode("utf-8", "surrogatepass")
    return [*found[:first], Segment(text, joints[0])]


def _words(text: str) -> Iterator[tuple[Piece, ...]]:
    """Yield the words of each command; a redirection may belong to a whole list, but not to its last piece."""
    return (part.words for part in parse(text).parts if part.words)


def _divided(root: Node) -> list[tuple[int, int, str]] | None:
    """Return the first and last byte of each pipeline with the operator before it; None if there is anything else."""
    spans: list[tuple[int, int, str]] = []
    for node in root.children:
        if node.type in (";", "\n", "comment"):
            continue
        found = _pipelines(node, ";" if spans else "")
        if found is None:
            return None
        spans += found
    return spans


def _pipelines(node: Node, joint: str) -> list[tuple[int, int, str]] | None:
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    heres = [child for child in node.children if child.type == "heredoc_redirect"]
    if any(child.type not in _HERE_NODES for here in heres for child in here.children):
        return None
    if body is not None and body.type in ("list", "pipeline"):
        # The redirection belongs to the last command.
        found = _pipelines(body, joint)
        return [*found[:-1], (found[-1][0], node.end_byte, found[-1][2])] if found else None
    if node.type == "list":
        if len(node.children) != 3 or node.children[1].type not in _JOINTS:
            return None
        left = _pipelines(node.children[0], joint)
        right = _pipelines(node.children[2], node.children[1].type)
        return [*left, *right] if left and right else None
    inner = node.children[0].child_by_field_name("body") if node.type == "pipeline" else None
    begins = inner is not None and inner.type in ("list", "pipeline")
    if node.type == "pipeline" and (begins or node.children[-1].type == "list"):
        # The parser reads `a && b | c 2>&1 | d && e` as one pipeline; the shell reads a list of pipelines.
        first = _pipelines(inner, joint) if begins and inner is not None else [(node.start_byte, 0, joint)]
        last = _pipelines(node.children[-1], "") if node.children[-1].type == "list" else [(0, node.end_byte, "")]
        if not first or not last or [each[2] for each in last[1:2]] == ["|"]:
            return None
        return [*first[:-1], (first[-1][0], last[0][1], first[-1][2]), *last[1:]]
    if node.type == "pipeline" and (apart := _apart(node)):
        return [(node.start_byte, apart[0], joint), (apart[1], node.end_byte, "|")]
    whole = node.type in _ALONE and not any(child.type == "list" for child in node.children if node.type != "subshell")
    return [(node.start_byte, node.end_byte, joint)] if whole else None


def _apart(pipeline: Node) -> tuple[int, int] | None:
    """Return where the first command of a pipeline ends and the rest begins.

    Return None if the first may not act outside the sandbox.
    """
    first, *rest = pipeline.children
    while first.type == "redirected_statement" and first.named_children:
        first = first.named_children[0]
    joints = {child.type for child in pipeline.children[1::2]}
    if _program(first) not in PROGRAMS - {"git"} or joints != {"|"}:
        return None
    return pipeline.children[0].end_byte, rest[1].start_byte


def _shows_state(node: Node) -> bool:
    """Return True if a node starts something in the background, or uses the shell's recorded state."""
    match node.type:
        case "&" | "arithmetic_expansion" | "special_variable_name":
            return True
        case "variable_name":
            return _STATE.fullmatch(source_of(node)) is not None
        case "expansion":
            return any(child.type in _ASSIGNING for child in node.children)
        case _:
            return False


def _commands(text: str) -> Iterator[Node]:
    """Yield the simple commands that run in the shell itself, not in a child."""
    for node in syntax_tree(text).children:
        while node.type in ("redirected_statement", "negated_command") and node.named_children:
            node = node.named_children[0]
        if node.type == "command":
            yield node


def _stateful(text: str) -> bool:
    """Return True if a piece may change the state of its shell, or begins the repository of later pieces."""
    for node in _commands(text):
        name = node.child_by_field_name("name")
        piece = parse_word(name) if name is not None else None
        if piece is None or not piece.known or piece.loose or piece.text in _STATEFUL:
            return True
    return any(words[1:2] == ["init"] for words in _git(text))


def _moved_to(text: str) -> str:
    """Return the folder of a plain `cd FOLDER`; empty for anything else."""
    parts = parse(text).parts
    words = parts[0].words if len(parts) == 1 and not (parts[0].writes or parts[0].reads) else ()
    plain = len(words) == 2 and words[0].text == "cd" and all(word.known and not word.loose for word in words)
    return words[1].text if plain and not words[1].text.startswith("-") and next(_commands(text), None) else ""
