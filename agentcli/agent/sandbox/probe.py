"""Tries a box on a real command: what only claims to hold commands is no box."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

SECONDS = 10.0
"""Seconds that the command may take."""


def complaints(argv: Sequence[str]) -> list[str]:
    """What is wrong, line by line, once a command has run that fails where it is not held; nothing where all is well.

    Raises OSError or TimeoutExpired where it cannot be run.
    """
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    return (done.stderr.strip() or "it let a command write outside").splitlines() if done.returncode else []
