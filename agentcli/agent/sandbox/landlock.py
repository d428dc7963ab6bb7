"""The box made with Landlock and seccomp, for machines where bubblewrap may not make namespaces.

It is weaker: what is hidden can still be listed, existing protected files make the workspace's top unwritable, programs that
change modes, owners or times of files fail, and so do those that need shared memory or sockets of any kind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentcli.agent.sandbox.box import UNSET, Box
from agentcli.agent.sandbox.probe import complaints

_LAUNCHER = Path(__file__).with_name("launch.py")


def arguments(box: Box, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` in the box: a small Python program gives up its rights and becomes `argv`."""
    rights = {
        "cwd": str(box.cwd),
        "writable": [str(path) for path in writable(box)],
        "readable": [str(path) for path in readable(box)],
        "network": box.network,
        "unset": UNSET,
    }
    return [sys.executable, "-I", "-S", str(_LAUNCHER), json.dumps(rights), *argv]


def works() -> str:
    """Why Landlock cannot be used here, or the empty string after it kept a real command from writing outside."""
    try:
        with tempfile.TemporaryDirectory(prefix="agentcli-probe-", ignore_cleanup_errors=True) as folder:
            inside = Path(folder).resolve()
            (inside / "in").mkdir()
            box = Box(inside / "in", (inside / "in",), (), ())
            script = ': > "$0/in/a" && ! (: > "$0/b") 2> /dev/null'
            wrong = complaints(arguments(box, ["sh", "-c", script, str(inside)]))
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Landlock cannot be tried ({error})"
    return f"Landlock does not work here ({wrong[-1]})" if wrong else ""


def writable(box: Box) -> list[Path]:
    """Where writing is granted. A grant covers all below it, so a folder that holds something protected is granted entry by entry."""
    return [path for root in box.writable for path in _without(root, box.readonly)]


def readable(box: Box) -> list[Path]:
    """Where reading is granted: everything but devices and what is hidden, entry by entry along the way to it."""
    return _without(Path("/"), (*box.hidden, Path("/dev")))


def _without(top: Path, excluded: Sequence[Path]) -> list[Path]:
    if top in excluded:
        return []
    if not any(top in path.parents for path in excluded):
        return [top]
    try:
        entries = sorted(entry.path for entry in os.scandir(top) if not entry.is_symlink())
    except OSError:
        return []
    return [path for entry in entries for path in _without(Path(entry), excluded)]
