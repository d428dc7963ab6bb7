"""Rules about a program that runs any code, `python3 *`, and about other whole programs, `git commit *`.

A rule about any code allows whatever its program can do. A line with such a program is therefore judged by its commands, even if
only their values are known. It may have scripts on standard input, variables, loops and redirections. Each of
its other commands must only read, or have a rule of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.allowing import reading_rule
from agentcli.permissions.paths import below as lies_below
from agentcli.permissions.paths import judge_path
from agentcli.permissions.rules import Rule, command_pattern
from agentcli.permissions.shell.command_line import CommandLine
from agentcli.permissions.shell.effects.always_asked import names_only
from agentcli.permissions.shell.effects.changes import CHANGING, changes_inside
from agentcli.permissions.shell.effects.containable import scripts_problem
from agentcli.permissions.shell.effects.covered import why_uncovered
from agentcli.permissions.shell.effects.elsewhere import Elsewhere, acts_by_name, answer_to
from agentcli.permissions.shell.effects.fed import ANY_NAME, NAMED, fed_command, fed_files, files_found, found_by
from agentcli.permissions.shell.effects.harmless_values import harmless_assignments
from agentcli.permissions.shell.effects.prefixes import interpreter_of, runs_code, wider
from agentcli.permissions.shell.effects.reaching import is_temporary
from agentcli.permissions.shell.effects.reading import STREAMS, Reader, Reading
from agentcli.permissions.shell.effects.starting import starts_another
from agentcli.permissions.shell.effects.whole_programs import (
    TO_FILES,
    is_final,
    may_write,
    whole_program_of,
    words_change_files,
)
from agentcli.permissions.shell.programs.administration import ends_jobs, ends_only_listed
from agentcli.permissions.shell.programs.known_programs import BUILTINS, MOVES, bounded, uses_network, word_set
from agentcli.permissions.shell.syntax.file_names import read_both
from agentcli.permissions.shell.syntax.here_texts import scripts_in
from agentcli.permissions.shell.syntax.inner_commands import inner_command
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Command, below, parse_word, source_of, syntax_tree
from agentcli.permissions.shell.syntax.state import Run
from agentcli.permissions.shell.syntax.values import BELOW, NUMBER
from agentcli.permissions.shell.syntax.written_out import CHANGING as MEANING
from agentcli.permissions.shell.syntax.written_out import FINDING

if TYPE_CHECKING:
    from tree_sitter import Node

_NOT_FOLLOWED = word_set("""
function_definition case_statement c_style_for_statement unset_command process_substitution array subscript coproc_statement ERROR
""")
_QUIET = word_set("true false : break continue exit sleep wait echo [ [[")
"""Commands without an effect beyond their line."""
_STATUS = re.compile(rb"PIPESTATUS\[\d+\]")
"""Subscript that only gives how a part of a pipe ended."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufeff\ud800-\udfff]")
_SUBSCRIPT = re.compile(rb"\w\[")
"""Beginning of a subscript, whose code a test runs even inside quotes."""
_PLAIN = re.compile(r"[\w./@%+,:=~-]*")


def allowing_code(rules: Sequence[Rule], line: CommandLine, reads: Sequence[Rule] = ()) -> Rule | None:
    """Return the rule about a program with any code under which a line may run; None if there is none.

    The program could do what any line does. So a line without it may run under its rule, if it reads or has rules. If
    there is a sandbox, such a line stays in it. A rule that a person wrote also covers a line of known words, with
    wrappers and redirections into the workspace. `reads` are rules about reading files.
    """
    code = next((rule for rule in rules if rule.whole or _is_about_code(rule)), None)
    written = [rule for rule in rules if rule.pattern and not rule.proposed]
    if code is None and not (written and _is_simple(line)):
        return None
    found = Judge(rules if code is not None else written, line, reads)
    if not found.allows():
        return None
    boxed = line.workspace is not None and line.workspace.sandboxed
    return found.used or (None if boxed else code)


