"""Run a command in its own process and mount namespaces: `python -I -S enclosed.py COMMAND…`.

Agent code runs as the same user as the check that judges it. Here it sees no other process. So it can neither read the
expected values from the check's memory nor end the check. Without namespaces, as on macOS, the command runs unconfined.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys

FILE_BYTES = 20_000_000
"""Maximum bytes of a file that the command may write, including its output."""
_NAMESPACES = 0x10000000 | 0x20000000 | 0x00020000
"""CLONE_NEWUSER, CLONE_NEWPID and CLONE_NEWNS of <linux/sched.h>."""
_PRIVATE = 0x4000 | 0x40000
"""MS_REC and MS_PRIVATE of <linux/mount.h>."""
_DUMPABLE, _DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 4, 1, 38
"""PR_SET_DUMPABLE, PR_SET_PDEATHSIG and PR_SET_NO_NEW_PRIVS of <linux/prctl.h>."""


def close_memory() -> None:
    """Prevent other processes of this user from reading this process's memory."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)


def main(command: list[str]) -> int:
    """Run the command and return its exit code, or 128 and the number of the signal that ended it."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if libc is None or not _separated(libc):
        os.execvp(command[0], command)
    child = os.fork()
    if child == 0:
        _become(libc, command)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def _separated(libc: ctypes.CDLL) -> bool:
    """Enter new namespaces, keeping the user id. Return False if the system allows none."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NAMESPACES):
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with contextlib.suppress(OSError), open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return True


def _become(libc: ctypes.CDLL | None, command: list[str]) -> None:
    """Become the command, as the first process of the namespace: when it ends, all its processes end."""
    assert libc is not None
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.mount(None, b"/", None, _PRIVATE, None)
    if libc.mount(b"proc", b"/proc", b"proc", 0, None):
        # In a container that masks /proc, an empty one shows no process either.
        libc.mount(b"tmpfs", b"/proc", b"tmpfs", 0, None)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
