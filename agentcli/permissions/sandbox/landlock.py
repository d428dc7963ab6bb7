"""The sandbox with Landlock and seccomp, for machines that do not let bubblewrap create namespaces.

It is weaker. Hidden names can still be listed, and existing protected files make the workspace's top unwritable.
Programs fail if they change modes, owners or times of files, or need shared memory or sockets of any kind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.tool import Boxed
from agentcli.permissions.sandbox.box import UNSET, Box, complaints
from agentcli.permissions.sandbox.visible import system_folders
from agentcli.system import probe

_LAUNCHER = Path(__file__).with_name("launch.py")


def boxed(box: Box, argv: Sequence[str]) -> Boxed:
    """Return the command line that runs `argv` in the sandbox.

    A small Python program gives up its rights and becomes `argv`.
    """
    rights = {
        "cwd": str(box.cwd),
        "writable": [str(path) for path in writable(box)],
        "readable": [str(path) for path in readable(box)],
        "network": box.network,
        "listable": [str(path) for path in listable(box)],
        "unset": UNSET,
    }
    return Boxed([sys.executable, "-I", "-S", str(_LAUNCHER), json.dumps(rights), *argv])


def works() -> str:
    """Return why Landlock cannot be used here; empty if it prevented a real command from writing outside."""
    try:
        with tempfile.TemporaryDirectory(prefix="agentcli-probe-", ignore_cleanup_errors=True) as folder:
            inside = Path(folder).resolve()
            (inside / "in").mkdir()
            box = Box(inside / "in", (inside / "in",), (), (), readable=system_folders())
            script = ': > "$0/in/a" && ! (: > "$0/b") 2> /dev/null'
            wrong = complaints(boxed(box, ["sh", "-c", script, str(inside)]))
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Can't try Landlock ({error})"
    return f"Landlock does not work here ({wrong[-1]})" if wrong else ""


def writable(box: Box) -> list[Path]:
    """Return paths to grant for writing.

    A grant covers everything below it, so folders around protected paths are split.
    """
    excluded = (*box.readonly, *box.denied.paths, *box.blank, *(path for path in box.hidden if not path.is_socket()))
    return [path for root in box.writable for path in _without(root, excluded)]


def readable(box: Box) -> list[Path]:
    """Return paths to grant for reading: the sandbox's paths, except devices and hidden paths, entry by entry."""
    hidden = (*box.hidden, *box.blank, *box.denied.paths, Path("/dev"))
    seen = (*box.readable, *box.writable)
    folders = [path for path in (*seen, Path("/proc")) if probe.is_dir(path)]
    files = [path for path in seen if probe.is_file(path)]
    return [*dict.fromkeys(path for top in folders for path in _without(top, hidden)), *files]


def listable(box: Box) -> Sequence[Path]:
    """Return paths below which names are visible.

    They are all paths, or for a reader the readable folders with denied files. These could not be listed otherwise.
    """
    if box.sockets:
        return [Path("/")]
    return [top for top in box.readable if any(path.is_relative_to(top) for path in box.denied.paths)]


def _without(top: Path, excluded: Sequence[Path]) -> list[Path]:
    if top in excluded:
        return []
    below: dict[str, list[Path]] = {}
    for path in excluded:
        if path.is_relative_to(top):
            below.setdefault(path.parts[len(top.parts)], []).append(path)
    if not below:
        return [top]
    try:
        with os.scandir(top) as found:
            entries = sorted(entry.name for entry in found if not entry.is_symlink())
    except OSError:
        return []
    each = (_without(top / name, below[name]) if name in below else [top / name] for name in entries)
    return [path for paths in each for path in paths]