def _is_about_code(rule: Rule) -> bool:
    """Return True for a rule such as `python3 *`, or `uv run *` if a person wrote it."""
    words = rule.pattern.split()
    runner = not rule.proposed and len(words) == 3 and bool(runs_code([*words[:2], "python3"])) and words[2] == "*"
    return bool(rule.pattern) and (runs_code(words) == rule.pattern or runner)


def offered_code(line: CommandLine, tool: str, rules: Sequence[Rule], reads: Sequence[Rule]) -> tuple[str, ...]:
    """Return the rules that would allow a line with a program that runs any code; empty if one is missing."""
    found = Judge(rules, line, reads)
    if not found.exact or line.protected or line.destroys:
        return ()
    asking = [run for run in found.runs() if not found.covers(run)]
    if any(uses_network(run.words, run.folders) for run in asking if run.words):
        return ()
    patterns = [runs_code(run.words) or _other(run) for run in asking]
    if not asking or not all(patterns):
        return ()
    offers = tuple(dict.fromkeys(f"{tool}({pattern})" for pattern in patterns))
    fresh = [Rule(tool, pattern, "session", proposed=True) for pattern in patterns]
    return offers if allowing_code([*rules, *fresh], line, reads) else ()


def _other(run: Run) -> str:
    """Return the pattern of a rule for another command of such a line."""
    return "" if not run.words or any(UNKNOWN in word for word in run.words) else wider(run.words, bounded(run.words))


