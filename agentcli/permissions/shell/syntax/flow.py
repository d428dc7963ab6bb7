"""Commands that a line would run, followed through folders, variables, loops, functions and pipes, with the values of their words."""

from __future__ import annotations

import functools
import glob
import itertools
import math
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.programs.known_programs import (
    MOVES,
    PASSING_INPUT,
    SHELLS,
    WRAPPERS,
    is_interpreter,
    word_set,
)
from agentcli.permissions.shell.programs.listing import listed, prints_commit
from agentcli.permissions.shell.syntax.here_texts import scripts_in
from agentcli.permissions.shell.syntax.inner_commands import Script, started_by
from agentcli.permissions.shell.syntax.parse import UNKNOWN, below, reads_input, source_of, syntax_tree
from agentcli.permissions.shell.syntax.state import (
    MOST_FOLDERS,
    Run,
    State,
    TooMuchError,
    after_call,
    after_move,
    after_read,
    bound,
    either,
    with_arguments,
    with_unknown_arguments,
    with_unknown_variables,
)
from agentcli.permissions.shell.syntax.values import EXPANDED, MOST, NUMBER, QUOTED, UNSET, Values, merged, word_values
from agentcli.system import probe

if TYPE_CHECKING:
    from tree_sitter import Node


_DEPTH = 8
_RUNS = 2_000
_STEPS = 30_000
"""Maximum visits to nodes of syntax trees; a node counts each time its commands may run."""


def runs_of(text: str, workspace: Workspace) -> list[Run] | None:
    """Return every command that a line may run, with its words' values; None if too deep or too much."""
    follower = _Follower(workspace)
    return None if _followed(text, workspace, follower) is None else follower.runs


def surely_run(text: str, workspace: Workspace) -> list[Run] | None:
    """Return every command that a line may run, where each word that is not `UNKNOWN` has no other value.

    `runs_of` finds what could do harm. Its guesses of what commands print prove nothing.
    """
    follower = _Follower(workspace, sure=True)
    return None if _followed(text, workspace, follower) is None else follower.runs


def end_of(text: str, workspace: Workspace) -> tuple[tuple[Path, ...], int, bool] | None:
    """Return the folders where a line may end, its moves, and True if it begins with one; or None.

    All commands joined by `&&` count as successful.
    """
    follower = _Follower(workspace, succeeds=True)
    if (state := _followed(text, workspace, follower)) is None:
        return None
    moves = [bool(run.words) and run.words[0] in MOVES for run in follower.runs]
    return state.folders, sum(moves), moves[:1] == [True]


def _followed(text: str, workspace: Workspace, follower: _Follower) -> State | None:
    exact, home = workspace.shell_env(), str(workspace.home)
    known = {**workspace.env, "HOME": home} if exact is None else {"HOME": home, **exact}
    variables: dict[str, Values] = {name: (value,) for name, value in known.items()}
    variables |= {"PWD": (str(workspace.cwd),), "OLDPWD": (UNKNOWN,)}
    if exact is not None and "BASH_ENV" not in exact:
        variables[UNSET] = ("",)
    if workspace.sandboxed:
        variables.setdefault("TMPDIR", (tempfile.gettempdir(),))
    if follower.sure:
        unknown = dict.fromkeys(_named_in(text), (UNKNOWN,))
        variables = {**unknown, **{name: variables[name] for name in ("HOME", "PWD")}}
    try:
        return follower.text(text, State((workspace.cwd,), variables, {}), _DEPTH)
    except (RecursionError, TooMuchError):
        return None


@dataclass(frozen=True, slots=True)
class _Redirections:
    """Redirections of a statement: the files that it writes and reads, and the names and the text on its input."""

    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    fed: Values | None = ()
    script: str = ""
    words: tuple[Node, ...] = ()
    """Words of the command itself that follow a target or a mark."""
    others: tuple[Node, ...] = ()
    """Other commands that stand behind the mark of a here-document."""


