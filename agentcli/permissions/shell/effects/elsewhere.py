"""Lines that act outside the sandbox without a question.

Each command only reads, here or on another machine. Others push the current branch, or add a name or folder in git.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.rules import (
    BY_SSH,
    IN_CONTAINER,
    NETWORK,
    OWN_PROJECT,
    READING_WITH,
    RUNNING_AT,
    SERVICE_AT,
    WRITING_WITH,
    exact,
    kind_of_place,
)
from agentcli.permissions.shell.effects.containers import in_container
from agentcli.permissions.shell.effects.git_hooks import RUNS_HOOK
from agentcli.permissions.shell.effects.git_repositories import (
    adds_worktree,
    begins_again,
    git_placed,
    names_itself,
    prunes_worktrees,
    records_files,
    records_in_git,
    removes_worktree,
    renames_blindly,
    renames_branch,
)
from agentcli.permissions.shell.effects.network_use import hosts_read
from agentcli.permissions.shell.effects.other_machine import Visit, visit
from agentcli.permissions.shell.effects.pushing import push_of
from agentcli.permissions.shell.effects.taking import changes_no_file, makes_no_links, may_be_made, takes_own
from agentcli.permissions.shell.programs.administration import (
    BY_NUMBER,
    ends_listed,
    found_by_name,
    name_ended,
    numbers_ended,
)
from agentcli.permissions.shell.programs.client_verbs import reads_with
from agentcli.permissions.shell.programs.forge import (
    COMMENTS,
    REVIEW_THREADS,
    files_told,
    forge_host,
    repository_written,
    writes_forge,
)
from agentcli.permissions.shell.programs.known_programs import CLIENTS, limited, limited_program, word_set
from agentcli.permissions.shell.programs.services import reads_here
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.parse import Command, Part

if TYPE_CHECKING:
    from agentcli.permissions.shell.effects.reading import Reader, Reading

PROGRAMS = CLIENTS | word_set(
    "ssh scp nc ncat curl ping git docker podman tmux systemctl pg_isready kill pkill killall xargs"
)
"""Programs with commands that may run so."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Verdict on a line as it would run outside the sandbox."""

    acts: bool = False
    """True if a command of it reads from another machine, pushes, or adds a name or a folder in git."""
    why: str = ""
    """Reason to ask about such a command."""
    others: bool = False
    """True if another command of it may do more than read."""
    hosts: tuple[str, ...] = ()
    """Hosts without a rule, as a rule writes them."""
    pushes: tuple[str, ...] = ()
    """Patterns of the rules that would allow its pushes, what it writes on a forge, and a look at terminals."""
    switched: bool = False
    """True if it pushes whatever branch is current by then."""
    fresh: tuple[str, ...] = ()
    """Branches that it pushes and that do not exist: without an earlier command that makes one, it pushes nothing."""
    takes: bool = False
    """True if it takes a file of the workspace elsewhere, or ends processes by name.

    No command before it may have put a link in its place, or run for long.
    """

    settled: bool = False
    """True if it acts as files of the workspace say, which no command before it may have changed."""
    changes: tuple[str, ...] = ()
    """Names, as rules about the network write them, of all that such commands may change there."""

    @property
    def all_changes(self) -> tuple[str, ...]:
        """The rules about all that its commands may change elsewhere, and about the places that they only read."""
        hosts = [host for host in self.hosts if f"{RUNNING_AT}{_machine_of(host)}" not in self.changes]
        return tuple(f"{NETWORK}({name})" for name in (*hosts, *self.changes)) if self.changes else ()

    @property
    def runs(self) -> bool:
        """True if the line may run outside."""
        return self.acts and not self.why and not self.others

    def rules(self, tool: str) -> tuple[str, ...]:
        """Return the rules about its hosts and its pushes; `tool` is the one that runs commands."""
        return (*(f"{NETWORK}({host})" for host in self.hosts), *(f"{tool}({push})" for push in self.pushes))


def _machine_of(place: str) -> str:
    """Return the machine on which a place is that rules name."""
    return place.removeprefix(kind_of_place(place)).partition("/")[0]


