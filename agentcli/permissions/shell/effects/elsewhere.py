"""Lines that act outside the sandbox without a question.

Each command only reads, here or from another machine, or pushes the branch that is worked on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import BY_SSH, NETWORK, exact
from agentcli.permissions.shell.effects.network_use import hosts_read
from agentcli.permissions.shell.effects.other_machine import Visit, visit
from agentcli.permissions.shell.effects.pushing import push_of
from agentcli.permissions.shell.programs.forge import forge_host, writes_forge
from agentcli.permissions.shell.programs.services import reads_here
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.parse import Command, Part

if TYPE_CHECKING:
    from agentcli.permissions.shell.effects.reading import Reader, Reading

PROGRAMS = frozenset(
    ["gh", "ssh", "nc", "ncat", "curl", "ping", "git", "docker", "podman", "tmux", "systemctl", "pg_isready"]
)
"""Programs with commands that may run so."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Verdict on a line as it would run outside the sandbox."""

    acts: bool = False
    """True if a command of it reads from another machine, or pushes."""
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

    @property
    def runs(self) -> bool:
        """True if the line may run outside."""
        return self.acts and not self.why and not self.others

    def rules(self, tool: str) -> tuple[str, ...]:
        """Return the rules about its hosts and its pushes; `tool` is the one that runs commands."""
        return (*(f"{NETWORK}({host})" for host in self.hosts), *(f"{tool}({push})" for push in self.pushes))


def judged_elsewhere(
    commands: Sequence[Command],
    readings: Sequence[Reading],
    places: Sequence[tuple[Path, ...]],
    workspace: Workspace,
    reader: Reader,
) -> Elsewhere:
    """Judge a line of plain commands."""
    found = [_action(command, at, workspace, reader) for command, at in zip(commands, places, strict=True)]
    others = any(one is None and reading.why for one, reading in zip(found, readings, strict=True))
    return together([*filter(None, found), Elsewhere(others=others)])


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
    )


def mentions(parts: Sequence[Part]) -> bool:
    """Return True if a command of these may be one that acts elsewhere."""
    return any(part.words and part.words[0].text.rpartition("/")[2] in PROGRAMS for part in parts)


def answer_to(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Elsewhere | None:
    """Return the hosts and the patterns of the rules that answer a question about one command in any mode.

    Return None if no such rule would be enough.
    """
    plain = _plain(command, folders, workspace, reader)
    if plain is None:
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
        pattern = writes_forge(plain.words)
        return Elsewhere(True, pushes=(pattern,)) if pattern else None
    found = visit(plain, workspace.home)
    if found and found.host and not found.why:
        return Elsewhere(True, hosts=(_named(plain, found),))
    hosts = hosts_read(plain.words)
    return Elsewhere(True, hosts=tuple(sorted(hosts))) if hosts else None


def _plain(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Command | None:
    """Return a command of one of these programs with the program's plain name; None if it is not the person's."""
    name = command.words[0]
    if name.startswith(_SYSTEM) and ".." not in name:
        name = name.rpartition("/")[2]
        command = replace(command, words=(name, *command.words[1:]))
    elif name not in PROGRAMS or reader.chosen_here(name, folders):
        return None
    if not command.bare or command.loop or (command.globs and meanings(command, folders, workspace) != [command.words]):
        return None
    return command


def _action(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Elsewhere | None:
    """Return the verdict on one command; None if it does not act elsewhere, or its program is not the person's."""
    plain = _plain(command, folders, workspace, reader)
    if plain is None:
        return None
    command, name = plain, plain.words[0]
    if name == "gh":
        return _forge(command, folders, workspace, reader)
    if reads_here(command.words):
        if command.words[1:2] not in (("capture-pane",), ("capturep",)) or workspace.approves(_SCREENS):
            return Elsewhere(acts=True)
        return Elsewhere(True, "tmux shows what is on your terminals", pushes=(_SCREENS,))
    if name == "git":
        return _push(command, folders, workspace)
    found = visit(command, workspace.home)
    if found is None:
        return None
    host = _named(command, found)
    fresh = bool(found.host) and not workspace.allows_host(host)
    if found.why:
        return Elsewhere(
            True, f"{name} uses the network{f' and may change {found.host}' if found.host else ''}: {found.why}"
        )
    return Elsewhere(True, f"{name} uses the network of {found.host}", hosts=(host,)) if fresh else Elsewhere(True)


def _named(command: Command, found: Visit) -> str:
    """Return the host of a visit in the form of rules about it."""
    return f"{BY_SSH}{found.host}" if command.words[0] == "ssh" else found.host


_SCREENS = "tmux capture-pane *"
_SYSTEM = ("/usr/bin/", "/usr/local/bin/", "/bin/", "/opt/homebrew/bin/")


def _forge(command: Command, folders: tuple[Path, ...], workspace: Workspace, reader: Reader) -> Elsewhere | None:
    if workspace.gated and reader.asks_forge(command, folders):
        return Elsewhere(acts=True)
    pattern = writes_forge(command.words)
    if not pattern or any(workspace.git(folder).danger for folder in folders):
        return None
    if workspace.approves(pattern):
        return Elsewhere(acts=True)
    return Elsewhere(True, f"gh uses the network: {pattern.removesuffix(' *')} is visible to others", pushes=(pattern,))


def _push(command: Command, folders: tuple[Path, ...], workspace: Workspace) -> Elsewhere | None:
    push = push_of(command.words, folders, workspace)
    if push is None:
        return None
    if push.plain and workspace.approves(exact(push.plain)):
        return Elsewhere(acts=True, switched=not push.named)
    if not push.why:
        return Elsewhere(acts=True, switched=not push.named, fresh=(push.fresh,) if push.fresh else ())
    return Elsewhere(True, f"git push uses the network: {push.why}", pushes=(exact(push.plain),) if push.plain else ())