@dataclass(slots=True)
class Judge:
    """Judge of the commands of a line, as they would run."""

    rules: Sequence[Rule]
    line: CommandLine
    reads: Sequence[Rule] = ()
    used: Rule | None = None
    """A rule that covers a command of the line."""
    sure: bool = False
    """True if a word counts as unknown unless its value is certain."""

    @property
    def followed(self) -> tuple[Run, ...] | None:
        """Every command of the line as it may run."""
        return self.line.surely_followed if self.sure else self.line.followed

    @property
    def exact(self) -> bool:
        """True if all commands of the line are known, with the folders and the variables that they get."""
        runs = self.followed if self.line.workspace is not None else None
        return runs is not None and _is_followed(self.line, runs)

    def allows(self) -> bool:
        """Return True if each command may run."""
        return self.exact and bool(self.followed) and not self.line.displaces and all(map(self.covers, self.runs()))

    def runs(self) -> Iterator[Run]:
        """Yield the commands to judge: `make` of `timeout 5 make`, but the starter of a script."""
        for run in self.followed or ():
            if not run.behind and not run.within:
                if (divided := self._with_files(run)) is not None:
                    yield from divided
                    continue
                words, given = inner_command(run.words)
                if words[:1] == ("kill",) and words[-1] == UNKNOWN and ends_only_listed(self.line.text):
                    words = (*words[:-1], NUMBER)
                fed = words[-1:] == (UNKNOWN,) != run.words[-1:]
                yield run if fed and self._reads(run) else replace(run, words=words, env={**run.env, **given})

    def _with_files(self, run: Run) -> list[Run] | None:
        """Return a `find` or `xargs` as a search and the commands that it runs, with the files that they get.

        All of these files may be changed. Return None for any other command, and if one file may not.
        """
        workspace, commands = self.line.workspace, self.line.commands
        numbers = [number for number, each in enumerate(commands) if each.words == run.words and not each.loop]
        if workspace is None or not numbers or run.words[0] not in ("find", "xargs") or commands[numbers[0]].globs:
            return None
        if run.words[0] == "find":
            found = found_by(commands[numbers[0]])
            if found is None:
                return None
            files = files_found(found[0], run.folders, workspace, write=True)
            kept, inner = (
                [replace(run, words=found[0].words)],
                [tuple(NAMED if word == ANY_NAME else word for word in each.words) for each in found[1]],
            )
        else:
            command = fed_command(commands, numbers[0])
            if isinstance(command, str) or command.words[0] not in _ON_FILES or len(numbers) > 1:
                return None
            files = fed_files(commands, numbers[0], run.folders, workspace, write=True)
            kept, inner = [], [command.words]
        if isinstance(files, str) or any(words[:1] == (NAMED,) for words in inner):
            return None
        if any(words[0] == "rm" and len(files) > _MOST_REMOVED for words in inner):
            return None
        if any(
            words[0] in _ON_FILES - {"rm"} and words.index(NAMED) < len(words) - 1 for words in inner if NAMED in words
        ):
            return None  # a name could be a script of sed
        return [*kept, *(replace(run, words=_given_files(words, files)) for words in inner)]

    def covers(self, run: Run) -> bool:
        """Return True if a command may run: by a rule, or because it only reads."""
        workspace = self.line.workspace
        assert workspace is not None
        if not all(self.is_place(at) for at in run.folders):
            return False
        if not all(self._readable(source, run.folders) for source in run.reads):
            return False
        written = [target for target in run.writes if not STREAMS.fullmatch(target) and not target.isdigit()]
        if not all(self._writable(target, run.folders) for target in written):
            return False
        finding = {name: value for name, value in run.env.items() if FINDING.fullmatch(name)}
        if not all(starmap(self._starts_nothing_here, finding.items())):
            return False
        if (rule := self._by_code(run) or self._by_whole(run)) is not None:
            self.used = rule
            return True
        if not all(starmap(_is_of_system, finding.items())) or self._is_in_background(run):
            return False
        if self._writes and (words_change_files(run.words, run.folders, workspace) or self._removes_scratch(run)):
            return True
        if self._by_rule(run):
            return True
        to_files = next((rule for rule in self.rules if rule.whole and rule.pattern == TO_FILES), None)
        if written and not self._writes and to_files is None:
            return False
        self.used = (to_files if written else None) or self.used
        return self._reads(run) or self._answered(run)

    @property
    def _writes(self) -> bool:
        """True if a rule about any code lasts: its program could write any file of the workspace."""
        assert self.line.workspace is not None
        place = (self.line.workspace.cwd,)
        named = (rule.pattern.removesuffix(" *").replace("/*", "/x").split() for rule in self.rules if rule.whole)
        whole = (whole_program_of([*words, "x"], place, self.line.workspace) for words in named)
        return any(one is not None and one.code for one in whole) or any(map(_is_about_code, self.rules))

    def is_place(self, folder: Path) -> bool:
        workspace = self.line.workspace
        assert workspace is not None
        if judge_path(str(folder), workspace, write=False).verdict == "free":
            return True
        return self._writes and self._is_temporary(f"{folder}/_")

    def _is_temporary(self, path: str) -> bool:
        return self.line.workspace is not None and is_temporary(path, self.line.workspace)

    def _writable(self, target: str, folders: Sequence[Path]) -> bool:
        assert self.line.workspace is not None
        return bool(_PLAIN.fullmatch(target)) and may_write(target, folders, self.line.workspace)

    def _readable(self, source: str, folders: Sequence[Path]) -> bool:
        """Return True if a redirection may read a file from each of these folders."""
        if STREAMS.fullmatch(source):
            return True
        command = Command(("cat", "--", source), "", True)
        return bool(_PLAIN.fullmatch(source)) and self._reads(Run(command.words, tuple(folders)))

    def _is_in_background(self, run: Run) -> bool:
        """Return True if the line starts a program with this name in the background."""
        started = (inner_command(words)[0][:1] for words in _in_background(self.line.text))
        return run.words[:1] in started

    def _starts_nothing_here(self, name: str, value: str) -> bool:
        """Return True for a variable of one command with which it starts no program of the workspace."""
        workspace = self.line.workspace
        if name != "PATH" or workspace is None:
            return name == "IFS"
        roots = (*workspace.roots, *workspace.resolved_roots)
        return all(
            place == UNKNOWN or (place.startswith("/") and not lies_below(Path(os.path.normpath(place)), roots))
            for place in value.split(":")
        )

    def _by_whole(self, run: Run) -> Rule | None:
        """Return the rule about a whole program that covers a command."""
        workspace = self.line.workspace
        rules = [rule for rule in self.rules if rule.whole] if run.words else []
        found = whole_program_of(run.words, run.folders, workspace) if rules and workspace is not None else None
        if found is None or workspace is None or (run.words[0] == "ssh" and self._ends_there):
            return None
        if run.words[0] == "kill" and not ends_only_listed(self.line.text):
            return None
        limited = run.env and not harmless_assignments(run.env, run.folders, workspace)
        limited = limited or self._is_in_background(run)
        plain = all(self._is_plain(word) or (UNKNOWN in word and self._quotes) for word in run.words)
        if not found.code and (limited or (found.exact and not plain)):
            return None
        return next((rule for rule in rules if rule.pattern in (found.pattern, found.also)), None)

    @property
    def _ends_there(self) -> bool:
        """True if a script for another machine has a command that cannot be taken back."""
        workspace = self.line.workspace
        there = (run.words for run in self.line.followed or () if run.within == "ssh")
        return workspace is None or any(is_final(words, workspace) for words in there)

    def _by_code(self, run: Run) -> Rule | None:
        pattern = runs_code(run.words)
        text = Command(run.words, "", True).text
        about = [rule for rule in self.rules if _is_about_code(rule)] if pattern else []
        name = interpreter_of(pattern)
        for rule in about:
            same = name and rule.whole and interpreter_of(rule.pattern) == name
            if same or command_pattern(rule.pattern).fullmatch(text):
                return rule
        return None

    def _by_rule(self, run: Run) -> bool:
        workspace = self.line.workspace
        if workspace is None or not run.words or any(UNKNOWN in word for word in run.words):
            return False
        words, text = run.words, Command(run.words, "", True).text
        if not harmless_assignments(run.env, run.folders, workspace):
            return False
        for rule in self.rules:
            if rule.whole or not rule.pattern or not command_pattern(rule.pattern).fullmatch(text):
                continue
            both = read_both(words, run.folders, workspace)
            if isinstance(both, str):
                continue
            if words[0] in CHANGING and all(changes_inside(each, run.folders, workspace) for each in both):
                return True
            self.used = self.used or rule
            judge = why_uncovered if rule.proposed else starts_another
            uncovered = (judge(rule.pattern, each, run.folders, workspace) for each in both)
            if not (rule.proposed and bounded(words)) and not any(uncovered):
                return True
        return False

    def _answered(self, run: Run) -> bool:
        """Return True if rules about hosts and pushes allow what a command asks of a host, or pushes."""
        workspace = self.line.workspace
        found = self.answer_to(run)
        return (
            found is not None
            and workspace is not None
            and all(map(workspace.allows_host, found.hosts))
            and all(map(workspace.approves, found.pushes))
        )

    def answer_to(self, run: Run) -> Elsewhere | None:
        """Return the hosts or pushes that a person may allow for a command; None if nothing is enough."""
        workspace = self.line.workspace
        if workspace is None or not run.words or not acts_by_name(run.words) or run.env:
            return None
        certain = (one.words for one in self.line.surely_followed or ())  # a value could be a secret
        if not all(map(self._is_plain, run.words)) or run.words not in certain:
            return None
        reader = self.line.reader or Reader(workspace)
        found = answer_to(Command(run.words, "", True), run.folders, workspace, reader)
        whole = found is not None and bool(found.hosts or found.pushes) and not (found.takes or found.switched)
        return found if whole else None

    def _reads(self, run: Run) -> bool:
        words = run.words
        if not words:
            return not run.writes
        if ends_jobs(words) or words == ("wait",):
            return True
        if words[0] == "cd" and len(words) == 2 and self._writes and self._is_temporary(f"{words[1]}/_"):
            return True
        shown = _without_names(words) or self._without_readers(run)
        if shown is None and self.line.commands and not _only_stops(words):
            each = zip(self.line.commands, self.line.readings, strict=True)
            found = [reading for command, reading in each if command.words == words]
            if found:
                return any(not reading.why or self._scratch(reading) for reading in found)
        if words[0] in _QUIET or words[:2] == ("read", "-r") or _only_prints(words) or _only_stops(words):
            return True
        if words[0] == "xargs" or not all(map(self._is_plain, words)) or not self._is_inert(run):
            return False
        words = shown or words
        if words[0] in MOVES:
            return len(words) == 2  # the folder itself is judged for each command that runs there
        loose = {piece.text for part in self.line.parts for piece in part.words if piece.loose}
        globs = tuple(word if word in loose else "" for word in words)
        workspace = self.line.workspace
        assert workspace is not None
        reading = (self.line.reader or Reader(workspace)).of(
            Command(words, "", True, globs if any(globs) else ()), run.folders
        )
        away = reading.outside and reading_rule(self.reads, reading.outside, workspace)
        return not reading.why or bool(away) or self._scratch(reading)

    def _without_readers(self, run: Run) -> tuple[str, ...] | None:
        """Return a `find` without its commands if they only read what it finds, and all of that may be read."""
        assert self.line.workspace is not None
        words = run.words
        found = _divided(words)
        if found is None or ("-type", "f") not in pairwise(words) or not _JOINING.isdisjoint(words):
            return None
        kept, inner = found
        places = tuple(takewhile(lambda word: not word.startswith("-"), words[1:])) or (".",)
        commands = [tuple(place if word == "{}" else word for word in each) for each in inner for place in places]
        reader = self.line.reader or Reader(self.line.workspace)
        each = [Command(words, "", True) for words in (*commands, ("grep", "-r", "--", "x", *places))]
        return kept if not any(reader.of(one, run.folders).why for one in each) else None

    def _is_inert(self, run: Run) -> bool:
        """Return True if the variables set for a command decide nothing about what it reads or starts."""
        assert self.line.workspace is not None
        plain = all(map(_WORD.fullmatch, run.env.values()))
        return plain and harmless_assignments(run.env, run.folders, self.line.workspace)

    def _scratch(self, reading: Reading) -> bool:
        """Return True for a command that reads only temporary files, which a program with any code may read, too."""
        return (
            bool(reading.outside) and self._writes and all(self._is_temporary(f"{path}/_") for path in reading.outside)
        )

    def _removes_scratch(self, run: Run) -> bool:
        """Return True for an `rm` of single temporary files, by their names."""
        name, *files = [word for word in run.words if word != "-f"] or [""]
        plain = all(_PLAIN.fullmatch(file) and file.startswith("/") and not os.path.isdir(file) for file in files)
        return name == "rm" and bool(files) and plain and not run.env and all(map(self._is_temporary, files))

    def _is_plain(self, word: str) -> bool:
        """Return True if a word stands so in the line, or the shell does not take it apart."""
        if UNKNOWN in word or BELOW in word:
            return False
        return bool(_PLAIN.fullmatch(word)) or word in self._written() or self._quotes

    def _written(self) -> set[str]:
        """Return the words that stand so in the line, and are the value of none of its variables."""
        known = {piece.text for part in self.line.parts for piece in part.words if piece.known}
        return known.difference(_values_in(self.line.text))

    @property
    def _quotes(self) -> bool:
        """True if all variables and substitutions of the line stand in quotes, where the shell takes no value apart."""
        root = syntax_tree(self.line.text)
        return all(_is_quoted(node) for node in below(root) if node.type in _EXPANDED)


