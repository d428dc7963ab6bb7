"""The box made with bubblewrap: namespaces, a read-only system, no capabilities."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.agent.sandbox.box import UNSET, Box
from agentcli.agent.sandbox.probe import complaints

_PROC_FILES = ("sys", "sysrq-trigger", "irq", "bus", "mtrr", "scsi", "acpi", "fs")
"""Parts of /proc through which root could reach the kernel of the whole machine, even without capabilities."""


def arguments(program: str, box: Box, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` in the box."""
    return [program, *_namespaces(box), *_system(), *_folders(box), *_surroundings(box), "--", *argv]


def works(program: str) -> str:
    """Why bubblewrap cannot be used here, or the empty string after it kept a real command from writing outside."""
    try:
        with tempfile.TemporaryDirectory(prefix="agentcli-probe-", ignore_cleanup_errors=True) as folder:
            inside = Path(folder).resolve()
            box = Box(inside, (inside,), (), ())
            script = 'test -w "$0" && test ! -w / && test ! -w /usr && test ! -w /proc/sys/kernel/core_pattern'
            wrong = complaints(arguments(program, box, ["sh", "-c", script, str(inside)]))
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be started ({error})"
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


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    # Root keeps the rights of the files' owner without any capability: what it could write here would act outside.
    for name in _PROC_FILES:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    # Sockets live here: a container engine's, a message bus, an agent that holds keys.
    yield from ("--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/var/tmp")
    yield from (
        "--ro-bind-try",
        "/run/systemd/resolve",
        "/run/systemd/resolve",
        "--ro-bind-try",
        "/run/current-system",
        "/run/current-system",
    )


def _folders(box: Box) -> Iterator[str]:
    for path in box.hidden:
        yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))
    for path in sorted(box.writable, key=lambda root: len(root.parts)):
        yield from ("--bind", str(path), str(path))
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
