"""Analysis of a shell command line: the facts that rules and modes need, gathered once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from agentcli.permissions import word_set
from agentcli.permissions.paths import Workspace, could_name_protected, impossible, judge_path, names_protected
from agentcli.permissions.readonly.commands import Looks, Reading, looks_at_machine, read_in_turn, read_only
from agentcli.permissions.readonly.fed import fed_files
from agentcli.permissions.readonly.file_names import meanings
from agentcli.permissions.readonly.table import READERS
from agentcli.permissions.shell.containable import ASKED, Containment, containment
from agentcli.permissions.shell.destructive import destruction
from agentcli.permissions.shell.file_commands import CHANGING, changes_inside_all
from agentcli.permissions.shell.known_programs import INTERPRETERS, KNOWN, WRAPPERS, never_saved, wider
from agentcli.permissions.shell.parse import UNKNOWN, Command, Part, contents, spellings
from agentcli.permissions.shell.strict import NotPlain, read_plain


@dataclass(frozen=True)
class CommandLine:
    """A command line and the facts about it that depend on no rule or mode. The texts are reasons, empty where they do not apply."""

    text: str
    refused: str = ""
    """The reason that it is denied unread: it is too long."""
    parts: tuple[Part, ...] = ()
    """Every command found anywhere in it, those that wrappers and nested shells would run too."""
    whole: bool = False
    """True if `parts` are all that it runs."""
    commands: tuple[Command, ...] = ()
    """Its commands in order, where it is fully understood; else none."""
    readings: tuple[Reading, ...] = ()
    """The verdict on each of `commands`: it only reads what may be read, or not."""
    inside: tuple[bool, ...] = ()
    """For each of `commands`: true if all that it changes is known to be files inside the workspace."""
    obstacle: str = ""
    """The reason that it is not fully understood."""
    protected: str = ""
    """The reason that it must ask in every mode."""
    meant: tuple[str, ...] = ()
    """The file names that stand for the patterns of a line that only reads."""
    destroys: str = ""
    """The reason that it can only destroy."""
    workspace: Workspace | None = field(default=None, repr=False)
    """The workspace it was analysed for; none for one that is refused unread."""

    @property
    def harmless(self) -> bool:
        """True if every command is known to only read what may be read."""
        return bool(self.commands) and not any(reading.why for reading in self.readings)

    @property
    def why(self) -> str:
        """The reason that the line is not harmless."""
        return self.obstacle or next((reading.why for reading in self.readings if reading.why), "")

    @property
    def machine(self) -> Looks:
        """The part of the machine that a harmless line looks at, if any."""
        return looks_at_machine(self.commands) if self.harmless else ""

    @cached_property
    def contained(self) -> Containment:
        """The verdict on the line in the sandbox. Walks folders, so it is made only when a mode asks for it."""
        if self.workspace is None or not self.workspace.sandboxed or self.destroys or self.protected:
            return ASKED
        folders = _folders(self.parts, self.workspace)
        return containment(self.text, self.parts, self.whole, bool(self.commands), folders, self.workspace)

    @cached_property
    def unsaved(self) -> str:
        """The reason that no rule is ever saved for the line; empty where one may be."""
        if self.protected:
            return self.protected
        if not self.commands:
            return self.obstacle
        reasons = (
            never_saved(command.words) if command.bare else f"the name {command.words[0]} is quoted"
            for command in self.commands
        )
        return next(filter(None, reasons), "")

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        """The patterns of the wider rules that would allow the line, one for each program that does not merely read; none where one lacks it."""
        if self.protected or self.destroys or not self.commands:
            return ()
        patterns = [
            wider(command.words, inside) if command.bare else ""
            for command, reading, inside in zip(self.commands, self.readings, self.inside, strict=True)
            if reading.why
        ]
        return tuple(dict.fromkeys(patterns)) if all(patterns) else ()

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The ways in which a rule may name the line or any command of it, wrappers peeled off."""
        return (self.text.strip(), *(text for part in self.parts for text in spellings(part)))

    @cached_property
    def beginnings(self) -> tuple[str, ...]:
        """The known beginnings of commands that the shell will complete: `git p` of `git p$(x)`."""
        texts = (" ".join(piece.text for piece in part.words) for part in self.parts)
        return tuple(text.partition(UNKNOWN)[0] for text in texts if UNKNOWN in text)

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """The texts that may be run by something that is not understood here: scripts, arguments, values of variables."""
        texts = [match.group() for match in _ASSIGNED.finditer(self.text)]
        for part in self.parts:
            name = os.path.basename(part.words[0].text) if part.words else ""
            if name.rstrip("0123456789.") in INTERPRETERS or not (name in READERS or name in WRAPPERS or name in KNOWN):
                texts += (piece.text for piece in part.words[1:])
        return tuple(texts)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Everything in the line that could be a path."""
        words = (word for part in self.parts for word in (*part.words[1:], *part.writes, *part.reads))
        return tuple(path for word in (*(piece.text for piece in words), *self.meant) for path in _paths_in(word))


_ASSIGNED = re.compile(r"""\b[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=(?:'[^']*'|"[^"]*"|\S)*""")


def analyse(text: str, workspace: Workspace) -> CommandLine:
    """Analyse a line. One that is beyond the limits is refused without being read."""
    limits = workspace.limits
    if len(text) > limits.characters:
        return CommandLine(text, f"the command is longer than {limits.characters:,} characters")
    parts, whole = contents(text)
    if len(parts) > limits.commands:
        return CommandLine(text, f"the line holds more than {limits.commands} commands")
    read = read_plain(text)
    obstacle, commands = (read.why, ()) if isinstance(read, NotPlain) else ("", read)
    if len(commands) > limits.parts:
        obstacle, commands = f"the line holds more than {limits.parts} commands", ()
    in_turn = read_in_turn(commands, workspace)
    readings = tuple(reading for reading, _ in in_turn)
    inside = tuple(
        command.words[0] in CHANGING and changes_inside_all(command, folders, workspace)
        for command, (_, folders) in zip(commands, in_turn, strict=True)
    )
    meant = _meant(commands, in_turn, workspace)
    protected = _why_protected(readings, parts, workspace)
    destroys = "" if workspace.destroys else destruction(text, parts, workspace)
    return CommandLine(
        text, "", parts, whole, commands, readings, inside, obstacle, protected, meant, destroys, workspace
    )


def _meant(
    commands: Sequence[Command], in_turn: Sequence[tuple[Reading, tuple[Path, ...]]], workspace: Workspace
) -> tuple[str, ...]:
    meant: list[str] = []
    for number, (command, (reading, folders)) in enumerate(zip(commands, in_turn, strict=True)):
        if command.globs or command.loop:
            rounds = meanings(command, folders, workspace)
            meant += [] if isinstance(rounds, str) else [word for words in rounds for word in words[1:]]
        elif command.words[0] == "xargs" and not reading.why:
            files = fed_files(commands, number, folders, workspace)
            meant += [] if isinstance(files, str) else files
    return tuple(meant)


_READING = word_set("""
ls dir cat tac nl head tail wc stat du df realpath readlink strings od hexdump cksum sum md5sum sha1sum sha224sum sha256sum
sha384sum sha512sum b2sum shasum grep egrep fgrep rg cut tr comm join paste column fold fmt expand unexpand rev diff cmp jq basename
dirname echo printf test which type
""")
"""Programs that write no file, whatever their options: a protected name among their words is only read."""

_FOLDERS = 8
_IN_SCRIPTS = re.compile(r"[\s'\"`()\[\]{},;=:<>|&!+]+")
_PROCESS_SECRETS = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|root|cwd|fd)(?:/|\Z)")


