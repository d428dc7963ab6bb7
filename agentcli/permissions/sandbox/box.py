"""Rights of a sandboxed command, independent of the mechanism."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.tool import Boxed
from agentcli.permissions.denied.files import NOTHING, Hidden
from agentcli.permissions.paths import (
    PRIVATE_IN_HOME,
    PROTECTED_FILES,
    Workspace,
    below,
    impossible,
    is_opened,
    recorded_in,
    resolved,
)
from agentcli.permissions.sandbox.visible import visible
from agentcli.system import probe

_HIDDEN_IN_HOME = (*("/".join(parts) for parts in PRIVATE_IN_HOME), ".claude", ".codex", ".gemini")
"""Paths below the home folder that a command does not see even if a rule shows the folder around them."""

_TOLD = 5
"""Maximum paths that a note lists."""

UNSET = (
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "GPG_AGENT_INFO",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
)
"""Variables that lead to programs outside, which would act for a command."""


@dataclass(frozen=True, slots=True)
class Box:
    """Rights of a command.

    It sees `readable` and `writable` except `hidden`, and may write below `writable` except `readonly`. `homes` are
    folders that look empty except for the readable paths in them. Files that it writes there are lost when it ends.
    Without `sockets` it can open none. No mechanism can forbid a protected name that does not exist yet: `protected`
    finds such names afterwards.
    """

    cwd: Path
    writable: tuple[Path, ...]
    readonly: tuple[Path, ...]
    hidden: tuple[Path, ...]
    network: bool = False
    scratch: str = "/tmp"
    readable: tuple[Path, ...] = ()
    homes: tuple[Path, ...] = ()
    sockets: bool = True
    proxy: int = 0
    """The port of loopback at which it finds a proxy for the network; 0 for none."""
    tmp: Path | None = None
    """The folder that it sees as /tmp; None for an empty one of its own."""
    absent: tuple[Path, ...] = ()
    """Folders that are not there, and that it cannot make."""
    blank: tuple[Path, ...] = ()
    """Files of secrets in the workspace, which look empty."""
    denied: Hidden = NOTHING
    """Files and folders that deny rules keep from being read."""


def entrance_program() -> str | None:
    """Return the program by which commands enter the network of a run; None if it is not installed."""
    return shutil.which("nsenter", path="/usr/bin:/bin:/usr/sbin:/sbin")


def proxy_settings(port: int) -> dict[str, str]:
    """Return the variables that lead programs to a proxy on loopback."""
    url, here = f"http://127.0.0.1:{port}", "localhost,127.0.0.1,::1"
    settings = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "NO_PROXY": here}
    return {**settings, **{name.lower(): value for name, value in settings.items()}, "NODE_USE_ENV_PROXY": "1"}


def fixed(hidden: Hidden, roots: Sequence[Path]) -> list[Path]:
    """Return the workspace's folders around hidden paths, outermost first: if they were moved, no rule would match."""
    around = {folder for path in hidden.paths for folder in path.parents}
    return sorted(folder for folder in around if below(folder, roots))


_GIT_FOLDERS = ("hooks", "info")
"""Folders among them that a repository need not have; an empty folder replaces them without effect."""


def box_for(workspace: Workspace, network: bool = False, git: bool = False, still: bool = False) -> Box:
    """Return the sandbox for a workspace: it is writable unless `still`, except for its protected files.

    With `git`, the workspace's own repositories are writable except for their settings and hooks. A `still`
    sandbox has no sockets either.
    """
    from agentcli.permissions.sandbox.protected import GIT_SETTINGS, found_in

    roots = tuple(dict.fromkeys(workspace.resolved_roots))
    seen, found = visible(workspace, credentials=git), found_in(roots)
    own = recorded_in(workspace) if git else ()
    secrets = tuple(name.path for name in found.private)
    opened = workspace.opened() if secrets else ()
    closed = [*(name.path for name in found.protected if name.path not in own), *found.closed]
    closed += [path for path in workspace.started() if probe.is_file(path) and path not in closed]
    closed += [path for each in own for path in _settings_of(each, GIT_SETTINGS) if probe.exists(path)]
    absent = tuple(each / name for each in own for name in _GIT_FOLDERS if not probe.exists(each / name))
    homes = () if seen.whole else homes_of(workspace, roots)
    return Box(
        resolved(workspace.cwd),
        () if still else (*roots, *(each for each in own if not below(each, roots))),
        # Git would consider an empty-looking file changed, and record that.
        (*closed, *(path for path in secrets if git or path in opened)),
        tuple(dict.fromkeys((*_private(workspace, roots), *found.sockets, *seen.hidden))),
        network,
        readable=(*seen.paths, *(roots if still else ())),
        homes=homes,
        sockets=not still,
        absent=absent,
        blank=(
            *_start_up(homes, seen.paths),
            *(() if git else (path for path in secrets if path not in opened)),
            *_kept_private(workspace, roots),
        ),
    )


