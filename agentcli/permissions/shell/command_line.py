"""Analysis of a shell command line: the facts that rules and modes need, gathered once."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.permissions.paths import (
    CommandLimits,
    Workspace,
    below,
    is_installed,
    judge_path,
    names_inside,
    resolved,
)
from agentcli.permissions.shell.effects.always_asked import MOST_FOLDERS, destruction, folders_of, why_protected
from agentcli.permissions.shell.effects.changes import CHANGING, changes_inside_all
from agentcli.permissions.shell.effects.consequences import named_consequence
from agentcli.permissions.shell.effects.fed import fed_files, files_found, found_by
from agentcli.permissions.shell.effects.git_repositories import DISCARDING, git_placed, replaces_files
from agentcli.permissions.shell.effects.harmless_values import Assignments, without_assignments
from agentcli.permissions.shell.effects.hiding import hides, may_run, spelled
from agentcli.permissions.shell.effects.reading import (
    VAGUE,
    Looks,
    Reader,
    Reading,
    acting_parts,
    looks_at_machine,
)
from agentcli.permissions.shell.programs.git_table import GIT_READERS, path_named, shows_text
from agentcli.permissions.shell.programs.known_programs import (
    KNOWN,
    MOVES,
    WRAPPERS,
    is_interpreter,
    limited,
    never_saved,
    uses_network,
)
from agentcli.permissions.shell.programs.option_grammar import fit
from agentcli.permissions.shell.programs.readers import BRACKETS, READERS, shows_no_content
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.parse import (
    UNKNOWN,
    Command,
    Part,
    assigned_words,
    contents,
    plain_git,
    runs,
    spellings,
    started,
    starts_in_background,
    starts_interpreter,
)
from agentcli.permissions.shell.syntax.strict import WRITES, NotPlain, read_plain
from agentcli.permissions.shell.syntax.written_out import with_home, written_out
from agentcli.permissions.unattended import TOO_LONG

if TYPE_CHECKING:
    from agentcli.permissions.shell.effects.containable import Containment
    from agentcli.permissions.shell.effects.elsewhere import Elsewhere
    from agentcli.permissions.shell.syntax.state import Run


@dataclass(frozen=True)
class CommandLine:
    """Command line with the facts that depend on no rule or mode. Texts are reasons, empty if they do not apply."""

    text: str
    refused: str = ""
    """Reason to deny it unread: no system starts it."""
    parts: tuple[Part, ...] = ()
    """Every command in it, including commands that wrappers and nested shells would run."""
    whole: bool = False
    """True if `parts` are all commands that it runs."""
    commands: tuple[Command, ...] = ()
    """Its commands in order if it is fully understood, else empty."""
    readings: tuple[Reading, ...] = ()
    """Verdict on each of `commands`: whether it only reads permitted files."""
    inside: tuple[bool, ...] = ()
    """For each of `commands`: true if it is known to change only files inside the workspace."""
    folders: tuple[tuple[Path, ...], ...] = ()
    """For each of `commands`: the folders in which it may run."""
    obstacle: str = ""
    """Reason why it is not fully understood."""
    protected: str = ""
    """Reason why it must ask in every mode."""
    protected_in_sandbox: str = ""
    """Reason why it must ask even if it runs in the sandbox, where no program writes an existing protected file."""
    meant: tuple[str, ...] = ()
    """File names that match the patterns of a read-only line."""
    destroys: str = ""
    """Reason why it can only destroy."""
    workspace: Workspace | None = field(default=None, repr=False)
    """The workspace of the analysis; None if the line was refused unread."""
    reader: Reader | None = field(default=None, repr=False, compare=False)
    """Judge of its commands, for that workspace."""
    assigned: Mapping[int, Assignments] = field(default_factory=dict)
    """Variables set for single commands, by the command's number in the line without them."""
    without_assignments: CommandLine | None = None
    """The line without these variables, if that is fully understood."""

    @cached_property
    def reaches(self) -> str:
        """Reason why it acts outside the workspace, on others' files or as root; empty if it does not."""
        if self.workspace is None or self.workspace.destroys or self.harmless:
            return ""
        from agentcli.permissions.shell.effects.reaching import reach  # 11 ms, only for what allows everything

        return reach(self.text, self.workspace)

    @property
    def reaches_here(self) -> str:
        """The same, without what it runs on other machines by ssh."""
        if not self.reaches or self.workspace is None:
            return ""
        from agentcli.permissions.shell.effects.reaching import reach

        return reach(self.text, self.workspace, there=False)

    @cached_property
    def followed(self) -> tuple[Run, ...] | None:
        """Every command as it may run, with values of variables; None if the line is too deep to follow."""
        from agentcli.permissions.shell.syntax.flow import runs_of  # 15 ms; most lines are understood without it

        runs = runs_of(self.text, self.workspace) if self.workspace is not None else []
        return None if runs is None else tuple(runs)

    @cached_property
    def surely_followed(self) -> tuple[Run, ...] | None:
        """The same, but the words whose values are not certain are unknown."""
        from agentcli.permissions.shell.syntax.flow import surely_run  # 15 ms

        runs = surely_run(self.text, self.workspace) if self.workspace is not None else []
        return None if runs is None else tuple(runs)

    @cached_property
    def displaces(self) -> bool:
        """True if it puts links or protected files at paths that its other commands may use."""
        if self.workspace is None or not any(word in self.text for word in ("mv", "cp", "ln", "rsync")):
            return False
        from agentcli.permissions.shell.effects.taking import displaces

        return self.followed is None or displaces(self.text, self.followed, self.workspace)

    @property
    def harmless(self) -> bool:
        """True if every command is known to only read permitted files."""
        return bool(self.commands) and not any(reading.why for reading in self.readings)

    @property
    def why(self) -> str:
        """Reason why the line is not harmless; a consequence that needs caution, if a command has one."""
        why = self._obstacle or next((reading.why for reading in self.readings if reading.why), "")
        return _with_consequence(why, self._consequence if why else "")

    @cached_property
    def _obstacle(self) -> str:
        """Reason why it is not fully understood; for a redirection, the file that a command writes."""
        if self.obstacle != WRITES:
            return self.obstacle
        return next((written for part in self.parts for written in _writes(part)), self.obstacle)

    @cached_property
    def _consequence(self) -> str:
        """The first consequence of a command that needs caution, with the command's name; empty if none is known."""
        all_words = (part.texts for part in self.parts)
        return next(filter(None, (named_consequence(words, self.places) for words in all_words)), "")

    def explained(self) -> tuple[str, ...]:
        """Return the reasons of the commands that need a question, in order: `rm deletes files`.

        A reason why the line is hard to read comes last.
        """
        return tuple(dict.fromkeys(filter(None, (*self._reasons(), self._obstacle))))

    def _reasons(self) -> Iterator[str]:
        if self.commands:
            for command, reading in zip(self.commands, self.readings, strict=True):
                if reading.why:
                    yield _with_consequence(reading.why, named_consequence(command.words, self.places))
        else:
            for part in self.parts:
                words = part.texts
                yield named_consequence(words, self.places) or self._reason_alone(words)
                yield from _writes(part)

    def _reason_alone(self, words: Sequence[str]) -> str:
        """Return the reason that a command of the line would have by itself; empty if its words are unknown."""
        if not words or self.workspace is None or any(UNKNOWN in word for word in words):
            return ""
        found = analyse(shlex.join(words), self.workspace)
        return "" if found.obstacle else found.why

    @cached_property
    def _discards(self) -> str:
        """Reason why git discards changes of files that exist nowhere else; empty if it does not."""
        git = (plain_git(part.texts) for part in self.parts if part.words)
        found = (words for words in git if len(words) > 1 and words[0] == "git" and words[1] in DISCARDING)
        return next((f"git {words[1]} discards changes" for words in found if replaces_files(words)), "")

    @cached_property
    def elsewhere(self) -> Elsewhere:
        """Verdict on the line as it would run outside the sandbox, part by part if it is not plain."""
        from agentcli.permissions.shell.effects.elsewhere import Elsewhere, judged_elsewhere, mentions, together

        if self.workspace is None or self.reader is None or not mentions(self.parts):
            return Elsewhere()
        if self.commands:
            return judged_elsewhere(self.commands, self.readings, self.folders, self.workspace, self.reader)
        plain = with_home(self.text, str(self.workspace.home)) if "~" in self.text else self.text
        if plain != self.text:
            return analyse(plain, self.workspace).elsewhere
        from agentcli.permissions.shell.effects.chains import pieces

        parts = pieces(self.text)
        if len(parts) < 2:
            return Elsewhere()
        found = [analyse(part.text, self.workspace).elsewhere for part in parts]
        return replace(together(found), others=True)

    def answer_to(self, number: int) -> Elsewhere | None:
        """Return the hosts or pushes that a person may allow for one of `commands`; None if nothing is enough.

        A push without a branch's name counts only if no command before it may switch to another branch.
        """
        from agentcli.permissions.shell.effects.elsewhere import acts_by_name, answer_to
        from agentcli.permissions.shell.effects.taking import changes_no_file, makes_no_links

        command = self.commands[number]
        if self.workspace is None or self.reader is None or not acts_by_name(command.words):
            return None
        found = answer_to(command, self.folders[number], self.workspace, self.reader)
        before = [one for one, reading in zip(self.commands[:number], self.readings, strict=False) if reading.why]
        if found is not None and found.switched and any(map(_may_switch, before)):
            return None
        if found is not None and found.takes and not all(makes_no_links(one.words) for one in before):
            return None
        if found is not None and found.settled and not all(changes_no_file(one.words) for one in before):
            return None
        return found

    @property
    def machine(self) -> Looks:
        """The part of the machine that a line looks at, if it only reads."""
        if self.commands:
            return looks_at_machine(self.commands) if self.harmless else ""
        return looks_at_machine([Command(run.words, "", True) for run in self.surely_followed or () if run.words])

    @cached_property
    def contained(self) -> Containment:
        """Verdict on the line in the sandbox. It walks folders, so it is computed only if a mode needs it."""
        from agentcli.permissions.shell.effects.containable import (  # 6 ms, only for mode auto and rules for the sandbox
            ASKED,
            containment,
        )

        if self.workspace is None or not self.workspace.sandboxed or self.destroys or self.protected_in_sandbox:
            return ASKED
        reader = self.reader or Reader(self.workspace)
        parts, whole = self._running
        found = containment(self.text, parts, whole, bool(self.commands), self._places(parts), self.workspace, reader)
        apart = found.mixed or (bool(found.why) and self.elsewhere.acts and not self.elsewhere.why)
        return (self._divided or found) if apart else found

    @property
    def _divided(self) -> Containment | None:
        """Verdict on the line in parts, each in a separate sandbox; None if it can't be divided."""
        from agentcli.permissions.shell.effects.chains import in_parts
        from agentcli.permissions.shell.effects.containable import Containment

        assert self.workspace is not None
        workspace = self.workspace

        def judged(text: str) -> Containment:
            line = analyse(text, workspace)
            there = line.elsewhere
            here = Containment(
                outside=True, switched=there.switched, fresh=there.fresh, takes=there.takes, settled=there.settled
            )
            return here if there.runs and not line.protected else line.contained

        return in_parts(self.text, workspace, judged)

    @cached_property
    def _running(self) -> tuple[tuple[Part, ...], bool]:
        """Its commands without texts that are only completed, and whether it runs nothing else."""
        other = "complete" in self.text or any(map(starts_interpreter, self.parts))
        return contents(self.text, completions=False) if other else (self.parts, self.whole)

    @property
    def _stays(self) -> bool:
        """True if no command of it can change to another folder."""
        names = [part.words[0] for part in self.parts if part.words]
        plain = all(name.known and not name.loose for name in names)
        return bool(self.commands) and plain and not any(os.path.basename(name.text) in MOVES for name in names)

    def _places(self, parts: Sequence[Part]) -> tuple[tuple[Path, ...], ...]:
        """Return the folders of each part, by the moves before it or all folders of the line."""
        if self._stays:
            return (self.places,) * len(parts)
        ran: dict[tuple[str, ...], tuple[Path, ...]] = {}
        for run in self.followed or ():
            ran[run.words] = (*ran.get(run.words, ()), *run.folders)
        words = (tuple(part.texts) for part in parts)
        return tuple(tuple(dict.fromkeys(ran.get(each) or self.places))[:MOST_FOLDERS] for each in words)

    @property
    def _placed(self) -> Iterator[tuple[Part, tuple[Path, ...]]]:
        """Each of its commands with the folders in which it may run."""
        parts = self._running[0]
        return zip(parts, self._places(parts), strict=True)

    @cached_property
    def acting(self) -> tuple[str, ...]:
        """Commands of the line that may do more than read; all of them if there are none.

        A command's script is judged separately, except for commands in it that need caution. A command whose name only
        the shell knows is included.
        """
        texts = [" ".join(started(part)) for part in self._acting]
        all_words = (part.texts for part in self._running[0])
        texts += (" ".join(words) for words in all_words if words and named_consequence(words, self.places))
        return tuple(dict.fromkeys(texts))

    @cached_property
    def _acting(self) -> list[Part]:
        return acting_parts(self.text)

    @cached_property
    def alone(self) -> Containment:
        """Verdict on the line in a sandbox that shares neither /tmp nor localhost.

        It serves a person who allows only the line's programs. It contains no path outside the workspace, and git
        replaces no files. It may query a local server if it starts something in the background first.
        """
        from agentcli.permissions.shell.effects.containable import ASKED, Containment

        if self.workspace is None:
            return ASKED
        from agentcli.permissions.shell.effects.covered import leads_away  # 5 ms: the tables of all options

        serves = starts_in_background(self.text)
        workspace = replace(self.workspace, tmp=None, loopback=self.workspace.loopback if serves else None)
        words = (piece.text for part in self._acting for piece in part.words[1:])
        away = next((word for word in words if leads_away(word, self.places, workspace)), "")
        if any(judge_path(str(folder), workspace, write=False).verdict == "outside" for folder in self.places):
            return Containment("the line leads outside the workspace")
        if why := self._discards or (f"{away} is outside the workspace" if away else ""):
            return Containment(why)
        return replace(self, workspace=workspace, reader=None).contained

    @cached_property
    def read_outside(self) -> tuple[Path, ...]:
        """Paths outside the workspace in its words, and folders there in which it runs."""
        return tuple(self._outside)

    @cached_property
    def _outside(self) -> Mapping[Path, bool]:
        """The same paths, and of each whether a path of the workspace leads to it."""
        if self.workspace is None:
            return {}
        found: dict[Path, bool] = {}
        for word, at in self._named():
            verdict = judge_path(word, self.workspace, write=False, cwd=at)
            if verdict.verdict == "outside" and verdict.path is not None:
                found[verdict.path] = found.get(verdict.path, False) or names_inside(word, at, self.workspace)
        return found

    def _named(self) -> Iterator[tuple[str, Path]]:
        """Yield the words that may be paths, each with a folder in which its command may run."""
        assert self.workspace is not None
        for part, folders in self._placed:
            words = (piece.text for piece in (*part.words[1:], *part.reads, *part.writes) if piece.known)
            program = (
                piece.text for piece in part.words[:1] if piece.known and self._lies_outside(piece.text, folders)
            )
            forms = (form for word in (".", *program, *words) for form in (word, word.partition("=")[2]))
            yield from product((form for form in forms if form and not any(map(str.isspace, form))), folders)
        for command, folders in zip(self.commands, self.folders, strict=True):
            if command.words[0] in BRACKETS:  # its part has no words
                yield from product(command.words[1:-1], folders)
        for word in assigned_words(self.text):
            named = re.sub(r"^\$HOME\b", str(self.workspace.home), word)
            listed = named.split(":") if named.startswith(("/", "~")) else (word,)  # such as PATH
            yield from ((place, self.workspace.cwd) for place in listed if place)

    def _lies_outside(self, program: str, folders: Sequence[Path]) -> bool:
        """Return True if a program is called by its path, and neither in the workspace nor installed for all commands."""
        assert self.workspace is not None
        found = [judge_path(program, self.workspace, write=False, cwd=at) for at in folders if "/" in program]
        return any(
            one.verdict == "outside" and one.path and not is_installed(one.path, self.workspace) for one in found
        )

    @property
    def links_outside(self) -> bool:
        """True if a path of the workspace in its words leads outside, by a link that the project may contain."""
        assert self.workspace is not None
        if any(self._outside.values()):
            return True
        roots = self.workspace.resolved_roots
        for part, folders in self._placed:
            words = (piece.text.rpartition("=")[2] for piece in (*part.words[1:], *part.reads, *part.writes))
            for word, at in product(words, folders):
                if not names_inside(word, at, self.workspace):
                    continue
                if not below(resolved(os.path.normpath(at / os.path.expanduser(word))), roots):
                    return True
        return False

    @property
    def calls_git(self) -> bool:
        """True if a command of it reads or changes repositories."""
        return any(words[0] in ("git", "jj") for part in self._running[0] for words in runs(part))

    @cached_property
    def only_lists(self) -> bool:
        """True if each command only reads what it may read, or shows only names, sizes and times of files."""
        each = zip(self.commands, self.readings, strict=True)
        return bool(self.commands) and all(not of.why or shows_no_content(one.words) for one, of in each)

    @property
    def shows_history(self) -> bool:
        """True if it may show the content of files that a repository has recorded."""
        git = (plain_git(part.texts) for part in self._running[0] if part.words)
        each = zip(self.commands, self.readings, strict=True)
        if not self.commands or any(of.why and not of.outside and one.words[0] != "git" for one, of in each):
            return True
        named = [words[1:] for words in git if words[0] == "git" and words[1:]]
        if any(words[0] not in GIT_READERS for words in named):
            return True
        found = ((words[0], fit(GIT_READERS[words[0]], words[1:])) for words in named)
        return any(isinstance(fitting, str) or shows_text(name, fitting[1]) for name, fitting in found)

    @property
    def recorded_names(self) -> tuple[str, ...]:
        """Paths of recorded files in its words: `a.txt` of `HEAD:a.txt`."""
        words = (piece.text for part in self._running[0] for piece in part.words[1:])
        return tuple(name for word in words if (name := path_named(word)))

    @property
    def may_send(self) -> bool:
        """True if a command of it may use the network."""
        return any(uses_network(words, folders) for part, folders in self._placed for words in runs(part))

    def contained_with(self, shown: Sequence[Path]) -> bool:
        """Return True if the sandbox would contain the line if it showed these paths, too."""
        if self.workspace is None:
            return False
        seen = (*self.workspace.shown(), *shown)
        return not replace(self, workspace=replace(self.workspace, shown=lambda: seen), reader=None).contained.why

    @cached_property
    def unsaved(self) -> str:
        """Reason why no rule is ever saved for the line; empty if one may be."""
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
    def ruled(self) -> tuple[tuple[Command, tuple[Path, ...]], ...]:
        """Each of `commands` in the form of rules, with its folders.

        The workspace's `git -C src add x` becomes `git add x` in `src`, and `timeout 9 make` becomes `make`.
        """
        return tuple(map(self._ruled, self.commands, self.folders))

    def _ruled(self, command: Command, folders: tuple[Path, ...]) -> tuple[Command, tuple[Path, ...]]:
        inner = tuple(limited(command.words))
        free = self.reader is not None and not self.reader.chosen_here(command.words[0], folders)
        if inner != command.words and not inner[0].startswith("-") and (command.words[0] == "time" or free):
            return self._ruled(replace(command, words=inner, globs=command.globs[-len(inner) :]), folders)
        if command.words[0] != "git" or command.globs or command.loop or self.workspace is None:
            return command, folders
        placed = git_placed(command.words, folders)
        if placed is None or len(placed[0]) < 2 or placed[0] == command.words:
            return command, folders
        words, places = placed
        workspace = self.workspace
        if any(judge_path(str(place), workspace, write=False).verdict != "free" for place in places):
            return command, folders
        return replace(command, words=words), tuple(places)

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """All texts by which a rule may match the line or any command of it, with wrappers removed."""
        followed = (text for run in self.followed or () for text in spelled(run))
        return tuple(
            dict.fromkeys((self.text.strip(), *(text for part in self.parts for text in spellings(part)), *followed))
        )

    def may_run(self, head: str) -> bool:
        """Return True if a command that begins with `head` may run through unknown words or an alias."""
        runs = self.followed
        return runs is None or hides(self.text, head) or any(may_run(run, head) for run in runs)

    @cached_property
    def places(self) -> tuple[Path, ...]:
        """Folders in which any command of it may run, even if it is not understood."""
        return tuple(folders_of(self.parts, self.workspace)) if self.workspace is not None else ()

    @cached_property
    def beginnings(self) -> tuple[str, ...]:
        """Known beginnings of commands that the shell will complete: `git p` of `git p$(x)`."""
        texts = (" ".join(part.texts) for part in self.parts)
        return tuple(text.partition(UNKNOWN)[0] for text in texts if UNKNOWN in text)

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """Texts that an unknown program may run: scripts, arguments, values of variables."""
        from agentcli.permissions.shell.effects.starting import started_by_options  # only for deny rules

        texts = [match.group() for match in _ASSIGNED.finditer(self.text)]
        for part in self.parts:
            texts += started_by_options(plain_git(part.texts)) if part.words else ()
            name = os.path.basename(part.words[0].text) if part.words else ""
            if is_interpreter(name) or not (name in READERS or name in WRAPPERS or name in KNOWN):
                texts += part.texts[1:]
        texts += (run.script for run in self.followed or ())
        return tuple(texts)