def _why_protected(readings: Sequence[Reading], parts: Sequence[Part], workspace: Workspace) -> str:
    """The reason that the line must ask in every mode, or the empty string. `readings` are empty for a line that is not understood."""
    if readings and not any(reading.why for reading in readings):
        return ""
    for reading in readings:
        if reading.protected:
            return reading.why
    folders = _folders(parts, workspace)
    for part in parts:
        if why := _part_protected(part, folders, workspace):
            return why
    return ""


def _folders(parts: Sequence[Part], workspace: Workspace) -> list[Path]:
    """The folders that the commands of a line may run in: each `cd` may have failed."""
    folders = [workspace.cwd]
    for part in parts:
        values = [piece.text for piece in part.words if piece.known and not piece.text.startswith("-")]
        if len(values) == 2 and values[0] in ("cd", "pushd") and not impossible(values[1]):
            target = values[1].replace("$HOME", str(workspace.home))
            target = str(workspace.home) + target[1:] if target == "~" or target.startswith("~/") else target
            folders += [folder / target for folder in folders]
    return list(dict.fromkeys(folders))[:_FOLDERS]


def _part_protected(part: Part, folders: Sequence[Path], workspace: Workspace) -> str:
    values = [piece.text for piece in part.words]
    for piece in (*part.words[1:], *part.reads, *part.writes):
        if piece.loose and could_name_protected(piece.text):
            return f"{piece.text} may stand for a protected file"
    if values and len(folders) == 1 and not part.writes and not part.reads and all(piece.known for piece in part.words):
        (reading,) = read_only((Command(tuple(values), "", True),), workspace)
        if not reading.why or reading.protected:
            return reading.why
    name = os.path.basename(values[0]) if values else ""
    reads = name in _READING
    targets = [(word, not reads) for word in values[1:]] + [(piece.text, True) for piece in part.writes]
    for word, write in [*targets, *((piece.text, False) for piece in part.reads)]:
        for candidate in {*_paths_in(word), *_quoted_in(name, word)}:
            for folder in folders:
                if why := _word_protected(candidate, write, folder, workspace):
                    return why
    return ""


def _quoted_in(name: str, word: str) -> Iterator[str]:
    """The words that a script for an interpreter may name: `python -c 'open(".env")'`."""
    if name.rstrip("0123456789.") in INTERPRETERS:
        yield from (token for token in _IN_SCRIPTS.split(word) if token and token != word)


def _paths_in(word: str) -> Iterator[str]:
    """The paths that a word of an unknown command may name: itself, or what follows `=`, `:`, `@` or an option's letter."""
    forms = {word, word.partition("=")[2], word.rpartition(":")[2], word.rpartition("@")[2], word.lstrip("@<>")}
    if len(word) > 2 and word[0] == "-" and word[1] != "-":
        forms.add(word[2:])
    return (form for form in forms if form and len(form) < 4096 and "\n" not in form)


def _word_protected(text: str, write: bool, folder: Path, workspace: Workspace) -> str:
    if named := names_protected(text, write=write):
        return f"{named} is protected"
    if UNKNOWN in text or text.startswith("-"):
        return ""
    verdict = judge_path(text, workspace, write=write, cwd=folder)
    secret = verdict.verdict == "refused" and _PROCESS_SECRETS.match(os.path.normpath(folder / text))
    return verdict.why if secret or verdict.verdict == "protected" else ""