def _settings_of(git: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield what decides in a repository which programs git runs and where it looks, also in each linked work tree."""
    yield from (git / name for name in names if name != _LINKED)
    with suppress(OSError):
        yield from (own / name for own in (git / _LINKED).iterdir() for name in (*names, "gitdir"))


_LINKED = "worktrees"


def box_for_reader(workspace: Workspace, path: str) -> Box:
    """Return the sandbox for a command that only reads; `path` is its PATH. Nothing is writable, and it opens no
    socket.
    """
    seen, roots = visible(workspace, path, credentials=True), workspace.resolved_roots
    homes = () if seen.whole else homes_of(workspace, roots)
    return Box(
        resolved(workspace.cwd),
        (),
        (),
        (*_private(workspace, roots), *seen.hidden),
        readable=tuple(dict.fromkeys((*seen.paths, *roots, resolved(workspace.cwd)))),
        homes=homes,
        sockets=False,
        blank=(*_start_up(homes, seen.paths), *workspace.exposed.hidden),
    )


def _kept_private(workspace: Workspace, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield what stays hidden in the folders outside the workspace that a command names."""
    return (path for path in workspace.exposed.hidden if not any(map(path.is_relative_to, roots)))


def _start_up(homes: Sequence[Path], seen: Sequence[Path]) -> tuple[Path, ...]:
    """Return the protected files in home folders that no command may see: they look empty, and cannot be written."""
    found = (f"{home}/{name}" for home in homes for name in sorted(PROTECTED_FILES))
    return tuple(path for path in map(Path, filter(probe.is_file, found)) if path not in seen)


def homes_of(workspace: Workspace, roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return the home folders, except one that is part of the workspace."""
    homes = dict.fromkeys(map(resolved, workspace.homes))
    return tuple(home for home in homes if not any(map(home.is_relative_to, roots)))


def _private(workspace: Workspace, roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return existing private files and folders of the user, except folders that contain the workspace.

    What the command may see by name is none of them.
    """
    homes = workspace.homes
    named = [*(f"{home}/{name}" for home in homes for name in _HIDDEN_IN_HOME), *map(str, workspace.own)]
    there = dict.fromkeys(map(resolved, filter(probe.exists, named)))
    return tuple(path for path in there if not _holds(path, (*roots, *workspace.exposed.paths)))


def _holds(path: Path, roots: Sequence[Path]) -> bool:
    return any(path == root or path in root.parents for root in roots)


def unseen(workspace: Workspace, path: str) -> bool:
    """Return True if a path leads to something in a home folder that commands in the sandbox do not see."""
    roots = workspace.resolved_roots
    expanded = f"{workspace.home}{path[1:]}" if path.startswith("~") else path
    if impossible(expanded) or not os.path.lexists(expanded):
        return False
    target = resolved(expanded)
    seen = (*roots, *visible(workspace).paths)
    return any(map(target.is_relative_to, homes_of(workspace, roots))) and not any(map(target.is_relative_to, seen))


def limits_told(workspace: Workspace) -> str:
    """Return a line about parts of a workspace that the last look found too large or secret; empty if none."""
    from agentcli.permissions.sandbox.protected import found_in

    found, cwd = found_in(workspace.resolved_roots, again=False), resolved(workspace.cwd)
    private = [os.path.relpath(name.path, cwd) for name in found.private if not is_opened(name.path, workspace)]
    closed = [os.path.relpath(path, cwd) for path in found.closed]
    told = [
        *([f"{_listed(private)} looks empty to commands in the sandbox"] if private else []),
        *([f"too large to be looked through, and so read-only in the sandbox: {_listed(closed)}"] if closed else []),
    ]
    return f"[{'; '.join(told)}]" if told else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_TOLD]) + (f" and {len(names) - _TOLD} more" if len(names) > _TOLD else "")


SECONDS = 10.0
"""Seconds that the command may take."""


def complaints(boxed: Boxed) -> list[str]:
    """Return failures of the sandbox, one per line; none if all is well.

    A command that tries to break out finds them. Raises OSError or TimeoutExpired if the command cannot be run.
    """
    with startable(boxed) as (argv, descriptors):
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            pass_fds=descriptors,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    return (done.stderr.strip() or "it let a command write outside").splitlines() if done.returncode else []


_READS = ("--seccomp", "--block-fd")
"""Options of bubblewrap before the number of a descriptor that it reads."""


def _place_of(number: int, argv: Sequence[str]) -> int:
    """Return the index of a descriptor's number, behind the option that reads it."""
    return next(at for at, pair in enumerate(pairwise(argv), 1) if pair[0] in _READS and pair[1] == str(number))


@contextmanager
def startable(boxed: Boxed) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
    """Yield an argv, and the descriptors to pass on to it, for `subprocess`."""
    argv, descriptors = [*boxed.argv], list[int]()
    try:
        for number, data in boxed.files.items():
            descriptors.append(os.memfd_create("agentcli"))
            os.write(descriptors[-1], data)
            os.lseek(descriptors[-1], 0, os.SEEK_SET)
            argv[_place_of(number, argv)] = str(descriptors[-1])
        yield argv, descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