class _Follower:
    """Walker of syntax trees that collects runs. A state is a value: each step returns the state after a branch or subshell."""

    def __init__(
        self, workspace: Workspace, steps: Iterator[int] | None = None, *, sure: bool = False, succeeds: bool = False
    ) -> None:
        """With `sure`, no value is a guess. With `succeeds`, no part after `&&` is skipped."""
        self.workspace = workspace
        self.sure, self._succeeds = sure, succeeds
        self.runs: list[Run] = []
        self._seen: set[int] = set()
        """Numbers of the nodes of the text whose children were followed."""
        self._steps = itertools.count() if steps is None else steps
        self._fixed = set[str]()
        """Variables that may be read-only: an assignment may fail."""
        self._converted = set[str]()
        """Variables with an attribute by which an assigned value changes, such as `declare -u`."""

    def text(self, text: str, state: State, depth: int) -> State:
        if not depth:
            raise TooMuchError
        root = syntax_tree(text)
        for node in below(root):
            if node.type == "declaration_command":
                self._declare(node)
        around, self._seen = self._seen, set()
        after = self.node(root, state, depth)
        self._others(root, either(state, after), depth)
        self._seen = around
        if root.has_error:
            for words, writes in rough_commands(text):
                after = either(after, self._run(words, root, after, {}, depth))
                self.runs.append(Run((), after.folders, writes))
        return after

    def _others(self, root: Node, state: State, depth: int) -> None:
        """Follow what no command has among its words: in here-documents, subscripts and targets of redirections."""
        for node in below(root):
            if node.type in ("command_substitution", "process_substitution") and node.id not in self._seen:
                self.node(node, state, depth)
            for script in scripts_in(node):
                self.text(script, state, depth - 1)

    def node(self, node: Node, state: State, depth: int) -> State:
        if next(self._steps) > _STEPS or len(self.runs) > _RUNS:
            raise TooMuchError
        match node.type:
            case "command" | "test_command" | "unset_command":
                return self._command(node, state, depth)
            case "subshell" | "command_substitution" | "process_substitution":
                self._children(node, state, depth)
                return state
            case "pipeline":
                return self._pipeline(node, state, depth)
            case "redirected_statement":
                return self._redirected(node, state, depth)[1]
            case "variable_assignment":
                return self._assigned(node, state, depth)
            case "declaration_command":
                after = self._children(node, state, depth)
                if node.children[0].type == "local" and not _in_function(node):
                    after = either(state, after)  # it fails there
                if _REFERS.search(source_of(node)):
                    after = _with_references(after, node)
                return with_unknown_variables(after) if any(map(_names_variables, node.named_children)) else after
            case "for_statement":
                return self._loop(node, state, depth)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is None or body is None:
                    return state
                return replace(state, functions={**state.functions, source_of(name): body})
            case "if_statement" | "case_statement":
                whole = any(child.type == "else_clause" for child in node.children)
                return either(state, self._branches(node, state, depth), unset=not whole)
            case "while_statement":
                return self._rounds(lambda before: self._branches(node, before, depth), state)
            case "c_style_for_statement":
                return self._rounds(lambda before: self._children(node, before, depth), state)
            case "list" if self.sure:
                return self._branches(node, state, depth)
            case "list":
                return self._chain(node, state, depth)[1]
            case "word" | "comment" | "heredoc_body":
                return state
            case _:
                return self._children(node, state, depth)

    def _children(self, node: Node, state: State, depth: int) -> State:
        self._seen.add(node.id)
        for child in node.children:
            state = self.node(child, state, depth)
        return state

    def _branches(self, node: Node, state: State, depth: int) -> State:
        """Follow the parts of a node that may be skipped: after `else`, `elif` and `||`, and each case."""
        after, skipped = state, False
        for child in node.children:
            skipped = skipped or child.type in ("elif_clause", "else_clause", "case_item", "||", "&&")
            if skipped and child.is_named:
                after = either(after, self.node(child, either(state, after, unset=True), depth), unset=True)
            elif not skipped:
                after = self.node(child, after, depth)
        return after

    def _chain(self, node: Node, state: State, depth: int) -> tuple[State, State]:
        """Follow commands joined by `&&` or `||`. Return the state if all succeed, and that if any of them may fail."""
        parts = () if self.sure else _chained(node)
        if not parts:
            if node.type == "redirected_statement":
                after, ended = self._redirected(node, state, depth)
            else:
                after = ended = self.node(node, state, depth)
            stays = after.folders != state.folders and not all(map(probe.is_dir, after.folders))
            return after, either(state, after) if stays else ended
        self._seen.add(node.id)
        succeeded, failed = self._chain(parts[0], state, depth)
        if any(child.type == "||" for child in node.children):
            after = self.node(parts[1], either(state, failed, unset=True), depth)
            return (either(succeeded, after, unset=True),) * 2
        last, ended = self._chain(parts[1], succeeded, depth)
        return last, last if self._succeeds else either(failed, ended, unset=True)

    def _pipeline(self, node: Node, state: State, depth: int) -> State:
        first, *others = node.named_children
        alone = _last_of_list(first)
        if alone is not None:
            state = self._before_last(first, state, depth)
        fed: Values | None = state.fed
        for child in (first, *others):
            before = len(self.runs)
            if child is first and alone is not None:
                self._redirected(first, replace(state, fed=fed), depth, alone)
            else:
                self.node(child, replace(state, fed=fed), depth)
            fed = self._listed(child, replace(state, fed=fed), before)
        return state

    def _before_last(self, node: Node, state: State, depth: int) -> State:
        """Follow the commands of a list before its last one, which run in the shell itself."""
        body = node.child_by_field_name("body")
        assert body is not None
        after = self._chain(body.children[0], state, depth)[0]
        return either(state, after, unset=True) if body.children[1].type == "||" else after

    def _listed(self, node: Node, state: State, before: int) -> Values | None:
        """Return the names that a stage of a pipe prints, or None if they are unknown."""
        names: list[str] = []
        for run in self.runs[before:]:
            if run.behind:
                continue
            found = listed(run.words, state.fed, run.folders, self.workspace)
            if found is None:
                return None
            names += found
        return tuple(dict.fromkeys(names))[:MOST] if node.type == "command" or names else None

    def _redirected(self, node: Node, state: State, depth: int, alone: Node | None = None) -> tuple[State, State]:
        """Follow a statement with redirections, or only its part `alone`.

        Return the state if it succeeds, and that if a command or the opening of a file may fail.
        """
        body = alone or node.child_by_field_name("body")
        found = self._redirections(node, state, depth)
        inner = replace(state, fed=found.fed)
        before = len(self.runs)
        after = ended = state
        if body is not None and body.type == "command":
            after = ended = self._command(body, inner, depth, found.words)
        elif body is not None and _chained(body):
            after, ended = self._chain(body, inner, depth)
        elif body is not None:
            after = ended = self.node(body, inner, depth)
        mine = range(before, len(self.runs))
        self._use(found, mine, state)
        if found.script:
            fed = len(self.runs)
            for index in mine:
                self._fed(index, found.script, state, depth)
            if any(self.runs[index].words[:1] == ("ssh",) for index in mine):
                self.runs[fed:] = [replace(inner, within="ssh") for inner in self.runs[fed:]]
        for other in found.others:
            self.node(other, inner, depth)
            if any(name in SHELLS for name in _names(other)):
                self.text(found.script, state, depth - 1)
        opened = not found.reads and all(map(_OPENED.fullmatch, found.writes))
        after, ended = replace(after, fed=state.fed), replace(ended, fed=state.fed)
        whole = body is not None and body.type != "list"  # of a list only the last command has redirections
        return after, either(state, ended) if whole and not opened else ended

    def _redirections(self, node: Node, state: State, depth: int) -> _Redirections:
        found = _Redirections(fed=state.fed)
        own = node.children_by_field_name("redirect")
        behind = (inner for child in own for inner in child.children_by_field_name("redirect"))
        for child in (*own, *behind):  # also those behind the mark of a here-document
            match child.type:
                case "file_redirect":
                    found = self._with_file(found, child, state, depth)
                case "herestring_redirect":
                    values = self._values(child.children[-1], state, depth)
                    found = replace(found, fed=values, script="\n".join(values))
                case "heredoc_redirect":
                    found = _with_here_document(found, child)
                case _:
                    pass
        return found

    def _with_file(self, found: _Redirections, node: Node, state: State, depth: int) -> _Redirections:
        """Return the redirections with one to or from a file.

        The grammar treats words after the target as more targets.
        """
        targets = node.children_by_field_name("destination")
        found = replace(found, words=(*found.words, *targets[1:]))
        if not any(part.type == "<" for part in node.children) or node.has_error:
            values = (word for part in targets[:1] for word in self._values(part, state, depth))
            return replace(found, writes=(*found.writes, *values))
        if targets and targets[0].type == "process_substitution":
            return replace(found, fed=self._output(targets[0], state, depth))
        values = (word for part in targets[:1] for word in self._values(part, state, depth))
        return replace(found, fed=None, reads=(*found.reads, *values))

    def _use(self, found: _Redirections, mine: range, state: State) -> None:
        """Let the last command of a statement use the targets of its redirections; no command if it has none."""
        outer = [index for index in mine if not self.runs[index].behind] or list(mine)
        own = [index for index in outer if not self.runs[index].within] or outer
        for index in own[-1:]:
            run = self.runs[index]
            self.runs[index] = replace(run, writes=(*run.writes, *found.writes), reads=(*run.reads, *found.reads))
        if not own and (found.writes or found.reads):
            self.runs.append(Run((), state.folders, found.writes, reads=found.reads))

    def _fed(self, index: int, script: str, state: State, depth: int) -> None:
        run = self.runs[index]
        name = os.path.basename(run.words[0]) if run.words else ""
        if name in SHELLS or (run.words and reads_input(run.words)):
            self.text(script, state, depth - 1)
        elif name == "make":
            recipes = (line.partition(";")[2] or line for line in script.split("\n"))
            self.text("\n".join(recipe.strip().lstrip("@+-") for recipe in recipes), state, depth - 1)
        elif is_interpreter(name):
            self.runs[index] = replace(run, script=script)

    def _assigned(self, node: Node, state: State, depth: int) -> State:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return state
        if value is not None and value.type in ("command_substitution", "string", "concatenation", "array"):
            self._children(value, state, depth)
        values = self._given(value, state, depth)
        self._prompt({source_of(name): values[0]}, state, depth)
        adds = any(child.type == "+=" for child in node.children)
        return self._bound(state, source_of(name), (UNKNOWN,) if adds else values)

    def _bound(self, state: State, name: str, values: Values) -> State:
        """Return the state after an assignment, which may fail or change the value."""
        after = bound(state, name, (UNKNOWN,) if name in self._converted else values)
        return either(state, after) if name in self._fixed else after

    def _declare(self, node: Node) -> None:
        """Note the attributes of variables that a declaration sets."""
        options = "".join(source_of(child) for child in node.named_children if child.type == "word")
        given = [child.child_by_field_name("name") or child for child in node.named_children]
        names = {source_of(child) for child in given if child.type == "variable_name"}
        if node.children[0].type == "readonly" or "r" in options:
            self._fixed |= names
        if not {"i", "l", "u", "c"}.isdisjoint(options):
            self._converted |= names

    def _prompt(self, own: Mapping[str, str], state: State, depth: int) -> None:
        """Follow the commands in the prompt of `set -x`, which the shell expands before each command."""
        if _SUBSTITUTED.search(own.get("PS4", "")):
            quoted = re.sub(r'(["\\])', r"\\\1", own["PS4"])
            self.text(f': "{quoted}"', state, depth - 1)

    def _loop(self, node: Node, state: State, depth: int) -> State:
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        values: list[str] = []
        for value in node.children_by_field_name("value"):
            self._children(value, state, depth)
            values += self._found(value, state, depth)
        given = merged(values) if self.sure else tuple(values[:MOST])
        inner = bound(state, source_of(name), given or (UNKNOWN,)) if name is not None else state
        if body is None:
            return state
        for prompt in given if name is not None and source_of(name) == "PS4" else ():
            self._prompt({"PS4": prompt}, state, depth)

        def follow(before: State) -> State:
            start = bound(before, source_of(name), given) if self.sure and name is not None else before
            return self.node(body, start, depth)

        return self._rounds(follow, inner, state)

    def _found(self, node: Node, state: State, depth: int) -> Values:
        """Return the values of a word of a loop; with `sure`, the file names that its pattern matches."""
        values = self._whole(node, self._values(node, state, depth))
        if not self.sure or not any(_WILD.search(value) for value in values):
            return values
        found = [
            name
            for value in values
            for folder in state.folders
            for name in sorted(itertools.islice(glob.iglob(value, root_dir=folder), MOST + 1)) or [value]
        ]
        plain = node.type == "word" and _GLOB.fullmatch(source_of(node)) is not None
        plain = plain and not _HIDDEN.search(source_of(node))
        return merged(found) if plain and len(state.folders) == 1 else (UNKNOWN,)

    def _whole(self, node: Node, values: Values) -> Values:
        """Return the values of a word; with `sure`, unknown if one may be several words or a pattern."""
        if not self.sure or node.type in QUOTED or all(map(_UNDIVIDED.fullmatch, values)):
            return values
        return (UNKNOWN,) if any(each.type in EXPANDED for each in (node, *below(node))) else values

    def _rounds(self, follow: Callable[[State], State], state: State, skipped: State | None = None) -> State:
        """Follow a loop until a round changes nothing more; values that change in every round are unknown."""
        after = either(skipped or state, follow(state))
        changed = _changed(state, after)
        if changed is not None:
            again = either(after, follow(either(state, after)))
            late = _changed(after, again)
            if late is not None:
                widened = replace(again, variables={**again.variables, **dict.fromkeys(late, (UNKNOWN,))})
                last = either(again, follow(widened))
                if self.sure and _changed(either(again, widened), last) is not None:
                    raise TooMuchError
                again = last
            after = again
        return either(state, after, unset=True) if skipped is None else after

    def _values(self, node: Node, state: State, depth: int) -> Values:
        return word_values(node, state.variables, lambda inner: self._output(inner, state, depth))

    def _given(self, node: Node | None, state: State, depth: int) -> Values:
        """Return the values of an assignment: an empty text for none, and for an empty array."""
        return (self._values(node, state, depth) if node is not None else ()) or ("",)

    def _output(self, node: Node, state: State, depth: int) -> Values | None:
        """Return the names that the commands in `$(…)` or `<(…)` print, or None if they are unknown."""
        inner = _Follower(self.workspace, self._steps, sure=self.sure)
        stages = [child for child in node.named_children if child.type != "comment"]
        if len(stages) != 1 or depth < 2:
            return None
        stage = stages[0]
        if stage.type == "redirected_statement" and (body := stage.child_by_field_name("body")) is not None:
            stage = body
        parts = stage.named_children if stage.type == "pipeline" else [stage]
        fed: Values | None = ()
        for part in parts:
            before = len(inner.runs)
            inner.node(part, replace(state, fed=fed), depth - 1)
            fed = inner._listed(part, replace(state, fed=fed), before)
        if self.sure:
            commit = len(inner.runs) == 1 and prints_commit(inner.runs[0].words)
            return ("", NUMBER) if commit or fed == (NUMBER,) else None
        return fed

    def _command(self, node: Node, state: State, depth: int, more: Sequence[Node] = ()) -> State:
        """Follow a simple command; `more` are its words after its redirections."""
        own: dict[str, str] = {}
        lines: list[Values] = []
        split: list[bool] = []
        whole: tuple[str, ...] = ()
        """The words of a line in which lists are the command, or part of it."""
        script: str | None = None
        for child in (*node.children, *more):
            if child.type == "variable_assignment":
                name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                found = self._given(value, state, depth)
                if name is not None:
                    own[source_of(name)] = found[0] if len(found) == 1 or not self.sure else UNKNOWN
            elif child.type == "herestring_redirect":
                script = "\n".join(self._values(child.children[-1], state, depth))
                state = replace(state, fed=tuple(script.split("\n")))
            elif not child.type.endswith("redirect"):
                self._children(child, state, depth)
                values = self._values(child, state, depth)
                if self.sure and "" in values and QUOTED.isdisjoint(each.type for each in (child, *below(child))):
                    values = (UNKNOWN,)  # the word may be missing
                values = self._whole(child, values)
                listed = child.type != "raw_string" and _LISTED.search(source_of(child))
                if listed and (not lines or _starts_words(lines[0])):
                    whole = whole or tuple(line[0] for line in lines if line)
                    whole += values
                elif whole:
                    whole += values[:1]
                lines.append(values)
                split.append(_is_split(child))
        if math.prod(map(len, lines)) > MOST:
            lines = [values if len(values) == 1 else (UNKNOWN,) for values in lines]
        ended: list[State] = []
        given = (each for child in node.children for each in (child, child.child_by_field_name("value")))
        substituted = [each for each in given if each is not None and each.type == "process_substitution"]
        as_words = all(each.parent == node for each in substituted)
        blanks = state.variables.get("IFS", (" \t\n",))[0]
        self._prompt(own, state, depth)
        if whole:
            self._run(whole, node, state, own, depth)
        for words in itertools.product(*lines):
            each = (
                re.split(f"[{re.escape(blanks)}]+", word) if cut and blanks else [word]
                for word, cut in zip(words, split, strict=True)
            )
            line = tuple(word for found in each for word in found)
            before = len(self.runs)
            ended.append(bound(self._run(line, node, state, own, depth), "_", line[-1:] or ("",)))
            if script:
                for index in range(before, len(self.runs)):
                    self._fed(index, script, state, depth)
            if line and (line[0] in ("source", ".") or line[0] in SHELLS or not as_words):
                texts = [text for inner in substituted for text in self._printed(inner, state, depth)]
                self.text("\n".join(texts), state, depth - 1)
        after = functools.reduce(either, ended) if ended else state
        return replace(after, fed=state.fed if script is None else ())

    def _run(self, words: tuple[str, ...], node: Node, state: State, own: Mapping[str, str], depth: int) -> State:
        if not words:
            return state
        name = os.path.basename(words[0])
        if name in state.functions and depth:
            return self._call(name, words[1:], state, depth)
        self.runs.append(Run(words, state.folders, (), "", (), own))
        if name in MOVES:
            moved = after_move(state, words, self.workspace, sure=not self.sure and _followed_by_and(node))
            if self.sure and len(moved.folders) >= MOST_FOLDERS:
                raise TooMuchError
            return moved
        if name in ("read", "mapfile", "readarray"):
            for option, value in itertools.pairwise((*words, "")):
                if name != "read" and (found := _CALLING.fullmatch(option)):
                    self.text(found[1] or value, state, depth - 1)
            after = after_read(replace(state, fed=None) if self.sure else state, words[1:])
            after = either(state, after) if not self._fixed.isdisjoint(words) else after
            for value in after.variables["PS4"] if "PS4" in words else ():
                self._prompt({"PS4": value}, state, depth)
            return after
        if name == "printf" and words[1:2] == ("-v",) and len(words) > 2:
            if not words[2].isidentifier():
                return with_unknown_variables(state)
            printed = None if self.sure else listed(("printf", *words[3:]), (), state.folders, self.workspace)
            return bound(state, words[2], ("\n".join(printed),) if printed is not None else (UNKNOWN,))
        if name == "unset":
            return functools.reduce(lambda left, word: bound(left, word, ("",)), words[1:], state)
        if name in ("set", "shift"):
            given = words[2:] if words[:2] == ("set", "--") else ()
            return bound(with_unknown_arguments(state), "@", (*given, UNKNOWN))
        if name == "eval":
            return self.text(" ".join(words[1:]), state, depth - 1)
        if name == "alias" and depth:
            for word in words[1:]:
                self.text(word.partition("=")[2], state, depth - 1)
            return state
        before = len(self.runs)
        self._start(words, state, own, depth)
        started = [run.words for run in self.runs[before:] if run.behind == (name,) and not run.within]
        for line in (words, *(started if name in PASSING_INPUT else ())):
            if state.fed and reads_input(line):
                for joint in ("\n", " ")[: len(state.fed)]:
                    self.text(joint.join(state.fed), state, depth - 1)
        return with_unknown_variables(state) if name in ("source", ".") else state

    def _call(self, name: str, arguments: Sequence[str], state: State, depth: int) -> State:
        """Follow the call of a function, but not into itself."""
        nothing = syntax_tree("")
        inner = replace(with_arguments(state, arguments), functions={**state.functions, name: nothing})
        return after_call(state, self.node(state.functions[name], inner, depth - 1), name, nothing)

    def _start(self, words: tuple[str, ...], state: State, own: Mapping[str, str], depth: int) -> None:
        """Follow the commands and scripts that a command starts by its words."""
        for started in started_by(words, state, own, depth, self.workspace):
            match started:
                case Run():
                    self.runs.append(started)
                case Script(text, inner, left):
                    before = len(self.runs)
                    self.text(text, inner, left)
                    for index in range(before, len(self.runs)):
                        self.runs[index] = replace(self.runs[index], within=os.path.basename(words[0]))

    def _printed(self, node: Node, state: State, depth: int) -> Iterator[str]:
        """Yield the text that an `echo` within `<(…)` prints."""
        for child in node.named_children:
            if child.type == "command":
                words = [" ".join(self._values(part, state, depth)) for part in child.named_children]
                if words and words[0] in ("echo", "printf"):
                    yield " ".join(words[1:])


