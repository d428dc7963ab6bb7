"""Commands that a line would run, followed through folders, variables, loops, functions and pipes, with the values of their words."""

from __future__ import annotations

import itertools
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.paths import Workspace, impossible
from agentcli.permissions.shell.known_programs import MOVES, SHELLS, WRAPPERS, is_interpreter, word_set
from agentcli.permissions.shell.listing import fed_lines, listed, placed
from agentcli.permissions.shell.parse import UNKNOWN, Part, Piece, below, parser, runs
from agentcli.permissions.shell.rough import rough_commands
from agentcli.permissions.shell.values import MOST, Values, merged, word_values

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Run:
    """One command as it may run: its words (`UNKNOWN` for unknown text), its folders, and its input.

    `behind` are the programs that start it, from the outermost on: `sudo`, `xargs`. `env` are the variables set for it
    alone.
    """

    words: tuple[str, ...]
    folders: tuple[Path, ...]
    writes: tuple[str, ...] = ()
    script: str = ""
    """Text that an interpreter reads from standard input, as far as it is known."""
    behind: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _State:
    folders: tuple[Path, ...]
    variables: Mapping[str, Values]
    functions: Mapping[str, Node]
    fed: Values | None = ()
    """Names that the command before the pipe lists, None if they are unknown; empty if there is no pipe."""


_DEPTH = 8
_RUNS = 2_000
_INNER = 200
"""Largest number of commands that the words of one command may start."""
_STEPS = 30_000
"""Largest number of visits to nodes of syntax trees; a node counts each time its commands may run."""


class _TooMuchError(Exception):
    """The line runs more commands than can be followed."""


def runs_of(text: str, workspace: Workspace) -> list[Run] | None:
    """Return every command that a line may run, with the values of its words; None if it is too deep or runs too much to follow."""
    follower = _Follower(workspace)
    return None if _followed(text, workspace, follower) is None else follower.runs


def end_of(text: str, workspace: Workspace) -> tuple[tuple[Path, ...], int, bool] | None:
    """Return the folders in which a line may end, the number of its moves, and whether it begins with one; None as for `runs_of`."""
    follower = _Follower(workspace)
    if (state := _followed(text, workspace, follower)) is None:
        return None
    moves = [bool(run.words) and run.words[0] in MOVES for run in follower.runs]
    return state.folders, sum(moves), moves[:1] == [True]


def _followed(text: str, workspace: Workspace, follower: _Follower) -> _State | None:
    variables = {name: (value,) for name, value in workspace.env.items()}
    variables |= {"HOME": (str(workspace.home),), "PWD": (str(workspace.cwd),), "OLDPWD": (UNKNOWN,)}
    if workspace.sandboxed:
        variables.setdefault("TMPDIR", (tempfile.gettempdir(),))
    try:
        return follower.text(text, _State((workspace.cwd,), variables, {}), _DEPTH)
    except (RecursionError, _TooMuchError):
        return None


def _last_of_list(node: Node) -> Node | None:
    """Return the last command of a list that the grammar takes into a pipeline as a whole; None if there is no list.

    In `cd x && make 2>&1 | tail` only `make` is part of the pipeline.
    """
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return body.children[-1] if body is not None and body.type == "list" and len(body.children) == 3 else None


