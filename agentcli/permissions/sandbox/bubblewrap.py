"""The sandbox with bubblewrap: namespaces, a read-only system, no capabilities."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from agentcli.core.tool import Boxed
from agentcli.permissions.denied.files import Hidden
from agentcli.permissions.paths import below, prefixes, resolved
from agentcli.permissions.sandbox.box import UNSET, Box, complaints, fixed, proxy_settings
from agentcli.permissions.sandbox.visible import system_folders
from agentcli.system import probe

_PROC_FILES = ("sys", "sysrq-trigger", "irq", "bus", "mtrr", "scsi", "acpi", "fs")
"""Parts of /proc through which root could reach the whole machine's kernel, even without capabilities."""

_DEVICES = Path("/dev")
"""Folder that every box has of its own."""

_LAST = 9
"""The descriptor that bubblewrap reads once everything is mounted: the filter of refused system calls, if there is one."""

_EMPTY = Path(__file__).with_name("empty.txt")
"""Empty file, shown instead of a hidden file: a search fails at a file that it cannot open."""


def boxed(program: str, box: Box, argv: Sequence[str]) -> Boxed:
    """Return the command line that runs `argv` in the box."""
    seen = [*_seen(box), *_limits(box), *_denied(box.denied)]
    inside = [program, *_namespaces(box), *seen, *_surroundings(box)]
    return _started(inside, argv, _refused_calls(box.sockets))


@cache
def _refused_calls(sockets: bool) -> bytes:
    from agentcli.permissions.sandbox.launch import namespaced_program  # takes ctypes with it

    return namespaced_program(sockets=sockets)


def _started(inside: Sequence[str], argv: Sequence[str], calls: bytes = b"") -> Boxed:
    """Return the command line that runs `argv` with these options, and the filter of refused calls if there is one."""
    option = "--seccomp" if calls else "--block-fd"
    return Boxed([*inside, option, str(_LAST), "--", *argv], {_LAST: calls or b"."}, read_last=_LAST)


def masked(program: str, hidden: Hidden, around: Sequence[Path], argv: Sequence[str], tmp: Sequence[str] = ()) -> Boxed:
    """Return the command line that runs `argv` with `hidden` unreadable, the folders `around` it fixed, and no other
    limits.

    The command has no capabilities, with which it could remove the mounts that hide the files. `tmp` are the mounts of
    the session's /tmp, if it may see that.
    """
    held = [*tmp, *(word for folder in around for word in ("--dev-bind", str(folder), str(folder)))]
    free = ("--unshare-user", "--cap-drop", "ALL", "--die-with-parent", "--dev-bind", "/", "/")
    return _started([program, *free, *held, *_denied(hidden)], argv)