def _named_in(text: str) -> Iterator[str]:
    """Yield the names of all variables in a line."""
    return (source_of(node) for node in below(syntax_tree(text)) if node.type == "variable_name")


_WILD = re.compile(r"[*?\[]")
_GLOB = re.compile(r"[\w./*?-]+")
"""A pattern that a shell and this program read alike."""
_OPENED = re.compile(r"/dev/(?:null|stdout|stderr)|&?[\d-]+")
"""Target of a redirection that can always be opened."""
_HIDDEN = re.compile(r"(?:\A|/)\.[^/]*[*?]")
"""A pattern that means the parent folder, too, in older shells."""
_UNDIVIDED = re.compile(r"[\w./@%+,:={}-]*")
"""A value that stays one word without quotes."""
_LISTED = re.compile(r"\$[@*]|\[[@*]\]|\$\(|`")
"""Expansions whose values may be several words."""


_CALLING = re.compile(r"-[a-zA-Z0-9]*?C(.*)", re.DOTALL)
"""Option with which `mapfile` gets a command that it calls."""
_SUBSTITUTED = re.compile(r"\$\(|`")
_REFERS = re.compile(r"\A(?:declare|typeset|local)\b.*\s-[a-zA-Z]*n")


def _with_references(state: State, node: Node) -> State:
    """Return the state after `declare -n`: the variable is another one, whose value may change under either name."""
    for child in node.named_children:
        name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
        for each in (name, value) if name is not None and value is not None else ():
            state = bound(state, source_of(each), (UNKNOWN,))
    return state


