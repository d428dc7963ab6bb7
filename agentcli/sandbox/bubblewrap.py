"""The box made with bubblewrap: namespaces, a read-only system, no capabilities."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.core.tool import Boxed
from agentcli.permissions.denied.files import Hidden
from agentcli.sandbox.box import UNSET, Box, fixed
from agentcli.sandbox.probe import complaints
from agentcli.system import probe

_PROC_FILES = ("sys", "sysrq-trigger", "irq", "bus", "mtrr", "scsi", "acpi", "fs")
"""Parts of /proc through which root could reach the kernel of the whole machine, even without capabilities."""


_CALLS = 9
"""The descriptor from which bubblewrap reads the filter of refused system calls."""


def boxed(program: str, box: Box, argv: Sequence[str]) -> Boxed:
    """Return the command line that runs `argv` in the box."""
    from agentcli.sandbox.launch import namespaced_program  # takes ctypes with it

    calls = namespaced_program(sockets=box.readable is None)
    refusing = ("--seccomp", str(_CALLS)) if calls else ()
    seen = [*_system(box.tmp), *_folders(box)] if box.readable is None else [*_only(box, box.readable)]
    inside = [program, *_namespaces(box), *seen, *_denied(box.denied), *_surroundings(box), *refusing, "--", *argv]
    return Boxed(inside, {_CALLS: calls} if calls else {})


def masked(program: str, hidden: Hidden, around: Sequence[Path], argv: Sequence[str], tmp: Sequence[str] = ()) -> Boxed:
    """Return the command line that runs `argv` with `hidden` unreadable, the folders `around` it fixed, and no other limits.

    The command has no capabilities, with which it could remove the mounts that hide the files. `tmp` are the mounts of
    the session's /tmp, if it is to see that.
    """
    held = [*tmp, *(word for folder in around for word in ("--dev-bind", str(folder), str(folder)))]
    free = ("--unshare-user", "--cap-drop", "ALL", "--die-with-parent", "--dev-bind", "/", "/")
    return Boxed([program, *free, *held, *_denied(hidden), "--", *argv])


def _denied(hidden: Hidden) -> Iterator[str]:
    """Yield mounts that empty a hidden folder except for names that git knows, and make a hidden file impossible to open."""
    for folder in (*hidden.folders, *hidden.objects):
        yield from ("--tmpfs", str(folder))
    for file in (*hidden.kept, *hidden.files):
        yield from ("--ro-bind", "/dev/null", str(file))
    for folder in (*hidden.folders, *hidden.objects):
        yield from ("--remount-ro", str(folder))


def works(program: str) -> str:
    """Return the reason why bubblewrap cannot be used here; empty if it kept a real command from writing outside."""
    try:
        with tempfile.TemporaryDirectory(prefix="agentcli-probe-", ignore_cleanup_errors=True) as folder:
            inside = Path(folder).resolve()
            box = Box(inside, (inside,), (), ())
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


def _system(tmp: Path | None) -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    # Root has the rights of the files' owner even without capabilities: writing here would act outside.
    for name in _PROC_FILES:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    # Sockets are here: a container engine's, a message bus, an agent that holds keys.
    yield from ("--tmpfs", "/run", "--tmpfs", "/var/tmp")
    if tmp is None:
        yield from ("--tmpfs", "/tmp")
    else:
        # By both names: file tools, and commands that a person allowed, know it by its own.
        yield from ("--bind", str(tmp), "/tmp", "--bind", str(tmp), str(tmp))
    yield from (
        "--ro-bind-try",
        "/run/systemd/resolve",
        "/run/systemd/resolve",
        "--ro-bind-try",
        "/run/current-system",
        "/run/current-system",
    )


def _only(box: Box, readable: Sequence[Path]) -> Iterator[str]:
    """Yield an empty root with only the readable paths bound into it, in which only /tmp is writable."""
    yield from ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run")
    for name in _PROC_FILES:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    folders = sorted((path for path in readable if probe.is_dir(path)), key=lambda path: len(path.parts))
    bound: list[Path] = []
    for path in folders:
        real = Path(os.path.realpath(path))
        if any(path.is_relative_to(top) and real.is_relative_to(top) for top in bound) or path == Path("/dev"):
            continue
        if path.is_symlink() and len(path.parts) == 2:
            yield from ("--symlink", os.readlink(path), str(path))
            continue
        yield from ("--ro-bind", str(path), str(path))
        bound.append(path)
    for path in box.hidden:
        if any(path.is_relative_to(top) for top in bound):
            yield from _covered(path)
    for path in readable:
        if probe.is_file(path):
            yield from ("--ro-bind", str(path), str(path))
    if box.home is not None:
        yield from ("--dir", str(box.home))
    yield from ("--remount-ro", "/")


def _covered(path: Path) -> Sequence[str]:
    return ("--tmpfs", str(path)) if probe.is_dir(path) else ("--ro-bind", "/dev/null", str(path))


def _folders(box: Box) -> Iterator[str]:
    outside = [path for path in box.hidden if not any(path.is_relative_to(root) for root in box.writable)]
    for path in outside:
        yield from _covered(path)
    for path in sorted(box.writable, key=lambda root: len(root.parts)):
        yield from ("--bind", str(path), str(path))
    for path in fixed(box.denied, box.writable):
        yield from ("--bind", str(path), str(path))
    for path in box.hidden:
        if path not in outside:
            yield from _covered(path)
    for path in box.readonly:
        yield from ("--ro-bind", str(path), str(path))


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
    for name in UNSET:
        yield from ("--unsetenv", name)
