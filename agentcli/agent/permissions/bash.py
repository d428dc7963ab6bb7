"""What the policy needs to know of a shell command before any rule or mode is asked."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentcli.agent.permissions.commands import Reading, read_only
from agentcli.agent.permissions.guarded import paths_in, why_protected
from agentcli.agent.permissions.nested import WRAPPERS, Contents, contents, spellings
from agentcli.agent.permissions.ordinary import INTERPRETERS, KNOWN, NETWORK, is_ordinary
from agentcli.agent.permissions.place import Place
from agentcli.agent.permissions.plain import NotPlain, read_plain
from agentcli.agent.permissions.rules import Rule, command_pattern, exact
from agentcli.agent.permissions.shell import UNKNOWN, Command, Part
from agentcli.agent.permissions.table import READERS

_STARTERS = (
    *(
        "--pre",
        "--hostname-bin",
        "--compress-program",
        "--ext-diff",
        "--textconv",
        "--open-files-in-pager",
        "--use-compress-program",
    ),
    *(
        "--checkpoint-action",
        "--to-command",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--config-env",
        "--git-dir",
        "--work-tree",
    ),
)
"""Options by which an ordinary program starts another one."""


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, looked at once: `plain` when it is fully understood, `readings` beside its commands."""

    text: str
    refused: str
    contents: Contents
    plain: tuple[Command, ...]
    readings: tuple[Reading, ...]
    obstacle: str
    protected: str

    @property
    def harmless(self) -> bool:
        """Whether every command is known to only read what may be read."""
        return bool(self.plain) and not any(reading.why for reading in self.readings)

    @property
    def why(self) -> str:
        """Why the line is not harmless."""
        return self.obstacle or next((reading.why for reading in self.readings if reading.why), "")


def look_at(text: str, place: Place) -> Line:
    """Everything about a line that needs no rule. A line beyond the limits is refused without being read."""
    limits = place.limits
    if len(text) > limits.characters:
        return _refusal(text, f"the command is longer than {limits.characters:,} characters")
    inside = contents(text)
    if len(inside.parts) > limits.commands:
        return _refusal(text, f"the line holds more than {limits.commands} commands")
    read = read_plain(text)
    obstacle = read.why if isinstance(read, NotPlain) else ""
    plain = () if isinstance(read, NotPlain) else read
    readings = read_only(plain, place)
    if len(plain) > limits.parts:
        obstacle = f"the line holds more than {limits.parts} commands"
        plain, readings = (), ()
    protected = why_protected(plain, readings, inside, place)
    return Line(text, "", inside, plain, readings, obstacle, protected)


def forbidding(line: Line, rules: Sequence[Rule]) -> Rule | None:
    """The first rule about commands that speaks of any command of the line, however it is wrapped."""
    if not rules:
        return None
    texts = [line.text.strip(), *(text for part in line.contents.parts for text in spellings(part))]
    for rule in rules:
        if not rule.pattern or any(command_pattern(rule.pattern).fullmatch(text) for text in texts):
            return rule
    return None


def hides(line: Line, rules: Iterable[Rule]) -> bool:
    """Whether a command that a rule about commands speaks of may run where it cannot be seen.

    Something of the line is unknown, or a program that is not known by trade gets the command's name among its arguments:
    in the text of a script, behind an option, as the value of a variable.
    """
    patterns = [rule.pattern for rule in rules]
    if not patterns or line.harmless:
        return False
    if not line.contents.whole or any(_half_known(part, patterns) for part in line.contents.parts):
        return True
    names = "|".join(re.escape(head[0]) for pattern in patterns if (head := pattern.split("*")[0].split()))
    mention = re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])")
    return bool(names) and any(mention.search(text) for text in _unseen(line))


def _half_known(part: Part, patterns: Iterable[str]) -> bool:
    """Whether the shell may complete the words to what a rule speaks of: `git p$(x)` to `git push`."""
    text = " ".join(piece.text for piece in part.words)
    known, unknown, _ = text.partition(UNKNOWN)
    heads = (pattern.split("*")[0] for pattern in patterns)
    return bool(unknown) and any(head.startswith(known) for head in heads)


_ASSIGNED = re.compile(r"""\b[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=(?:'[^']*'|"[^"]*"|\S)*""")


def _unseen(line: Line) -> Iterator[str]:
    """The texts of a line that may be run by something that is not understood here."""
    for part in line.contents.parts:
        name = os.path.basename(part.words[0].text) if part.words else ""
        if name.rstrip("0123456789.") in INTERPRETERS or not (name in READERS or name in WRAPPERS or name in KNOWN):
            yield from (piece.text for piece in part.words[1:])
    yield from (match.group() for match in _ASSIGNED.finditer(line.text))


def allowing(line: Line, rules: Sequence[Rule]) -> Rule | None:
    """The rule about commands that allows the line: its exact text, or all commands that do not merely read match some rule."""
    for rule in rules:
        if rule.pattern in ("", "*") or rule.pattern == exact(line.text.strip()):
            return rule
    used: Rule | None = None
    for command, reading in zip(line.plain, line.readings, strict=True):
        match = next((rule for rule in rules if command_pattern(rule.pattern).fullmatch(rule_text(command))), None)
        if match is None and reading.why:
            return None
        used = match or used
    return used


def rule_text(command: Command) -> str:
    """A command as rules match it: words joined by blanks, quoted only where a blank is part of a word."""
    spaced = any(not word or any(letter.isspace() for letter in word) for word in command.words)
    return shlex.join(command.words) if spaced else command.text


def always_pattern(line: Line) -> str:
    """The pattern of the rule that would allow this very line again, or the empty string where none may be saved."""
    return "" if unsaved(line) else exact(line.text.strip())


def unsaved(line: Line) -> str:
    """Why no rule is ever saved for the line; empty where one may be."""
    if line.protected:
        return line.protected
    if not line.plain:
        return line.obstacle
    return next(filter(None, map(_never_saved, line.plain)), "")


def ordinary(line: Line) -> bool:
    """Whether the line only reads, builds and tests: what a sandbox may run unasked."""
    return bool(line.plain) and all(
        not reading.why or is_ordinary(command) for command, reading in zip(line.plain, line.readings, strict=True)
    )


def words_of(line: Line) -> Iterator[str]:
    """Everything in a line that could be a path, for rules about paths."""
    for part in line.contents.parts:
        for word in (*part.words[1:], *part.writes, *part.reads):
            yield from paths_in(word.text)


_FETCHING = frozenset({"push", "fetch", "pull", "clone", "ls-remote", "remote", "submodule"})


def _never_saved(command: Command) -> str:
    """Why a command is asked about each time, in words that follow its name."""
    name, *arguments = command.words
    base = os.path.basename(name)
    if not command.bare:
        return f"the name {name} is quoted"
    if base.rstrip("0123456789.") in INTERPRETERS or base in INTERPRETERS:
        return f"{base} runs whatever it is given"
    if base in WRAPPERS or any(word.startswith(_STARTERS) for word in arguments):
        return f"{base} starts other programs"
    if base in NETWORK or (base == "git" and not _FETCHING.isdisjoint(arguments)):
        return f"{base} uses the network"
    options_first = base == "git" and bool(arguments) and arguments[0].startswith("-")
    return f"{base} may run what its arguments hold" if options_first or base in ("test", "printf") else ""


def _refusal(text: str, why: str) -> Line:
    return Line(text, why, Contents((), False), (), (), why, "")