def _in_function(node: Node) -> bool:
    """Return True for a node in the definition of a function."""
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    return above is not None


def _chained(node: Node) -> Sequence[Node]:
    """Return the two commands that `&&` or `||` joins; empty for any other node."""
    parts = [child for child in node.children if child.type != "comment"] if node.type == "list" else []
    return (parts[0], parts[2]) if len(parts) == 3 else ()


def _starts_words(names: Values) -> bool:
    """Return True if a program may start a command that is among its words."""
    return any(os.path.basename(name) in WRAPPERS or name == "eval" for name in names)


def _is_split(node: Node) -> bool:
    """Return True if the shell splits a word at blanks: it is an expansion outside of quotes."""
    if node.type == "command_name" and len(node.children) == 1:
        node = node.children[0]
    return node.type in ("simple_expansion", "expansion")


def _changed(before: State, after: State) -> frozenset[str] | None:
    """Return the variables with new values in a later state; None if nothing else has changed either."""
    names = after.variables.keys() - {"_"}
    found = frozenset(name for name in names if not {*after.variables[name]} <= {*before.variables.get(name, ())})
    moved = not {*after.folders} <= {*before.folders} or after.functions != before.functions
    return found if found or moved else None


def _names_variables(node: Node) -> bool:
    """Return True if a word of `export` names variables that only the shell will know: `export $(cat x)`."""
    return node.type not in ("variable_assignment", "variable_name", "word", "number")