_ON_FILES = word_set("sed touch chmod rm")
"""Commands that change only the files that they are given."""
_MOST_REMOVED = 200
"""Maximum files that a rule about removals covers in one command."""


def _given_files(words: tuple[str, ...], files: Sequence[str]) -> tuple[str, ...]:
    """Return a command with files in place of `NAMED`.

    A removal gets each of them, another command about files one for all, and any other command unknown ones.
    """
    if words[0] == "rm":
        return tuple(one for word in words for one in (files if word == NAMED else (word,)))
    return words if words[0] in _ON_FILES else tuple(UNKNOWN if word == NAMED else word for word in words)


def _is_of_system(name: str, value: str) -> bool:
    """Return True for a variable of one command with which it starts only programs of the system, such as IFS."""
    return name == "IFS" or (name == "PATH" and all(map(_OF_SYSTEM.fullmatch, value.split(":"))))


_OF_SYSTEM = re.compile(r"/(?:usr|bin|sbin|opt)(?:/(?!\.)[\w.+-]+)*")
_WORD = re.compile(r"[\w.,-]*")
_EXPANDED = word_set("simple_expansion expansion command_substitution")


def _is_quoted(node: Node) -> bool:
    """Return True if a value stands in double quotes, or is assigned as a whole."""
    above = node.parent
    return above is not None and above.type in ("string", "variable_assignment")


