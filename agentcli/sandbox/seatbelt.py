"""The box made with macOS Seatbelt. Written from Apple's profile language; the tests here can only read the profile, not run it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.boxed import Boxed
from agentcli.sandbox.box import UNSET, Box
from agentcli.sandbox.probe import complaints

PROGRAM = "/usr/bin/sandbox-exec"
_PERSONAL = (Path("/Users"), Path("/Volumes"), Path("/private/tmp"), Path("/private/var/root"))
"""Where files of people lie; a command that only reads sees of it what its box names."""


def boxed(box: Box, argv: Sequence[str], program: str = PROGRAM) -> Boxed:
    """The command line that runs `argv` in the box."""
    unset = [word for name in UNSET for word in ("-u", name)]
    return Boxed(["/usr/bin/env", *unset, program, "-p", profile(box), *argv])


def works(program: str = PROGRAM) -> str:
    """The reason that Seatbelt cannot be used here, or the empty string after it kept a real command from writing outside."""
    try:
        # Below the home folder: everything below the folders for temporary files is writable in the box.
        with tempfile.TemporaryDirectory(prefix=".agentcli-probe-", dir=Path.home()) as folder:
            inside = Path(folder).resolve() / "in"
            inside.mkdir()
            script = ': > "$0/a" && ! (: > "$0/../b") 2> /dev/null'
            box = Box(inside, (inside,), (), ())
            wrong = complaints(boxed(box, ["/bin/sh", "-c", script, str(inside)], program))
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"sandbox-exec cannot be tried ({error})"
    return f"sandbox-exec does not work here ({wrong[-1]})" if wrong else ""


def profile(box: Box) -> str:
    """The Seatbelt profile of a box. Later rules go before earlier ones."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    scratch = [
        Path("/private/tmp"),
        Path("/private/var/folders"),
        Path("/dev/null"),
        Path("/dev/tty"),
        Path("/dev/dtracehelper"),
    ]
    if box.readable is not None:
        lines += [_rule("deny", "file-read-data", path) for path in _PERSONAL]
        lines += [_rule("allow", "file-read*", Path(os.path.realpath(path))) for path in box.readable]
    lines += [_rule("allow", "file-write*", path) for path in (*scratch, *box.writable)]
    lines += [_rule("deny", "file-write*", path) for path in box.readonly]
    lines += [_rule("deny", "file-read* file-write*", path) for path in box.hidden]
    if not box.network:
        lines += ["(deny network*)", '(allow network* (remote unix-socket (path-literal "/private/var/run/syslog")))']
    # Launch services, launchd and Apple events would start or steer programs outside of the box.
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


def _rule(verdict: str, right: str, path: Path) -> str:
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'({verdict} {right} (subpath "{quoted}"))'
