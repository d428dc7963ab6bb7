"""The sandbox with macOS Seatbelt.

Written from Apple's profile language; the tests here can only read the profile, not run it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.tool import Boxed
from agentcli.permissions.denied.files import Hidden
from agentcli.permissions.sandbox.box import UNSET, Box, complaints, fixed
from agentcli.permissions.sandbox.visible import system_folders

PROGRAM = "/usr/bin/sandbox-exec"
_PERSONAL = (Path("/Users"), Path("/Volumes"), Path("/private/tmp"), Path("/private/var/root"))
"""Folders with people's files; a command sees only the paths in them that its sandbox lists."""


def boxed(box: Box, argv: Sequence[str], program: str = PROGRAM) -> Boxed:
    """Return the command line that runs `argv` in the box."""
    unset = [word for name in UNSET for word in ("-u", name)]
    return Boxed(["/usr/bin/env", *unset, program, "-p", profile(box), *argv])


def masked(hidden: Hidden, around: Sequence[Path], argv: Sequence[str], program: str = PROGRAM) -> Boxed:
    """Return the command line that runs `argv` with `hidden` unreadable, the folders `around` it fixed, and no other limits."""
    rules = [_rule("deny", "file-write-unlink", folder, "literal") for folder in around]
    lines = ["(version 1)", "(allow default)", *rules, *_denied(hidden)]
    return Boxed([program, "-p", "\n".join(lines), *argv])


def _denied(hidden: Hidden) -> list[str]:
    return [_rule("deny", "file-read-data file-write*", path) for path in hidden.paths]


def works(program: str = PROGRAM) -> str:
    """Return why Seatbelt cannot be used here; empty if it prevented a real command from writing outside."""
    try:
        # Below the home folder: everything below the folders for temporary files is writable in the sandbox.
        with tempfile.TemporaryDirectory(prefix=".agentcli-probe-", dir=Path.home()) as folder:
            inside = Path(folder).resolve() / "in"
            inside.mkdir()
            script = ': > "$0/a" && ! (: > "$0/../b") 2> /dev/null'
            box = Box(inside, (inside,), (), (), readable=system_folders())
            wrong = complaints(boxed(box, ["/bin/sh", "-c", script, str(inside)], program))
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"can't try sandbox-exec ({error})"
    return f"sandbox-exec does not work here ({wrong[-1]})" if wrong else ""


def profile(box: Box) -> str:
    """Return the Seatbelt profile of a sandbox. Later rules take precedence over earlier ones."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    scratch = [
        Path("/private/tmp"),
        Path("/private/var/folders"),
        Path("/dev/null"),
        Path("/dev/tty"),
        Path("/dev/dtracehelper"),
    ]
    lines += [_rule("deny", "file-read-data", path) for path in (*_PERSONAL, *box.homes)]
    seen = (*box.readable, *box.writable, *((Path("/private/tmp"),) if box.sockets else ()))
    lines += [_rule("allow", "file-read*", Path(os.path.realpath(path))) for path in seen]
    lines += [_rule("allow", "file-write*", path) for path in (*scratch, *box.writable)]
    lines += [_rule("deny", "file-write*", path) for path in box.readonly]
    lines += [_rule("deny", "file-read* file-write*", path) for path in (*box.hidden, *box.blank)]
    lines += [_rule("deny", "file-write-unlink", folder, "literal") for folder in fixed(box.denied, box.writable)]
    lines += _denied(box.denied)
    if not box.network:
        lines += ["(deny network*)", '(allow network* (remote unix-socket (path-literal "/private/var/run/syslog")))']
    # Launch services, launchd and Apple events could start or control programs outside the sandbox.
    lines += [
        "(deny lsopen)",
        "(deny job-creation)",
        "(deny appleevent-send)",
        "(deny mach-register)",
        "(deny system-socket)",
        "(deny process-info* (target others))",
        "(deny signal (target others))",
    ]
    return "\n".join(lines)


def _rule(verdict: str, right: str, path: Path, extent: str = "subpath") -> str:
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'({verdict} {right} ({extent} "{quoted}"))'