def _only_stops(words: Sequence[str]) -> bool:
    """Return True for `set` with options that only make the line stop at its first error."""
    return words[0] == "set" and all(_STOPPING.fullmatch(word) for word in words[1:]) and len(words) > 1


_STOPPING = re.compile(r"[-+][eu]*o?|pipefail")


def _without_names(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return a `find` without its commands, if they show only names and sizes of what it finds; else None."""
    found = _divided(words)
    return found[0] if found is not None and all(map(_shows_names, found[1])) else None


_JOINING = word_set("-o -or ! -not ( ) , -L -H -follow")
"""Words with which `find` runs a command for what another test did not match, or follows links."""


def _divided(words: Sequence[str]) -> tuple[tuple[str, ...], list[list[str]]] | None:
    """Return a `find` without its commands, and these.

    Return None if it has none, or one fills a name into a word.
    """
    if words[0] != "find" or not {"-exec", "-execdir"} & set(words):
        return None
    kept, commands, rest = list[str](), list[list[str]](), list(words)
    while rest:
        word = rest.pop(0)
        if word not in ("-exec", "-execdir"):
            kept.append(word)
            continue
        end = next((index for index, one in enumerate(rest) if one in (";", "+")), 0)
        inner, rest = rest[:end], rest[end + 1 :]
        if not inner or any("{}" in one and one != "{}" for one in inner):
            return None
        commands.append(inner)
    return tuple(kept), commands


def _shows_names(words: Sequence[str]) -> bool:
    named = ["./x" if word == "{}" else word for word in words]
    return names_only(named) or named[0] in ("basename", "dirname")


def _only_prints(words: Sequence[str]) -> bool:
    """Return True for a builtin or program that only compares its words, or prints them or parts of them."""
    if words[0] in ("basename", "dirname") or tuple(words) == ("xargs",):
        return True
    if words[0] == "test":
        return len(words) == 4 and _COMPARING.fullmatch(words[2]) is not None and words[1] not in ("-v", "-R")
    if words[0] == "mktemp":
        return not any("/" in word and not word.startswith(("/tmp/", "/var/tmp")) for word in words[1:])
    if words[0] != "printf" or len(words) < 2 or UNKNOWN in words[1] or words[1].startswith("-"):
        return False
    return _COUNTING.search(words[1].replace("%%", "")) is None


_COUNTING = re.compile(r"%[^a-zA-Z%]*[hjlLqtz]*n")
"""Directive of `printf` that sets a variable."""
_COMPARING = re.compile(r"!?=|==|-(?:eq|ne|lt|le|gt|ge)")


def _is_simple(line: CommandLine) -> bool:
    """Return True if a line consists of commands with known words, and redirections."""
    root = syntax_tree(line.text)
    return not any(node.type in _COMPUTED for node in below(root))


_COMPUTED = word_set("""
simple_expansion expansion command_substitution arithmetic_expansion process_substitution heredoc_redirect herestring_redirect ansi_c_string
variable_assignment declaration_command for_statement while_statement test_command function_definition brace_expression comment
""")
"""Parts of a line whose meaning is not its text."""


def _is_followed(line: CommandLine, runs: Sequence[Run]) -> bool:
    """Return True if a line has only statements that are followed exactly, and sets only variables of its own."""
    root = syntax_tree(line.text)
    if root.has_error or line.workspace is None or scripts_problem(line.text, line.parts) or _CONTROL.search(line.text):
        return False
    if any(UNKNOWN in source for run in runs for source in run.reads) or () in _in_background(line.text):
        return False
    if any(True for node in below(root) for _ in scripts_in(node)):
        return False
    for node in below(root):
        if node.type in _NOT_FOLLOWED and not _STATUS.fullmatch(node.text or b""):
            return False
        if _evaluates(node):
            return False
        substituted = any(inner.type == "command_substitution" for inner in below(node))
        if node.type in ("heredoc_body", "file_redirect", "expansion", "arithmetic_expansion") and substituted:
            return False
    own = frozenset(set_by(line.text))
    return (
        not any(MEANING.fullmatch(name) or name in line.workspace.env for name in own)
        and _called_in(root) <= {os.path.basename(run.words[0]) for run in runs if run.words} | _DECLARING
    )


def _in_background(text: str) -> list[tuple[str, ...]]:
    """Return the words of each program that a line starts with `&`.

    Return no words for a part that is more than one program, or could change the shell.
    """
    found = []
    for mark in (node for node in below(syntax_tree(text)) if node.type == "&"):
        before = mark.prev_sibling
        if before is not None and before.type == "redirected_statement":
            before = before.child_by_field_name("body")
        parts = before.named_children if before is not None and before.type == "command" else ()
        words = tuple(parse_word(part).text for part in parts)
        found.append(words if words and _PLAIN.fullmatch(words[0]) and words[0] not in BUILTINS else ())
    return found


def _called_in(root: Node) -> set[str]:
    """Return the plain names of all commands in a syntax tree: none of them may be missed."""
    texts = (source_of(node) for node in below(root) if node.type == "command_name")
    return {os.path.basename(text) for text in texts if _PLAIN.fullmatch(text)}


def _evaluates(node: Node) -> bool:
    """Return True if bash may run code in the value of a variable there, as in subscripts."""
    text = node.text or b""
    match node.type:
        case "test_command":
            numbers = _NUMBERS.search(text) is not None and text.startswith(b"[[")
            return bool(_SUBSCRIPT.search(text)) or (b"$" in text and (numbers or bool(_IS_SET.search(text))))
        case "expansion":
            return any(child.type in ("@", "!", ":") for child in node.children)
        case "arithmetic_expansion":
            return re.fullmatch(rb"\$\(\([\d\s()+*/%-]*\)\)", text) is None
        case _:
            return False


_NUMBERS = re.compile(rb"\s-(?:eq|ne|lt|le|gt|ge)\s")
_IS_SET = re.compile(rb"\s-[vR]\s")
_DECLARING = word_set("export declare typeset readonly local")


def _values_in(text: str) -> Iterator[str]:
    """Yield the known values that a line gives to variables: unquoted, the shell takes them apart."""
    for node in below(syntax_tree(text)):
        if node.type in ("for_statement", "variable_assignment"):
            yield from (parse_word(value).text for value in node.children_by_field_name("value"))


def set_by(text: str) -> Iterator[str]:
    """Yield the names of the variables that a line sets, but not for a single command."""
    for node in below(syntax_tree(text)):
        of_command = node.parent is not None and node.parent.type == "command"
        name = node.child_by_field_name("variable" if node.type == "for_statement" else "name")
        if node.type in ("for_statement", "variable_assignment") and name is not None and not of_command:
            yield source_of(name)
