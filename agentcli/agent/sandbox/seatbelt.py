"""The box made with macOS Seatbelt. Written from Apple's profile language; the tests here can only read the profile, not run it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentcli.agent.sandbox.box import UNSET, Box

PROGRAM = "/usr/bin/sandbox-exec"


def arguments(box: Box, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` in the box."""
    unset = [word for name in UNSET for word in ("-u", name)]
    return ["/usr/bin/env", *unset, PROGRAM, "-p", profile(box), *argv]


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
    lines += [_rule("allow", "file-write*", path) for path in (*scratch, *box.writable)]
    lines += [_rule("deny", "file-write*", path) for path in box.readonly]
    lines += [_rule("deny", "file-read* file-write*", path) for path in box.hidden]
    if not box.network:
        lines += ["(deny network*)", '(allow network* (remote unix-socket (path-literal "/private/var/run/syslog")))']
    lines += [
        "(deny mach-register)",
        "(deny system-socket)",
        "(deny process-info* (target others))",
        "(deny signal (target others))",
    ]
    return "\n".join(lines)


def _rule(verdict: str, right: str, path: Path) -> str:
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'({verdict} {right} (subpath "{quoted}"))'
