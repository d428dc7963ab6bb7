"""Shell commands of the person that extensions run."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from agentcli.core.errors import ToolError
from agentcli.extension import Completed
from agentcli.system import probe
from agentcli.system.process import Command, LimitedSink, run_until
from agentcli.system.programs import hardened

OUTPUT = 1_000_000
"""Maximum bytes of an output."""


async def execute(command: str, stdin: str, timeout: float, folder: Path) -> Completed:
    """Run a command in a folder, with a text on its stdin. git in it starts no programs of the repository."""
    if not probe.is_dir(folder):
        return Completed(f"It could not start: {os.strerror(errno.ENOENT)}.", None)
    output, errors = LimitedSink(OUTPUT), LimitedSink(0)
    argv, env = ["/bin/sh", "-c", command], hardened(os.environ, (folder,))
    try:
        ended = await run_until(output.flooded, Command(argv, folder, env, stdin, errors=errors), output, timeout)
    except ToolError as error:
        return Completed(f"It could not start: {error}", None)
    if output.flooded.is_set():
        return Completed(f"It printed more than {OUTPUT:,} bytes and was stopped.", None)
    if ended.why == "timeout":
        return Completed(f"It took more than {timeout:g} s and was stopped.", None)
    return Completed(output.data.decode("utf-8", "replace"), ended.exit_code)
