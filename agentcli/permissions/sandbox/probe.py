"""Test of a sandbox with a real command: a mechanism counts only after a successful test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agentcli.core.tool import Boxed

SECONDS = 10.0
"""Seconds that the command may take."""


def complaints(boxed: Boxed) -> list[str]:
    """Return failures of the sandbox, one per line, found by a command that tries to break out; none if all is well.

    Raises OSError or TimeoutExpired if the command cannot be run.
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


@contextmanager
def startable(boxed: Boxed) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
    """Yield an argv, and the descriptors to pass on to it, for `subprocess`."""
    argv, descriptors = boxed.argv, []
    try:
        for number, data in boxed.files.items():
            descriptors.append(os.memfd_create("agentcli"))
            os.write(descriptors[-1], data)
            argv = ["/bin/sh", "-c", f'exec "$@" {number}<"$0"', f"/dev/fd/{descriptors[-1]}", *argv]
        yield argv, descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