class _Follower:
    """Walker of syntax trees that collects runs. A state is a value: each step returns the state after a branch or subshell."""

    def __init__(self, workspace: Workspace, steps: Iterator[int] | None = None) -> None:
        self.workspace = workspace
        self.runs: list[Run] = []
        self._steps = itertools.count() if steps is None else steps

    def text(self, text: str, state: _State, depth: int) -> _State:
        if not depth:
            raise _TooMuchError
        root = parser().parse(text.encode("utf-8", "surrogatepass")).root_node
        after = self.node(root, state, depth)
        if root.has_error:
            for words, writes in rough_commands(text):
                after = _either(after, self._run(words, root, after, {}, depth))
                self.runs.append(Run((), after.folders, writes))
        return after

    def node(self, node: Node, state: _State, depth: int) -> _State:
        if next(self._steps) > _STEPS or len(self.runs) > _RUNS:
            raise _TooMuchError
        match node.type:
            case "command" | "test_command" | "unset_command":
                return self._command(node, state, depth)
            case "subshell" | "command_substitution" | "process_substitution":
                self._children(node, state, depth)
                return state
            case "pipeline":
                return self._pipeline(node, state, depth)
            case "redirected_statement":
                return self._redirected(node, state, depth)
            case "variable_assignment":
                return self._assigned(node, state, depth)
            case "for_statement":
                return self._loop(node, state, depth)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is None or body is None:
                    return state
                return replace(state, functions={**state.functions, _raw(name): body})
            case "if_statement" | "while_statement" | "case_statement":
                return _either(state, self._branches(node, state, depth))
            case "list" if any(child.type == "||" for child in node.children):
                return self._branches(node, state, depth)
            case "word" | "comment" | "heredoc_body":
                return state
            case _:
                return self._children(node, state, depth)

    def _children(self, node: Node, state: _State, depth: int) -> _State:
        for child in node.children:
            state = self.node(child, state, depth)
        return state

    def _branches(self, node: Node, state: _State, depth: int) -> _State:
        """Follow the parts of a node of which some may be skipped: behind `else`, `elif` and `||`, and the cases of a `case`."""
        after, skipped = state, False
        for child in node.children:
            skipped = skipped or child.type in ("elif_clause", "else_clause", "case_item", "||")
            if skipped:
                after = _either(after, self.node(child, _either(state, after), depth))
            else:
                after = self.node(child, after, depth)
        return after

    def _pipeline(self, node: Node, state: _State, depth: int) -> _State:
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
            fed = self._listed(child, replace(state, fed=fed), before, depth)
        return state

    def _before_last(self, node: Node, state: _State, depth: int) -> _State:
        """Follow the commands of a list before its last one, which run in the shell itself."""
        body = node.child_by_field_name("body")
        assert body is not None
        after = self.node(body.children[0], state, depth)
        return _either(state, after) if body.children[1].type == "||" else after

    def _listed(self, node: Node, state: _State, before: int, depth: int) -> Values | None:
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

    def _redirected(self, node: Node, state: _State, depth: int, alone: Node | None = None) -> _State:
        """Follow a statement with redirections, or only its part `alone`."""
        body = alone or node.child_by_field_name("body")
        writes: list[str] = []
        fed: Values | None = state.fed
        script = ""
        rest: list[Node] = []
        more: list[Node] = []
        for child in node.children_by_field_name("redirect"):
            if child.type == "file_redirect":
                reads = any(part.type == "<" for part in child.children) and not child.has_error
                # The parser takes the words after the target for more targets.
                targets = child.children_by_field_name("destination")
                more += targets[1:]
                fed = None if reads else fed
                writes += [] if reads else [word for part in targets[:1] for word in self._values(part, state, depth)]
                sources = [part for part in targets[:1] if part.type == "process_substitution"]
                if reads and sources:
                    fed = self._output(sources[0], state, depth)
            elif child.type == "herestring_redirect":
                fed = self._values(child.children[-1], state, depth)
                script = "\n".join(fed)
            elif child.type == "heredoc_redirect":
                script = next((_raw(part) for part in child.children if part.type == "heredoc_body"), "")
                fed = tuple(script.split()) or ()
                words = child.children_by_field_name("argument")
                more += words
                rest += [
                    part for part in child.named_children if part not in words and not part.type.startswith("heredoc")
                ]
        before = len(self.runs)
        after = state
        if body is not None and body.type == "command":
            after = self._command(body, replace(state, fed=fed), depth, more)
        elif body is not None:
            after = self.node(body, replace(state, fed=fed), depth)
        mine = range(before, len(self.runs))
        outer = [index for index in mine if not self.runs[index].behind] or list(mine)
        for index in outer[-1:]:
            self.runs[index] = replace(self.runs[index], writes=(*self.runs[index].writes, *writes))
        if not outer and writes:
            self.runs.append(Run((), state.folders, tuple(writes)))
        if script:
            for index in mine:
                self._fed(index, script, state, depth)
        for other in rest:
            self.node(other, replace(state, fed=fed), depth)
            if any(name in SHELLS for name in _names(other)):
                self.text(script, state, depth - 1)
        return replace(after, fed=state.fed)

    def _fed(self, index: int, script: str, state: _State, depth: int) -> None:
        run = self.runs[index]
        name = os.path.basename(run.words[0]) if run.words else ""
        if name in SHELLS or (name in ("source", ".") and "/dev/stdin" in run.words):
            self.text(script, state, depth - 1)
        elif name == "make":
            self.text(
                "\n".join(line.partition(";")[2] or line.strip() for line in script.split("\n")), state, depth - 1
            )
        elif is_interpreter(name):
            self.runs[index] = replace(run, script=script)

    def _assigned(self, node: Node, state: _State, depth: int) -> _State:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return state
        if value is not None and value.type in ("command_substitution", "string", "concatenation", "array"):
            self._children(value, state, depth)
        values = self._values(value, state, depth) if value is not None else ("",)
        adds = any(child.type == "+=" for child in node.children)
        return _bound(state, _raw(name), (UNKNOWN,) if adds else values)

    def _loop(self, node: Node, state: _State, depth: int) -> _State:
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        values: list[str] = []
        for value in node.children_by_field_name("value"):
            self._children(value, state, depth)
            values += self._values(value, state, depth)
        inner = _bound(state, _raw(name), tuple(values[:MOST]) or (UNKNOWN,)) if name is not None else state
        return _either(state, self.node(body, inner, depth)) if body is not None else state

    def _values(self, node: Node, state: _State, depth: int) -> Values:
        return word_values(node, state.variables, lambda inner: self._output(inner, state, depth))

    def _output(self, node: Node, state: _State, depth: int) -> Values | None:
        """Return the names that the commands within `$(…)` or `<(…)` print, or None if they are unknown."""
        inner = _Follower(self.workspace, self._steps)
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
            fed = inner._listed(part, replace(state, fed=fed), before, depth - 1)
        return fed

    def _command(self, node: Node, state: _State, depth: int, more: Sequence[Node] = ()) -> _State:
        """Follow a simple command; `more` are words of it that stand behind its redirections."""
        own: dict[str, str] = {}
        lines: list[Values] = []
        names: list[Node] = []
        for child in (*node.children, *more):
            if child.type == "variable_assignment":
                name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                found = self._values(value, state, depth) if value is not None else ("",)
                if name is not None:
                    own[_raw(name)] = found[0]
            elif child.type == "herestring_redirect":
                script = "\n".join(self._values(child.children[-1], state, depth))
                names.append(child)
                state = replace(state, fed=tuple(script.split("\n")))
            elif not child.type.endswith("redirect"):
                self._children(child, state, depth)
                lines.append(self._values(child, state, depth))
        if math.prod(map(len, lines)) > MOST:
            lines = [values if len(values) == 1 else (UNKNOWN,) for values in lines]
        script = "\n".join(state.fed or ()) if names else ""
        after = state
        substituted = [child for child in node.children if child.type == "process_substitution"]
        for words in itertools.product(*lines):
            line = tuple(words)
            before = len(self.runs)
            after = _bound(self._run(line, node, after, own, depth), "_", line[-1:] or ("",))
            for index in range(before, len(self.runs)) if script else ():
                self._fed(index, script, state, depth)
            if line and (line[0] in ("source", ".") or line[0] in SHELLS):
                texts = [text for inner in substituted for text in _printed(inner, self, state, depth)]
                self.text("\n".join(texts), state, depth - 1)
        return replace(after, fed=state.fed) if not names else replace(after, fed=())

    def _run(self, words: tuple[str, ...], node: Node, state: _State, own: Mapping[str, str], depth: int) -> _State:
        if not words:
            return state
        name = os.path.basename(words[0])
        if name in state.functions and depth:
            given = {str(index): (word,) for index, word in enumerate(words[1:], 1)}
            rest = merged(words[1:]) or ("",)
            inner = replace(state, variables={**state.variables, **given, "@": rest, "*": rest})
            nothing = _nothing()
            after = self.node(
                state.functions[name], replace(inner, functions={**state.functions, name: nothing}), depth - 1
            )
            return _returned(state, after, name, nothing)
        self.runs.append(Run(words, state.folders, (), "", (), own))
        if name in MOVES:
            return self._moved(name, words, node, state)
        if name in ("read", "mapfile", "readarray"):
            fed = (UNKNOWN,) if state.fed is None or not state.fed else state.fed
            for word in words[1:]:
                state = _bound(state, word, fed) if word.isidentifier() else state
            return state
        if name in ("set", "shift"):
            named = {key: value for key, value in state.variables.items() if not _is_positional(key)}
            return replace(state, variables={**named, "@": (UNKNOWN,), "*": (UNKNOWN,)})
        if name == "eval":
            return self.text(" ".join(words[1:]), state, depth - 1)
        if name == "alias" and depth:
            for word in words[1:]:
                self.text(word.partition("=")[2], state, depth - 1)
            return state
        self._wrapped(words, state, own, depth)
        if name in SHELLS and state.fed and len(words) == 1 + sum(word.startswith("-") for word in words[1:]):
            self.text("\n".join(state.fed), state, depth - 1)
        return state

    def _moved(self, name: str, words: Sequence[str], node: Node, state: _State) -> _State:
        operands = [word for word in words[1:] if not word.startswith("-") or word == "-"]
        target = operands[0] if operands else str(self.workspace.home)
        if name == "popd" or target == "-" or UNKNOWN in target or impossible(target):
            temporary = target.startswith(("/tmp/", "/var/tmp/"))
            return replace(
                state, folders=(Path(target.replace(UNKNOWN, "x")),) if temporary else (*state.folders, Path("/"))
            )
        there = tuple(placed(target, folder, self.workspace) for folder in state.folders)
        sure = _followed_by_and(node) or all(folder.is_dir() for folder in there)
        folders = there if sure else (*there, *state.folders)
        found = tuple(dict.fromkeys(folders))[:_DEPTH]
        return _bound(replace(state, folders=found), "PWD", tuple(map(str, found)))

    def _wrapped(self, words: tuple[str, ...], state: _State, own: Mapping[str, str], depth: int) -> None:
        """Add the commands that a command starts, with the words it gives them."""
        name = os.path.basename(words[0])
        part = Part(tuple(Piece(word) for word in words))
        for count, inner in enumerate(itertools.islice(runs(part), 1, None)):
            if count > _INNER:
                raise _TooMuchError
            for line in self._completed(name, words, inner, state):
                named = os.path.basename(line[0])
                self.runs.append(Run(tuple(line), state.folders, (), "", (name,), own))
                if named in WRAPPERS and tuple(line) != tuple(inner) and depth > 1:
                    self._wrapped(tuple(line), state, own, depth - 1)
                self._shell(named, line, state, depth)
        if name in WRAPPERS or name in SHELLS:
            self._shell(name, words, state, depth)

    def _shell(self, name: str, line: Sequence[str], state: _State, depth: int) -> None:
        """Follow the script that a shell or a wrapper gets as a word: `sh -c '…' name arguments`."""
        for index, word in enumerate(line[1:], 1):
            if not any(letter in word for letter in " \n;|&\t"):
                continue
            if (
                name not in SHELLS
                and name not in _TAKING_SCRIPTS
                and not (word.startswith("-S") or line[index - 1] == "-S")
            ):
                continue
            given = {str(number): (value,) for number, value in enumerate(line[index + 1 :])}
            rest = merged(line[index + 2 :]) or ("",)
            self.text(word, replace(state, variables={**state.variables, **given, "@": rest, "*": rest}), depth - 1)
            if name in SHELLS:
                return

    def _completed(
        self, name: str, words: Sequence[str], inner: Sequence[str], state: _State
    ) -> Iterator[tuple[str, ...]]:
        """Yield a command that another one starts, with the names that it adds: read by xargs, or found by find."""
        if name in ("find", "fd", "fdfind"):
            found = listed(words, (), state.folders, self.workspace) or (UNKNOWN,)
            ends = [index for index, word in enumerate(inner) if word in (";", "+", "\\;")]
            line = list(inner[: ends[0]] if ends else inner)
            line = line if "{}" in " ".join(line) or name == "find" else [*line, "{}"]
            for one in found[:_DEPTH]:
                yield tuple(word.replace("{}", one) for word in line)
        elif name in ("xargs", "parallel"):
            yield from fed_lines(words, inner, state.fed)
        else:
            yield tuple(inner)