def _may_switch(command: Command) -> bool:
    """Return True if a command may change which branch is current."""
    words = plain_git(list(command.words))
    return words[0] in ("git", "gh") and not (words[0] == "git" and words[1:2] and words[1] in _STAYING)


_STAYING = frozenset({"add", "commit", "tag", "mv", "rm", "fetch", "pull", "push"})
"""Commands of git that stay on the current branch."""
_ASSIGNED = re.compile(r"""\b[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=(?:'[^']*'|"[^"]*"|\S)*""")


def _writes(part: Part) -> Iterator[str]:
    """Yield what a command's redirections write: `writes a.txt`."""
    for target in part.writes:
        if target.text != "/dev/null" and not target.text.isdigit():
            yield f"writes {target.text}".replace(UNKNOWN, "…")


def _with_consequence(why: str, named: str) -> str:
    """Return a reason after the command's consequence; only the consequence if the reason merely states that something
    may change.
    """
    return named if named and why.endswith(VAGUE) else "; ".join(filter(None, (named, why)))


def analyse(text: str, workspace: Workspace) -> CommandLine:
    """Analyse a line. Refuse a line that no system starts without reading it."""
    most = workspace.limits.bytes
    if len(text.encode("utf-8", "surrogatepass")) > most:
        return CommandLine(text, f"no system starts a command of more than {most:,} bytes; make files with `write`")
    judged = with_home(text, str(workspace.home)) if workspace.exposed.paths else text
    judged = written_out(judged, workspace.env, str(workspace.home), workspace.tmp is not None)
    parts, whole = contents(judged)
    line = replace(_judged(judged, parts, whole, workspace), text=text)
    if (
        not line.commands
        and ("~" in judged or "HOME" in judged)
        and (named := with_home(judged, str(workspace.home))) != judged
    ):
        line = _with_home(line, named)
    by_env = any(command.words[0] == "env" for command in line.commands)
    found = None if line.commands and not by_env else without_assignments(judged)
    if found is None:
        return line
    plain = analyse(found[0], workspace)
    same = len(plain.commands) == len(parts) and not any(command.loop for command in plain.commands)
    return replace(line, assigned=found[1], without_assignments=plain) if same else line


