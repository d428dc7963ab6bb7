"""Recognise commands that only read, the files that they read, and programs in the workspace."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.denied.objects import all_commits
from agentcli.permissions.git_config import repository
from agentcli.permissions.paths import (
    Workspace,
    could_name_protected,
    holds_nothing,
    is_exposed,
    is_installed,
    is_opened,
    judge_entry,
    judge_path,
    names_protected,
    resolved,
    tells_of_machine,
)
from agentcli.permissions.shell.effects.fed import ANY_NAME, fed_command, fed_files, files_found, found_by
from agentcli.permissions.shell.effects.searches import objection, search_of
from agentcli.permissions.shell.programs.forge import asks_elsewhere, reads_forge
from agentcli.permissions.shell.programs.git_table import (
    GIT_READERS,
    LIMITED,
    fits_git_reading,
    git_names_only,
    leaves_out,
    limits,
    shows_path,
    shows_text,
)
from agentcli.permissions.shell.programs.known_programs import (
    EVALUATING,
    OF_THE_SHELL,
    SHELLS,
    WRAPPERS,
    as_pip,
    is_interpreter,
    word_set,
)
from agentcli.permissions.shell.programs.option_grammar import Found, Shape, fit
from agentcli.permissions.shell.programs.readers import (
    BRACKETS,
    PATHS,
    READERS,
    SEARCHING,
    find_reads,
    fits_reading,
    shows_no_content,
)
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.parse import Command, Part, parse
from agentcli.system import probe
from agentcli.system.programs import lies_in, located, path_outside, untrusted

CHANGES, RUNS_CODE = VAGUE = ("may change files", "can run any code")
"""Reasons that name no effect: one that is known replaces them."""
_MAYBE_FILE = re.compile(r"^[0-9a-fA-F]{4,64}$|\^\{")
_STREAMS = frozenset({"-", os.devnull})
STREAMS = re.compile(r"/dev/(?:null|zero|stdin|stdout|stderr|tty|u?random|fd/\d+)|-")
"""Targets of a redirection that are no files."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Verdict on one command."""

    why: str = ""
    """The reason to ask; empty if it is known to only read permitted files."""
    protected: bool = False
    """True if it must ask in every mode."""
    path: bool = False
    """True if it only reads, but a path that needs permission."""
    outside: tuple[Path, ...] = ()
    """Targets of such paths outside the workspace, if nothing else needs permission."""


