"""Keeper: ends programs that must not outlive agentcli as soon as it is gone, even if it was killed.

It runs as `python -I -S keeper.py MARK` with a pipe as standard input, and imports only the standard library. The
programs and all their child processes carry the mark in their environment. If the pipe closes without a farewell, the
keeper asks each process with the mark to end. It kills any that still run after `GRACE`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

NAME = "AGENTCLI_KEPT_BY"
"""Variable of the environment that holds the mark."""
GRACE = 2.0
"""Time in seconds between the request to end and the kill."""
_FAREWELL = b"."


class Keeper:
    """The keeper of the programs whose environment has `variables`."""

    def __init__(self) -> None:
        self.variables = {NAME: f"{os.getpid()}-{time.time_ns()}"}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start to watch. If no process can be started, nothing watches."""
        command = [sys.executable, "-I", "-S", __file__, self.variables[NAME]]
        with suppress(OSError):
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def close(self) -> None:
        """End the watch: the programs have ended, or may stay."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                process.communicate(_FAREWELL)


def main(mark: str) -> None:
    """Wait for the end of the pipe, then end all processes with the mark."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read(1) == _FAREWELL:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        found = list(marked(mark))
        for pid in found:
            with suppress(OSError):
                os.kill(pid, number)
        end = time.monotonic() + GRACE
        while number == signal.SIGTERM and time.monotonic() < end and any(marked(mark)):
            time.sleep(0.05)


def marked(mark: str) -> Iterator[int]:
    """Yield the processes of this user that carry a mark."""
    wanted = f"{NAME}={mark}"
    for pid, environment in _environments():
        if pid != os.getpid() and wanted in environment:
            yield pid


def _environments() -> Iterator[tuple[int, list[str]]]:
    """Yield the processes with a readable environment, and the words of it."""
    if sys.platform != "linux":
        listed = subprocess.run(["ps", "-axwwE", "-o", "pid=,command="], capture_output=True, text=True, check=False)
        for line in listed.stdout.splitlines():
            pid, *words = line.split()
            yield int(pid), words
        return
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                yield int(name), file.read().decode("utf-8", "replace").split("\0")


if __name__ == "__main__":
    main(sys.argv[1])
