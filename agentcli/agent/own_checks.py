"""Commands of a person that decide by their exit code whether work continues."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from agentcli.agent.core import SessionCore
from agentcli.agent.unreadable import shared_sandbox
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.tasks import until_interrupted
from agentcli.core.tool import CallScope, Service, ToolLimits
from agentcli.system.bounded import SECONDS
from agentcli.tools.bash import bash

SHOWN = 4_000
"""Bytes of an output that are kept, half from each end."""


@dataclass(slots=True)
class CheckContext:
    """The context of a check's command: it has no services and keeps no output."""

    cwd: Path
    roots: tuple[Path, ...]
    env: Mapping[str, str]
    limits: ToolLimits
    scope: CallScope = field(default_factory=CallScope)

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Keep nothing."""
        return ""

    def progress(self, call_id: str, text: str) -> None:
        """Show nothing."""

    def service(self, kind: type[Service]) -> Service | None:
        """Return None."""
        return None


@dataclass(frozen=True, slots=True)
class Checked:
    """The end of a check. `printed` are the bytes of its whole output, `limit` the seconds that it had."""

    passed: bool
    output: str = ""
    exit_code: int | None = None
    printed: int = 0
    limit: float = 0.0
    hung: bool = False
    interrupted: bool = False


async def run_check(core: SessionCore, command: str, seconds: float, interrupt: asyncio.Event) -> Checked:
    """Run a command in the session's folder, at most so many seconds, in the sandbox of the mode, without secrets. Raises AgentError if it cannot run."""
    limit = max(1.0, min(SECONDS, seconds))
    sandbox = await asyncio.to_thread(shared_sandbox, command, core.approval.rules, core.approval.mode, core.setup)
    limits = replace(
        core.setup.settings.limits,
        bash_output=SHOWN,
        output_file=0,
        bash_timeout=limit,
        bash_timeout_max=limit,
        bash_idle=limit + 1,
    )
    ctx = CheckContext(core.ctx.cwd, core.ctx.roots, core.ctx.env, limits, CallScope(sandbox=sandbox))
    ran = await until_interrupted(interrupt, bash(ctx, "check", command))
    if ran is None or interrupt.is_set():
        return Checked(False, interrupted=True)
    hung = ran.status != "success" and ran.metadata["seconds"] >= limit
    code, printed = ran.metadata["exit_code"], int(ran.metadata["bytes"])
    return Checked(ran.status == "success", ran.output, code, printed, limit, hung)