def judged_elsewhere(
    commands: Sequence[Command],
    readings: Sequence[Reading],
    places: Sequence[tuple[Path, ...]],
    workspace: Workspace,
    reader: Reader,
) -> Elsewhere:
    """Judge a line of plain commands."""
    found = [_actions(command, at, workspace, reader) for command, at in zip(commands, places, strict=True)]
    for number, command in enumerate(commands[1:], 1):
        if command.joint == "|" and ends_listed(command.words, commands[number - 1].text):
            found[number - 1 : number + 1] = [Elsewhere(acts=True), _ending(command.words, workspace, listed=True)]
    others = any(one is None and reading.why for one, reading in zip(found, readings, strict=True))
    links = [not makes_no_links(command.words) for command in commands]
    late = any(one is not None and one.takes and any(links[:number]) for number, one in enumerate(found))
    late = late or renames_blindly([command.words for command in commands])
    wrote = [
        bool(reading.why) and not changes_no_file(one.words) for one, reading in zip(commands, readings, strict=True)
    ]
    late = late or any(one is not None and one.settled and any(wrote[:number]) for number, one in enumerate(found))
    return together([*filter(None, found), Elsewhere(others=others or late)])


def together(found: Sequence[Elsewhere]) -> Elsewhere:
    """Return the verdict on several parts of a line."""
    return Elsewhere(
        any(one.acts for one in found),
        next((one.why for one in found if one.why), ""),
        any(one.others for one in found),
        tuple(dict.fromkeys(host for one in found for host in one.hosts)),
        tuple(dict.fromkeys(push for one in found for push in one.pushes)),
        any(one.switched for one in found),
        tuple(dict.fromkeys(name for one in found for name in one.fresh)),
        any(one.takes for one in found),
        any(one.settled for one in found),
        tuple(dict.fromkeys(name for one in found for name in one.changes)),
    )


def mentions(parts: Sequence[Part]) -> bool:
    """Return True if a command of these may be one that acts elsewhere."""
    return any(part.words and acts_by_name(part.texts) for part in parts)


def acts_by_name(words: Sequence[str]) -> bool:
    """Return True if a command's program, behind `timeout` and the like, is one of `PROGRAMS`."""
    return limited_program(words) in PROGRAMS


