"""Run the command of a check: in the sandbox, without secrets, within limits of time and size."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

from agentcli.agent.core import SessionCore
from agentcli.agent.unreadable import shared_sandboxes
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.tasks import start_task, watch_task
from agentcli.core.text.terminal import console_text
from agentcli.core.tool import Boxed
from agentcli.system.bounded import run_bounded
from agentcli.system.process import Command
from agentcli.system.programs import environment, find_program

SECONDS = 10.0
"""Seconds by which checks may delay one edit, all of them together."""
OUTPUT = 1_000_000
"""Maximum bytes that a check may print."""
_HELD = r"(?i)read-only file system|EROFS|permission denied|operation not permitted|EACCES|EPERM"
"""Errors of a program that may not write, or open a socket."""


@dataclass(frozen=True, slots=True)
class Ran:
    """End of a check's command: its output, or in `trouble` the reason why that is meaningless."""

    output: str = ""
    exit_code: int | None = None
    trouble: str = ""


async def run_check(core: SessionCore, line: str, deadline: float, writing: set[str]) -> Ran:
    """Run a command line at most until a moment of the monotonic clock.

    It always runs in the sandbox if one works, in every mode, and never leaves it. It may write in the workspace only
    if it can't do without; `writing` are the lines known to need that. A command that must be stopped ends in the
    background.
    """
    ran = await _ran(core, line, deadline, writes=line in writing)
    if line not in writing and ran.exit_code and re.search(_HELD, ran.output):
        writing.add(line)
        ran = await _ran(core, line, deadline, writes=True)
    return ran


async def _ran(core: SessionCore, line: str, deadline: float, *, writes: bool) -> Ran:
    try:
        command = await asyncio.to_thread(_command, core, line, writes)
    except AgentError as error:
        return Ran(trouble=f"could not run: {error}")
    task = start_task(run_bounded(command, asyncio.Event(), kept=2 * OUTPUT, most=OUTPUT))
    try:
        await asyncio.wait({task}, timeout=max(0.0, deadline - time.monotonic()))
    finally:
        if not task.done():
            task.cancel()
            watch_task(task)
    if not task.done():
        return Ran(trouble=f"was stopped after {SECONDS:g} s, the longest that an edit waits for its checks")
    if (failure := task.exception()) is not None:
        return Ran(trouble=f"could not run: {failure}")
    ended = task.result()
    if ended.trouble:
        return Ran(trouble=ended.trouble)
    return Ran(console_text(ended.output), ended.exit_code)


def _command(core: SessionCore, line: str, writes: bool) -> Command:
    wrap = shared_sandboxes(line, core.approval.rules, "auto", core.setup).own
    shell = find_program("bash", core.ctx.roots, core.ctx.env.get("PATH")) or "/bin/bash"
    argv = [shell, "--noprofile", "--norc", "-c", line]
    boxed = wrap(argv, writes) if wrap is not None else Boxed(argv)
    env = environment(core.ctx.env, core.setup.settings.limits.bash_secrets) | dict(core.hooks.variables)
    return Command(boxed.argv, Path(core.ctx.cwd), env, files=boxed.files)