def _with_home(line: CommandLine, text: str) -> CommandLine:
    """Return a line with the commands of `text`, which names the home folder; the same line if they are protected."""
    assert line.workspace is not None
    seen = _judged(text, *contents(text), line.workspace)
    if not seen.commands or seen.protected:
        return line
    return replace(
        line, commands=seen.commands, readings=seen.readings, inside=seen.inside, folders=seen.folders, obstacle="",
        meant=seen.meant, destroys=line.destroys or seen.destroys,
    )  # fmt: skip


def _judged(text: str, parts: tuple[Part, ...], whole: bool, workspace: Workspace) -> CommandLine:
    """Return a line with the verdicts on its commands. `whole` is true if `parts` are all commands that it runs."""
    obstacle, commands = _understood(text, workspace.limits)
    reader = Reader(workspace)
    in_turn = reader.in_turn(commands)
    readings = tuple(reading for reading, _ in in_turn)
    inside = (
        command.words[0] in CHANGING and changes_inside_all(command, folders, workspace)
        for command, (_, folders) in zip(commands, in_turn, strict=True)
    )
    protected = why_protected(text, readings, parts, workspace, reader)
    tries = bool(protected) and workspace.sandboxed
    return CommandLine(
        text,
        parts=parts,
        whole=whole,
        commands=commands,
        readings=readings,
        inside=tuple(inside),
        folders=tuple(folders for _, folders in in_turn),
        obstacle=obstacle,
        protected=protected,
        protected_in_sandbox=why_protected(text, readings, parts, workspace, reader, boxed=True)
        if tries
        else protected,
        meant=_meant(commands, in_turn, workspace),
        destroys="" if workspace.destroys else destruction(text, parts, workspace),
        workspace=workspace,
        reader=reader,
    )


def _understood(text: str, limits: CommandLimits) -> tuple[str, tuple[Command, ...]]:
    """Return why a line is not fully understood, or its commands, within the limits."""
    if len(text) > limits.characters:
        return f"{TOO_LONG} {limits.characters:,} characters", ()
    most, read = limits.parts, read_plain(text)
    if isinstance(read, NotPlain):
        return read.why, ()
    return ("", read) if len(read) <= most else (f"the line has more than {most} commands", ())


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
        elif command.words[0] == "find" and not workspace.masks and not reading.why:
            found = found_by(command)
            files = files_found(found[0], folders, workspace) if found is not None else ""
            meant += [] if isinstance(files, str) else files
    return tuple(meant)