def answer_to(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Elsewhere | None:
    """Return the hosts and the patterns of the rules that answer a question about one command in any mode.

    Return None if no such rule would be enough.
    """
    plain = _plain(command, folders, workspace, reader)
    if plain is None or plain.loop:
        return None
    if plain.words[0] == "git":
        push = push_of(plain.words, folders, workspace)
        return Elsewhere(True, pushes=(exact(push.plain),), switched=not push.named) if push and push.plain else None
    if plain.words[0] == "gh":
        if any(workspace.git(folder).danger for folder in folders):
            return None
        if reader.asks_forge(plain, folders):
            host = forge_host(plain.words, folders, workspace.env)
            return Elsewhere(True, hosts=(host,)) if host else None
        if (pattern := writes_forge(plain.words)) and takes_own(plain, folders, workspace):
            return Elsewhere(True, pushes=(pattern,), takes=bool(files_told(plain.words)))
    found = _visit(plain, folders, workspace)
    # A file that comes from there is a change here, which an answer about the host does not allow.
    if found and found.host and not found.why and plain.words[0] != "scp":
        return Elsewhere(True, hosts=_places(found), takes=found.takes, settled=found.settled)
    hosts = hosts_read(plain.words)
    return Elsewhere(True, hosts=tuple(sorted(hosts))) if hosts else None


def _plain(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Command | None:
    """Return a command of one of these programs with the program's plain name; None if it is not the person's."""
    words = tuple(limited(command.words))
    wrappers = command.words[: -len(words)]
    if any(reader.chosen_here(word, folders) for word in wrappers if word.isalpha()):
        return None
    command = replace(command, words=words, globs=command.globs[-len(words) :])
    name = words[0]
    if name.startswith(_SYSTEM) and ".." not in name:
        name = name.rpartition("/")[2]
        command = replace(command, words=(name, *command.words[1:]))
    elif name not in PROGRAMS or reader.chosen_here(name, folders):
        return None
    if not command.bare or (command.globs and meanings(command, folders, workspace) != [command.words]):
        return None
    return command


def _rounds(command: Command, folders: tuple[Path, ...], workspace: Workspace) -> list[Command]:
    """Return a command once for each round of its loop; nothing if the words are not known."""
    if command.loop is None:
        return [command]
    found = meanings(command, folders, workspace)
    return [replace(command, words=words, globs=(), loop=None) for words in found] if isinstance(found, list) else []


def _actions(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Elsewhere | None:
    """Return the verdict on all rounds of a command; None if one does not act elsewhere."""
    if not acts_by_name(command.words):
        return None
    found = [_action(each, folders, workspace, reader) for each in _rounds(command, folders, workspace)]
    return together(list(filter(None, found))) if found and all(found) else None


def _action(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Elsewhere | None:
    """Return the verdict on one command; None if it does not act elsewhere, or its program is not the person's."""
    plain = _plain(command, folders, workspace, reader)
    if plain is None:
        return None
    command, name = plain, plain.words[0]
    if name == "gh" and (found := _forge(command, folders, workspace, reader)) is not None:
        return found
    if reads_here(command.words):
        if command.words[1:2] not in (("capture-pane",), ("capturep",)) or workspace.approves(_SCREENS):
            return Elsewhere(acts=True)
        return Elsewhere(True, "tmux shows what is on your terminals", pushes=(_SCREENS,))
    if name == "git":
        if any(does(command.words, folders, workspace) for does in _ON_WORK_TREES):
            return Elsewhere(acts=True, takes=True)
        if any(does(command.words, folders, workspace) for does in _ON_NAMES):
            return Elsewhere(acts=True, takes="-C" in command.words or folders != (workspace.cwd,))
        return _commit(command, folders, workspace) or _push(command, folders, workspace)
    if name in ("kill", "pkill", "killall"):
        return _ending(command.words, workspace)
    visited = _visit(command, folders, workspace)
    machine = _machine_changed(command, folders, workspace)
    if machine and workspace.allows_host(machine):
        return Elsewhere(acts=True, takes=name == "scp")
    if visited is None:
        return Elsewhere(True, f"{name} uses the network", changes=(machine,)) if machine else None
    if visited.why or not visited.host:
        changes = f" and may change {_told(visited.host)}" if visited.host else ""
        why = f"{name} uses the network{changes}: {visited.why}"
        return Elsewhere(True, why, changes=(machine,) if machine else ())
    if visited.services:
        return _on_services(visited, machine, workspace)
    if workspace.allows_host(visited.host) or (visited.free and not workspace.withholds(visited.host)):
        shown = visited.free and workspace.allows_host(visited.host)  # the answer covers what such files could change
        return Elsewhere(acts=True, takes=visited.takes, settled=visited.settled and not shown)
    why = f"{name} {_acts_in(visited.host)}"
    return Elsewhere(True, why, hosts=(visited.host,), takes=visited.takes, settled=visited.settled)


def _on_services(visited: Visit, machine: str, workspace: Workspace) -> Elsewhere:
    """Return the verdict on a command that starts, stops or reloads services of another machine, and reads there."""
    places = _places(visited)
    missing = tuple(place for place in places if not workspace.allows_host(place))
    if not missing:
        return Elsewhere(acts=True)
    why = f"ssh uses the network of {_told(visited.host)}, and changes {', '.join(visited.services)}"
    return Elsewhere(True, why, hosts=missing, changes=(machine,) if machine else ())


def _places(visited: Visit) -> tuple[str, ...]:
    """Return the host of a visit, and the services that it changes there, as rules name them."""
    name = visited.host.removeprefix(BY_SSH)
    return (visited.host, *(f"{SERVICE_AT}{name}/{service}" for service in visited.services))


def _visit(command: Command, folders: tuple[Path, ...], workspace: Workspace) -> Visit | None:
    """Return the visit of a command to another place, with its host as rules name it."""
    found = visit(
        command, workspace.home, lambda path, name: all(may_be_made(path, name, at, workspace) for at in folders)
    )
    if found is None and (client := reads_with(command.words)):
        known = not any(workspace.git(folder).danger for folder in folders)
        return Visit(f"{READING_WITH}{client}") if known else None
    if found is None:
        return in_container(command.words, folders, workspace)
    by_ssh = command.words[0] in ("ssh", "scp") and found.host
    return replace(found, host=f"{BY_SSH}{found.host}") if by_ssh else found


def _machine_changed(command: Command, folders: tuple[Path, ...], workspace: Workspace) -> str:
    """Return the machine on which `ssh` runs any command, or with which `scp` copies, as rules name it.

    Return an empty text for any other command, and for one that deletes or ends something there.
    """
    if command.words[0] not in ("ssh", "scp") or command.joint == "|":
        return ""
    here = [word for word in command.words[1:] if command.words[0] == "scp" and ":" not in word]
    if any(judge_path(word, workspace, write=False, cwd=at).verdict != "free" for word in here for at in folders):
        return ""
    from agentcli.permissions.shell.effects.whole_programs import whole_program_of  # 10 ms, only for such a question

    found = whole_program_of(command.words, folders, workspace)
    return f"{RUNNING_AT}{found.pattern.split(' ')[1]}" if found is not None else ""


def _acts_in(host: str) -> str:
    """Return what a command does in a place that is asked about once."""
    if host.startswith(IN_CONTAINER):
        return f"acts outside the sandbox, in {_told(host)}"
    return "uses the network with your login" if host.startswith(READING_WITH) else f"uses the network of {_told(host)}"


def _told(host: str) -> str:
    """Return a place in a person's terms."""
    kind = kind_of_place(host)
    name = host.removeprefix(kind)
    if kind != IN_CONTAINER:
        return name
    return "the project's containers" if name == OWN_PROJECT else f"the container {name}"


def _ending(words: Sequence[str], workspace: Workspace, *, listed: bool = False) -> Elsewhere | None:
    """Return the verdict on a command that ends processes, by number or by one name; None for any other.

    A number is free if a command of the session has started the process. A name is free if this holds for all that it
    finds. Other numbers are asked about once, and each name once. `listed` is true if the numbers come from a list.
    """
    numbers = numbers_ended(words)
    if numbers and (words[1] == "-0" or all(map(workspace.started_here, numbers))):
        return Elsewhere(acts=True)
    if not listed and not numbers and not name_ended(words):
        return None
    found = found_by_name(words, workspace)
    if found == {} and workspace.hides_processes:
        return None  # the sandbox shows it as little
    pattern = BY_NUMBER if numbers or listed else exact(" ".join(words))
    if workspace.approves(pattern):
        return Elsewhere(acts=True)
    if found and all(found.values()):
        return Elsewhere(acts=True, takes=True)
    others = [name for name, own in (found or {}).items() if not own]
    ended = f"{', '.join(others[:2])}{' and others' if others[2:] else ''}" if others else "processes"
    return Elsewhere(True, f"{'kill' if listed else words[0]} ends {ended} outside the sandbox", pushes=(pattern,))


_ON_WORK_TREES = (adds_worktree, removes_worktree, prunes_worktrees)
_ON_NAMES = (names_itself, renames_branch, begins_again)
_SCREENS = "tmux capture-pane *"
_SYSTEM = ("/usr/bin/", "/usr/local/bin/", "/bin/", "/opt/homebrew/bin/")


def _forge(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Elsewhere | None:
    if workspace.withholds(forge_host(command.words, folders, workspace.env)):
        return None
    if workspace.gated and reader.asks_forge(command, folders):
        return Elsewhere(acts=True)
    pattern = writes_forge(command.words)
    own = pattern and takes_own(command, folders, workspace)
    if not own or any(workspace.git(folder).danger for folder in folders):
        return None
    takes = bool(files_told(command.words))
    repository = repository_written(command.words)
    written = f"{WRITING_WITH}gh{'/' * bool(repository)}{repository}" if repository is not None else ""
    if workspace.approves(pattern) or (written and workspace.allows_host(written)):
        return Elsewhere(acts=True, takes=takes)
    told = " ".join(command.words[:3]) if pattern in (REVIEW_THREADS, COMMENTS) else pattern.removesuffix(" *")
    why = f"gh uses the network: {told} is visible to others"
    return Elsewhere(True, why, pushes=(pattern,), takes=takes, changes=(written,) if written else ())


def _commit(command: Command, folders: tuple[Path, ...], workspace: Workspace) -> Elsewhere | None:
    """Return the verdict on a commit that asks only because of a hook; None for any other command."""
    placed = git_placed(command.words, folders) if workspace.records else None
    if placed is None or placed[0][1:2] != ("commit",) or len(folders) != 1:
        return None
    why = records_in_git(*placed, workspace)
    if not why.startswith(RUNS_HOOK):
        return None
    pattern, takes = "git commit *", records_files(placed[0])
    if workspace.approves(pattern):
        return Elsewhere(acts=True, takes=takes)
    return Elsewhere(True, why, pushes=(pattern,), takes=takes)


def _push(command: Command, folders: tuple[Path, ...], workspace: Workspace) -> Elsewhere | None:
    push = push_of(command.words, folders, workspace)
    if push is None:
        return None
    if push.plain and workspace.approves(exact(push.plain)):
        return Elsewhere(acts=True, switched=not push.named)
    if not push.why:
        return Elsewhere(acts=True, switched=not push.named, fresh=(push.fresh,) if push.fresh else ())
    return Elsewhere(True, f"git push uses the network: {push.why}", pushes=(exact(push.plain),) if push.plain else ())