class Reader:
    """Judges whether commands only read, at one moment: each command once in its possible folders."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[tuple[object, ...], Reading] = {}

    def of(self, command: Command, folders: tuple[Path, ...]) -> Reading:
        """Return the verdict on a command that may run in any of the folders."""
        key = command.words, command.bare, command.globs, command.loop, folders
        if key not in self._known:
            self._known[key] = self._read_only(command, folders)
        return self._known[key]

    def asks_forge(self, command: Command, folders: tuple[Path, ...]) -> bool:
        """Return True if a command only reads from the host of a repository."""
        reads = reads_forge(command.words) and not asks_elsewhere(command.words, folders)
        return reads and not any(self._workspace.git(folder).danger for folder in folders)

    def chosen_here(self, name: str, folders: tuple[Path, ...]) -> str:
        """Return why the workspace may choose the program behind a name, or an empty string."""
        return self._chosen_by_workspace(name, (), folders)

    def in_turn(self, commands: Sequence[Command]) -> list[tuple[Reading, tuple[Path, ...]]]:
        """Return the verdict on each command of a plain line, with its possible folders; `cd` moves the commands after
        it.
        """
        found: list[tuple[Reading, tuple[Path, ...]]] = []
        folders: tuple[Path, ...] = (self._workspace.cwd,)
        left: tuple[Path, ...] = ()
        """Folders in which the shell stays if a `cd` before `&&` fails."""
        for number, command in enumerate(commands):
            if left and command.joint not in ("&&", "|"):
                folders, left = tuple(dict.fromkeys((*folders, *left))), ()
            xargs = command.words[0] == "xargs" and command.bare and not (command.loop or command.globs)
            reading = self._fed(commands, number, folders) if xargs else self.of(command, folders)
            found.append((reading, folders))
            if command.words[0] == "cd" and (not reading.why or reading.outside):
                following = commands[number + 1].joint if number + 1 < len(commands) else ""
                moved = _after_cd(command, folders, sure=following == "&&", piped=command.joint == "|")
                left = (*left, *folders) if not all(map(probe.is_dir, moved)) else left
                folders = moved
        return found

    def _read_only(self, command: Command, folders: tuple[Path, ...]) -> Reading:
        if not command.bare:
            return Reading("the command's name is quoted or escaped")
        if command.globs or command.loop:
            return Reading("uses cd in a loop") if command.words[0] == "cd" else self._meant(command, folders)
        name, *arguments = command.words
        if name in BRACKETS:
            if arguments[-1:] != [BRACKETS[name]]:
                return Reading(f"{name} without {BRACKETS[name]}")
            name, arguments = "test", arguments[:-1]
        if name == "cd":
            return _cd(arguments, folders, self._workspace)
        if "/" not in name and (why := self._chosen_by_workspace(name, arguments, folders)):
            return Reading(why)
        if name == "git":
            return _git(arguments, folders, self._workspace)
        if name == "find" and (found_files := found_by(command)) is not None:
            return self._found(*found_files, folders)
        if name == "find" and arguments not in (["--version"], ["--help"]):
            found = find_reads(arguments)
            return Reading(found) if isinstance(found, str) else _values(found, folders, self._workspace)
        if "/" in name:
            return Reading(f"{name} is called by its path")
        # Its folder could replace a module of it, so only a sandbox makes it the program of that name.
        if self._workspace.sandboxed:
            name, *arguments = as_pip((name, *arguments))
        if name not in READERS:
            return Reading() if arguments in _TELLING and self._tells_of_itself(name) else Reading(_vague(name))
        return _by_shapes(name, arguments, folders, self._workspace)

    def _fed(self, commands: Sequence[Command], number: int, folders: tuple[Path, ...]) -> Reading:
        """Return the verdict on an `xargs`.

        It may run a reading command on files that a search in the workspace lists.
        """
        inner = fed_command(commands, number)
        if isinstance(inner, str):
            return Reading(inner)
        fed = fed_files(commands, number, folders, self._workspace)
        chosen = self._chosen_by_workspace("xargs", (), folders) or self._started(inner, folders)
        if why := chosen or (fed if isinstance(fed, str) else ""):
            return Reading(why)
        return self._read_only(inner, folders)

    def _started(self, command: Command, folders: Sequence[Path]) -> str:
        """Return why the workspace may choose what another program starts, which knows no builtins of the shell."""
        closed, trusted = self._trusted
        file = _inside(command.words[0], folders, (self._workspace.path, trusted), closed)
        return f"{command.words[0]} is {file}, a program in the workspace" if file else ""

    def _found(self, search: Command, inner: Sequence[Command], folders: tuple[Path, ...]) -> Reading:
        """Return the verdict on a `find` that runs reading commands on what it finds."""
        reading = _together([self._read_only(each, folders) for each in (search, *inner)])
        if why := next(filter(None, (self._started(each, folders) for each in inner)), ""):
            return Reading(why)
        if ANY_NAME in reading.why:
            return Reading("find -exec may run the name of a file as code")
        files = "" if reading.why else files_found(search, folders, self._workspace)
        return Reading(files) if isinstance(files, str) and files else reading

    def _meant(self, command: Command, folders: tuple[Path, ...]) -> Reading:
        """Return the verdict on a command with file names instead of patterns, for every round of its loop."""
        worst: list[Reading] = []
        patterns = (*command.words, *command.loop.words) if command.loop else command.words
        if not shows_no_content(command.words) and (
            named := next(filter(None, map(could_name_protected, patterns)), "")
        ):
            return Reading(f"{named} may match a protected file", protected=True)
        rounds = meanings(command, folders, self._workspace)
        if isinstance(rounds, str):
            return Reading(rounds)
        for words in rounds:
            worst.append(self._read_only(Command(words, command.joint, command.bare), folders))
        return _together(worst)

    def _chosen_by_workspace(self, name: str, arguments: Iterable[str], folders: Sequence[Path]) -> str:
        """Return why the workspace may choose the program that a command starts, or an empty string."""
        if name in _BUILTINS - _LOOKING_UP:
            return ""
        closed, trusted = self._trusted
        paths = (self._workspace.path, trusted)
        if name in _LOOKING_UP:
            # They would search the PATH of unasked commands, and so miss these programs.
            for word in arguments:
                if file := _inside(word, folders, paths, closed):
                    return f"{word} is {file}, in the workspace, where {name} looks only when it is allowed"
        if name in _BUILTINS:
            return ""
        if file := _inside(name, folders, paths, closed):
            return f"{name} is {file}, a program in the workspace"
        return _by_shim(name, located(name, trusted, self._workspace.cwd), folders, self._workspace)

    def _tells_of_itself(self, name: str) -> bool:
        """Return True for a program of the system, or one that is not installed."""
        if not _PLAIN_NAME.fullmatch(name) or name in OF_THE_SHELL | _BUILTINS | WRAPPERS | EVALUATING | SHELLS:
            return False
        file = located(name, self._trusted[1], self._workspace.cwd)
        return not file or lies_in(file, _SYSTEM_PROGRAMS)

    @cached_property
    def _trusted(self) -> tuple[tuple[str, ...], str]:
        """The folders from which no program is taken, and the search path outside of them."""
        closed = tuple(untrusted(self._workspace.resolved_roots))
        return closed, path_outside(self._workspace.path, closed)


_TELLING = (["--version"], ["--help"])
_PLAIN_NAME = re.compile(r"[a-z][\w.+-]*", re.ASCII)
_SYSTEM_PROGRAMS = ("/usr", "/bin", "/sbin", "/opt/homebrew", "/opt/local")


def _by_shapes(name: str, arguments: list[str], folders: tuple[Path, ...], workspace: Workspace) -> Reading:
    """Return the verdict on a program of the table of reading ones, by its options and paths."""
    shapes = READERS[name]
    if arguments in (["--version"], ["--help"]) and not any(shape.unless for shape in shapes):
        return Reading()
    fitting = fit(shapes, arguments)
    if isinstance(fitting, str):
        return Reading(_misfit(name, fitting, shapes))
    shape, found = fitting
    if present := _present(shape.unless, folders):
        return Reading(f"{present} may choose what {name} runs")
    reading = _values(found, folders, workspace)
    if reading.why and not reading.outside:
        return reading
    recursion = _recursion(name, arguments, found, folders, workspace)
    if reading.why and recursion.why and not recursion.protected:
        return replace(reading, outside=())
    return recursion if recursion.why else reading


def _after_cd(command: Command, folders: tuple[Path, ...], sure: bool, piped: bool) -> tuple[Path, ...]:
    """Return the folders in which the next command may run: a `cd` may fail, or run in another shell."""
    moved = tuple(folder / command.words[-1] for folder in folders)
    return moved if sure and not piped else tuple(dict.fromkeys((*folders, *moved)))


def _vague(name: str) -> str:
    return f"{name} {RUNS_CODE if is_interpreter(name) else CHANGES}"


def _misfit(name: str, problem: str, shapes: Sequence[Shape]) -> str:
    """Return why a program's call is not known to only read.

    The detail is missing if the program reads only by exception.
    """
    if not problem or all(shape.needs or shape.operands.startswith("=") for shape in shapes):
        return _vague(name)
    return f"{name} {problem}" if problem.startswith("-") else f"{name}: {problem}"


def _together(readings: Sequence[Reading]) -> Reading:
    """Return the strictest of these verdicts.

    It has the paths outside the workspace if none of them needs more.
    """
    worst = max(readings, key=lambda reading: (reading.protected, bool(reading.why)), default=Reading())
    outside = dict.fromkeys(path for reading in readings for path in reading.outside)
    only = all(reading.outside for reading in readings if reading.why)
    return replace(worst, outside=tuple(outside) if only else ())


def _cd(arguments: list[str], folders: tuple[Path, ...], workspace: Workspace) -> Reading:
    operands = arguments[1:] if arguments[:1] == ["--"] else arguments
    if len(operands) != 1 or operands[0].startswith("-"):
        return Reading("cd without a plain folder")
    for folder in folders:
        target = folder / operands[0]
        # The shell resolves `..` by name, commands by the target of links. A link in the path makes the two differ.
        if resolved(target) != Path(os.path.normpath(resolved(folder) / operands[0])):
            return Reading("cd through a link")
    return _values([("path", operands[0])], folders, workspace)


def _git(arguments: list[str], folders: tuple[Path, ...], workspace: Workspace) -> Reading:
    rest = list(arguments)
    places = folders
    while rest and rest[0].startswith("-") and rest[0] != "--version":
        option = rest.pop(0)
        if option == "-C" and rest:
            moved = _cd([rest[0]], places, workspace)
            if moved.why:
                return replace(moved, outside=())
            places = tuple(folder / rest[0] for folder in places)
            rest.pop(0)
        elif option not in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
            return Reading(f"git {option} may start programs")
    if not rest or rest[0] not in GIT_READERS:
        return Reading(" ".join(("git", *rest[:1], CHANGES)))
    fitting = fit(GIT_READERS[rest[0]], rest[1:])
    if isinstance(fitting, str):
        return Reading(_misfit(f"git {rest[0]}", fitting, GIT_READERS[rest[0]]))
    for folder in places:
        if danger := workspace.git(folder).danger:
            return Reading(danger)
    if "--no-index" in rest and rest[0] == "diff":  # two files, whatever is recorded
        if any(os.path.isdir(folder / os.path.expanduser(value)) for _, value in fitting[1] for folder in places):
            return Reading("git diff compares whole folders")
        return _values(fitting[1], places, workspace)
    for folder in places:
        if secrets := _shown_secrets(rest[0], fitting[1], folder, workspace.git(folder).secrets):
            return Reading(f"git {rest[0]} may show {secrets[0]}, which is protected{_without(secrets, rest, folder)}")
    compared = [value for kind, value in fitting[1] if kind == "rev"]
    if rest[0] == "diff" and len(compared) > 1 and not all(_present((".git",), (folder,)) for folder in places):
        return Reading("git diff compares whole folders where there is no repository")
    named = [("entry" if kind == "rev" and not leaves_out(value) else kind, value) for kind, value in fitting[1]]
    return _values(named if git_names_only(("git", *rest)) else fitting[1], places, workspace)


_LEFT_OUT = 4
"""Maximum files for which a reason says how git leaves them out."""


def _without(secrets: Sequence[str], words: Sequence[str], folder: Path) -> str:
    """Return how a git command leaves out protected files, for the reason why it is refused; empty if it can't."""
    if words[0] not in LIMITED or "--" in words:
        return ""
    if len(secrets) > _LEFT_OUT or set("".join(secrets)) & set("*?[\\"):
        return " (with -- FILE at its end it shows that file alone)"
    top = next(iter(repository(Path(os.path.realpath(folder)))), folder)
    specs = " ".join(shlex.quote(f":(exclude,top){os.path.relpath(path, top)}") for path in secrets)
    return f" (with -- {specs} at its end it is left out)"