def _last_of_list(node: Node) -> Node | None:
    """Return the last command of a list that the grammar puts into a pipeline as a whole; or None.

    In `cd x && make 2>&1 | tail` only `make` is part of the pipeline.
    """
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return body.children[-1] if body is not None and body.type == "list" and len(body.children) == 3 else None


def _with_here_document(found: _Redirections, node: Node) -> _Redirections:
    """Return the redirections with a here-document, and the words and commands that the grammar puts into it."""
    script = next((source_of(part) for part in node.children if part.type == "heredoc_body"), "")
    words = node.children_by_field_name("argument")
    own = ("heredoc_start", "heredoc_body", "heredoc_end", "file_redirect")
    others = (part for part in node.named_children if part not in words and part.type not in own)
    return replace(
        found,
        fed=tuple(script.split()),
        script=script,
        words=(*found.words, *words),
        others=(*found.others, *others),
    )


def _names(node: Node) -> list[str]:
    found = [source_of(child) for child in [node, *below(node)] if child.type == "command_name"]
    return [os.path.basename(name) for name in found]


def _followed_by_and(node: Node) -> bool:
    while node.parent is not None and node.parent.type in ("list", "redirected_statement"):
        after = node.next_sibling
        if node.parent.type == "list" and after is not None:
            return after.type == "&&"
        node = node.parent
    return False


_KEYWORDS = word_set("if then elif else while until do for case in select function { } ! time coproc")
_EXPANSION = re.compile(r"\$\{[^}]*\}|\$\w+|\$|`")


def rough_commands(text: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Split a line that the parser cannot read completely.

    Yield the words of each command, and the targets of its redirections. It finds more commands than the line has,
    rather than fewer.
    """
    words: list[str] = []
    writes: list[str] = []
    target = False
    for token in (*_tokens(text), ";"):
        if set(token) <= set("<>&|") and (">" in token or token == "<"):
            target = ">" in token
        elif set(token) <= set(";|&()\n`"):
            while words and words[0] in _KEYWORDS:
                words.pop(0)
            if words or writes:
                yield tuple(words), tuple(writes)
            words, writes, target = [], [], False
        else:
            (writes if target else words).append(_EXPANSION.sub(UNKNOWN, token))
            target = False


def _tokens(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()<>\n`")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:
        # A quote without its end.
        return re.split(r"[\s;|&()<>'\"`]+", text)
