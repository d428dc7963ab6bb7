"""A person's commands that decide by their exit code whether work continues."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentcli.agent.core import SessionCore
from agentcli.agent.unreadable import shared_sandbox
from agentcli.core.dataclass import dataclass
from agentcli.core.record import Mode
from agentcli.core.text.terminal import console_text
from agentcli.core.tool import Boxed
from agentcli.system.bounded import SECONDS, run_bounded
from agentcli.system.process import Command
from agentcli.system.programs import environment, find_program

SHOWN = 4_000
"""Bytes kept of an output, half from each end."""


@dataclass(frozen=True, slots=True)
class Checked:
    """End of a check. `printed` is the size of its whole output in bytes, `limit` its time limit in seconds."""

    passed: bool
    output: str = ""
    exit_code: int | None = None
    printed: int = 0
    limit: float = 0.0
    hung: bool = False
    interrupted: bool = False


async def run_check(core: SessionCore, command: str, seconds: float, interrupt: asyncio.Event) -> Checked:
    """Run a command in the session's folder, at most so many seconds, in the mode's sandbox, without secrets.

    Raises AgentError if it cannot run.
    """
    limit = max(1.0, min(SECONDS, seconds))
    prepared = await asyncio.to_thread(check_command, core, command, core.approval.mode)
    ended = await run_bounded(prepared, interrupt, seconds=limit, kept=SHOWN)
    if interrupt.is_set():
        return Checked(False, interrupted=True)
    output = console_text(ended.output)
    hung = ended.why in ("timeout", "flood")
    return Checked(ended.exit_code == 0, output, ended.exit_code, ended.printed, limit, hung)


def check_command(core: SessionCore, line: str, mode: Mode) -> Command:
    """Return a command line as it runs in the session's folder, in a mode's sandbox, without secrets.

    Raises AgentError if it may not run.
    """
    wrap = shared_sandbox(line, core.approval.rules, mode, core.setup).wrap
    shell = find_program("bash", core.ctx.roots, core.ctx.env.get("PATH")) or "/bin/bash"
    argv = [shell, "--noprofile", "--norc", "-c", line]
    boxed = wrap(argv) if wrap is not None else Boxed(argv)
    env = environment(core.ctx.env, core.setup.settings.limits.bash_secrets) | dict(core.hooks.variables)
    return Command(argv, Path(core.ctx.cwd), env).within(boxed)