def closed(
    program: str, readable: Sequence[Path], hidden: Sequence[Path], argv: Sequence[str], env: Mapping[str, str]
) -> Boxed:
    """Return the command line that runs `argv` with nothing but these variables and readable paths, without `hidden`.

    It has no network, devices, process list or writable folder. It fails on a machine whose calls cannot be filtered.
    """
    alone = ("--unshare-user", "--unshare-all", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent")
    seen = [word for path in _outermost(readable, ()) for word in _shown(path)]
    given = [word for name, value in env.items() for word in ("--setenv", name, value)]
    seen += [word for path in hidden for word in ("--tmpfs", str(path), "--remount-ro", str(path))]
    limits = ("--remount-ro", "/", "--chdir", "/", "--clearenv", *given, "--seccomp", str(_LAST))
    inside = [program, *alone, "--new-session", *seen, *limits, "--", *argv]
    return Boxed(inside, {_LAST: _refused_calls(False)})


def _denied(hidden: Hidden) -> Iterator[str]:
    """Yield mounts that empty hidden folders, except for names that git knows.

    A hidden file becomes empty or unreadable.
    """
    for folder in (*hidden.folders, *hidden.objects):
        yield from ("--tmpfs", str(folder))
    for file in (*hidden.kept, *hidden.files):
        yield from ("--ro-bind", str(_EMPTY) if hidden.empty and file not in hidden.kept else "/dev/null", str(file))
    for folder in (*hidden.folders, *hidden.objects):
        yield from ("--remount-ro", str(folder))


def works(program: str) -> str:
    """Return why bubblewrap cannot be used here; empty if it prevented a real command from writing outside."""
    try:
        with tempfile.TemporaryDirectory(prefix="agentcli-probe-", ignore_cleanup_errors=True) as folder:
            inside = Path(folder).resolve()
            box = Box(inside, (inside,), (), (), readable=system_folders())
            script = 'test -w "$0" && test ! -w / && test ! -w /usr && test ! -w /proc/sys/kernel/core_pattern'
            wrong = complaints(boxed(program, box, ["sh", "-c", script, str(inside)]))
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"can't start bubblewrap ({error})"
    return f"bubblewrap does not work here ({wrong[0]})" if wrong else ""


def _namespaces(box: Box) -> Iterator[str]:
    yield from (
        "--unshare-user",
        "--unshare-all",
        "--disable-userns",
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        "--new-session",
    )
    if box.network:
        yield "--share-net"


def mounts_of_tmp(tmp: Path, roots: Sequence[Path]) -> list[str]:
    """Return the mounts that show a folder as /tmp, and the workspace where it was."""
    inside = [str(root) for root in roots if root.is_relative_to("/tmp")]
    return ["--bind", str(tmp), "/tmp", *(word for root in inside for word in ("--bind", root, root))]


def _seen(box: Box) -> Iterator[str]:
    """Yield the mounts of what the command sees in an otherwise empty root, outermost first."""
    yield from ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run")
    # Even without capabilities, root has the rights of the files' owner: writing here would take effect outside.
    for name in _PROC_FILES:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    yield from ("--tmpfs", "/tmp") if box.tmp is None else ("--bind", str(box.tmp), "/tmp")
    yield from ("--tmpfs", "/var/tmp")
    mounts: list[tuple[Path, Sequence[str]]] = [(home, ("--tmpfs", str(home))) for home in box.homes]
    mounts += [(path, _shown(path)) for path in _outermost(box.readable, box.homes) if path not in box.writable]
    if box.tmp is not None:
        # Under both names: file tools and approved commands know it by its own.
        mounts.append((box.tmp, ("--bind", str(box.tmp), str(box.tmp))))
    mounts += [(root, ("--bind-try", str(root), str(root))) for root in box.writable]
    for _, words in sorted(mounts, key=lambda mount: len(mount[0].parts)):
        yield from words


def _outermost(paths: Sequence[Path], homes: Sequence[Path]) -> Iterator[Path]:
    """Yield the paths that no other path's mount shows already; a home folder is mounted over its surroundings."""
    bound: list[str] = []
    for path in sorted(paths, key=lambda path: len(path.parts)):
        if path == _DEVICES:
            continue
        text = f"{path}/"
        around = [top for top in bound if text.startswith(top)]
        home = next((home for home in homes if below(path, (home,))), None) if around else None
        shown = [top for top in around if home is None or below(top, (home,))]
        if not shown or not below(resolved(path), shown):
            bound += prefixes((path,))
            yield path


def _shown(path: Path) -> Sequence[str]:
    if len(path.parts) == 2 and path.is_symlink():
        return ("--symlink", os.readlink(path), str(path))
    return ("--ro-bind-try", str(path), str(path))


def _covered(path: Path) -> Sequence[str]:
    return ("--tmpfs", str(path)) if probe.is_dir(path) else ("--ro-bind", "/dev/null", str(path))


def _limits(box: Box) -> Iterator[str]:
    """Yield the mounts that remove rights from what the command sees."""
    # bubblewrap reads the table of all mounts for each one: a path that another mount covers gets none.
    masked = frozenset(box.denied.files)
    for path in fixed(box.denied, box.writable):
        if path not in box.writable:
            yield from ("--bind", str(path), str(path))
    # Settings with a name are visible because of it, and stay: hidden paths are around them.
    shown = [path for path in box.readable if probe.is_file(path)]
    seen = prefixes((*box.readable, *box.writable))
    for path in box.hidden:
        if f"{path}/".startswith(seen) and path not in shown:
            yield from _covered(path)
    for path in shown:
        if below(path, box.hidden):
            yield from _shown(path)
    for path in (path for path in box.blank if path not in masked):
        yield from ("--ro-bind", str(_EMPTY), str(path)) if probe.is_file(path) else _covered(path)
    for path in (path for path in box.readonly if path not in masked):
        yield from ("--ro-bind-try", str(path), str(path))
    for path in box.absent:
        yield from ("--tmpfs", str(path), "--remount-ro", str(path))
    yield from ("--remount-ro", "/")


def _surroundings(box: Box) -> Iterator[str]:
    yield from ("--chdir", str(box.cwd), "--setenv", "TMPDIR", box.scratch)
    yield from (
        "--setenv",
        "XDG_CACHE_HOME",
        f"{box.scratch}/.cache",
        "--setenv",
        "npm_config_cache",
        f"{box.scratch}/.npm",
    )
    # A repository around the workspace is another mount, at which git would stop its search.
    yield from ("--setenv", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "1")
    for name in UNSET:
        yield from ("--unsetenv", name)
    for name, value in proxy_settings(box.proxy).items() if box.proxy else ():
        yield from ("--setenv", name, value)