def _shown_secrets(subcommand: str, found: Found, folder: Path, tracked: Sequence[str]) -> Sequence[str]:
    """Return the tracked protected files that a recognised git command may show."""
    if not tracked or not shows_text(subcommand, found):
        return ()
    secrets = [path for path in tracked if names_protected(path, write=False)]
    here = os.path.realpath(folder)
    specs = limits(subcommand, found, here) if secrets else []
    # A pathspec limits what a commit shows, but not a file given by its id.
    ids = [value for kind, value in found if kind == "rev" and value not in specs and _MAYBE_FILE.search(value)]
    if specs and ids and not all_commits(ids, folder):
        specs = []
    top = next(iter(repository(Path(here))), Path(here))
    return [path for path in secrets if shows_path(specs, here, top, path)]


def _values(found: Found, folders: tuple[Path, ...], workspace: Workspace) -> Reading:
    readings: list[Reading] = []
    for kind, value in found:
        if kind == "glob" and (named := _glob_names_protected(value)):
            readings.append(Reading(f"{named} is protected", protected=True))
        if kind in PATHS and value not in _STREAMS:
            readings += (_value(kind, value, folder, workspace) for folder in folders)
    return _together(readings)


def _glob_names_protected(glob: str) -> str:
    plain = glob.replace("\\", "")
    return "" if glob.startswith("!") else names_protected(plain, write=False) or could_name_protected(plain)