_TAKING_SCRIPTS = word_set("trap watch su script parallel ssh entr xvfb-run tmux screen runuser sg flock chronic")


def _printed(node: Node, follower: _Follower, state: _State, depth: int) -> Iterator[str]:
    """Yield the text that an `echo` within `<(…)` prints."""
    for child in node.named_children:
        if child.type == "command":
            words = [" ".join(follower._values(part, state, depth)) for part in child.named_children]
            if words and words[0] in ("echo", "printf"):
                yield " ".join(words[1:])


def _names(node: Node) -> list[str]:
    found = [_raw(child) for child in [node, *below(node)] if child.type == "command_name"]
    return [os.path.basename(name) for name in found]


def _followed_by_and(node: Node) -> bool:
    while node.parent is not None and node.parent.type in ("list", "redirected_statement"):
        after = node.next_sibling
        if node.parent.type == "list" and after is not None:
            return after.type == "&&"
        node = node.parent
    return False


def _either(before: _State, after: _State) -> _State:
    """Return the state after a branch that may not be taken."""
    names = {*before.variables, *after.variables}
    variables = {
        name: merged((*before.variables.get(name, ()), *after.variables.get(name, ())))
        if before.variables.get(name) is not after.variables.get(name)
        else after.variables[name]
        for name in names
    }
    folders = tuple(dict.fromkeys((*after.folders, *before.folders)))
    return replace(after, variables=variables, folders=folders, fed=before.fed)


def _returned(before: _State, after: _State, name: str, nothing: Node) -> _State:
    """Return the state after the call of a function: it may be called again, and `$1` and `$@` are the caller's."""
    own = {key: value for key, value in before.variables.items() if _is_positional(key)}
    kept = {key: value for key, value in after.variables.items() if not _is_positional(key)}
    functions = after.functions
    if functions.get(name) is nothing:
        functions = {**functions, name: before.functions[name]}
    return replace(after, variables={**kept, **own}, functions=functions)


def _is_positional(name: str) -> bool:
    return name in ("@", "*") or name.isdigit()


def _bound(state: _State, name: str, values: Values) -> _State:
    return replace(state, variables={**state.variables, name: values})


def _nothing() -> Node:
    return parser().parse(b"").root_node


def _raw(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