def _value(kind: str, value: str, folder: Path, workspace: Workspace) -> Reading:
    if kind in ("rev", "behind") and leaves_out(value):
        return Reading()
    if kind == "range":
        value = value.rpartition(":")[2]
    if kind == "entry":
        verdict = judge_entry(value, workspace, cwd=folder)
    else:
        verdict = judge_path(value, workspace, write=False, cwd=folder)
    free = (is_installed, is_exposed, holds_nothing)
    if (
        verdict.verdict == "outside"
        and kind in PATHS
        and verdict.path
        and (tells_of_machine(verdict.path) or any(of(verdict.path, workspace) for of in free))
    ):
        return Reading()
    if verdict.verdict != "free":
        outside = (verdict.path,) if verdict.verdict == "outside" and verdict.path else ()
        return Reading(verdict.why, verdict.verdict == "protected", path=True, outside=outside)
    if kind == "rev":
        inside = value.rpartition(":")[2].rpartition(")")[2]
        named = names_protected(inside, write=False) or could_name_protected(inside)
        if named and not is_opened(folder / inside, workspace):
            return Reading(f"{named} is protected", protected=True)
    return Reading()


def _present(names: Sequence[str], folders: tuple[Path, ...]) -> str:
    above = (above for folder in folders for above in (folder, *folder.parents))
    return next((name for folder in above for name in names if os.path.lexists(folder / name)), "") if names else ""


def _recursion(
    name: str, arguments: list[str], found: Found, folders: tuple[Path, ...], workspace: Workspace
) -> Reading:
    """Return the verdict on a recursive search: it must ask if it would reach a file that needs permission."""
    if name not in SEARCHING:
        return Reading()
    search = search_of(name, arguments, found)
    if search is None:
        return Reading()
    operands = [value for kind, value in found if kind == "path"] or ["."]
    why, protected = objection(search, [folder / operand for folder in folders for operand in operands], workspace)
    return Reading(why, protected)


_BUILTINS = word_set(": [ [[ cd command echo false help history printf pwd test true type ulimit umask")
"""Builtins of bash, which start no program."""

_LOOKING_UP = word_set("command type whereis which")
"""Commands that show which program a name would start."""

_SHIMS = word_set("asdf mise rtx volta-shim proto-shim vfox")
"""Version managers behind a program's name: they start the version that a file in the folder selects."""

_CHOOSING = (
    *(".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".rtx.toml", ".mise", "mise"),
    *(".config/mise.toml", ".config/mise", ".config/mise.local.toml", ".prototools", ".vfox.toml", ".volta"),
    *(".python-version", ".node-version", ".nvmrc", ".ruby-version", ".go-version", ".java-version", ".perl-version"),
)
"""Files and folders by which a version manager selects the program behind its shims."""

_NODE = word_set("corepack node npm npx pnpm yarn")
"""Programs whose version `package.json` may select, too."""


def _inside(name: str, folders: Sequence[Path], paths: Sequence[str], closed: Sequence[str]) -> str:
    """Return the program in a closed folder to which a name leads by one of the search paths.

    Return an empty string if there is none.
    """
    if "/" in name:
        return ""
    files = (located(name, path, folder) for folder in folders for path in paths)
    return next((file for file in files if file and lies_in(file, closed)), "")


def _by_shim(name: str, file: str, folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why `file`, behind a program's name, may start what the workspace chooses, or an empty string."""
    real = os.path.realpath(file) if file else ""
    named = {part for path in (file, real) for part in path.split("/")[:-1]}
    if not file or not ("shims" in named or os.path.basename(real) in _SHIMS):
        return ""
    # Skip the home folder: the user put its files there.
    home = workspace.home if workspace.home not in workspace.resolved_roots else None
    choosing = (*_CHOOSING, "package.json") if name in _NODE or os.path.basename(real) == "volta-shim" else _CHOOSING
    above = (above for folder in folders for above in (folder, *folder.parents) if above != home)
    for folder in dict.fromkeys(above):
        if choice := next((choice for choice in choosing if os.path.lexists(folder / choice)), ""):
            return f"{folder / choice} may choose what {name} starts ({file} is a shim)"
    return ""


Looks = Literal["", "only", "also"]
"""With "only", a line looks at the machine and at no file; with "also", it looks at both."""

_ON_THE_MACHINE = word_set("ps pgrep pidof lsof ss netstat ip ifconfig hostname who w users last df")
"""Programs that show processes, the network, people or mounts."""
_FILES = frozenset({"path", "entry", "archive", "object"})


def looks_at_machine(commands: Sequence[Command]) -> Looks:
    """Return whether a line of read-only commands looks at the machine, and whether also at files."""
    if not any(command.words[0] in _ON_THE_MACHINE for command in commands):
        return ""
    return "also" if any(map(_names_files, commands)) else "only"


def _names_files(command: Command) -> bool:
    name, *arguments = command.words
    fitting = fit(READERS[name], arguments) if READERS.get(name) else ""
    return isinstance(fitting, str) or any(kind in _FILES for kind, _ in fitting[1])


def acting_parts(text: str) -> list[Part]:
    """Return the commands of a line that may do more than read; all of them if there are none.

    Scripts in its words are omitted.
    """
    own = [part for part in parse(text).parts if part.words]
    return [part for part in own if not _only_reads(part)] or own


def _only_reads(part: Part) -> bool:
    """Return True if a command, by its words, only reads or only acts on its own line's shell."""
    if any(not STREAMS.fullmatch(piece.text) for piece in part.writes) or not part.words[0].known:
        return False
    values = part.texts
    name = values[0]
    return name in OF_THE_SHELL or fits_reading(name, values) or (name == "git" and fits_git_reading(values))
