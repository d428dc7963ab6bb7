"""The check of a goal by a command: exit code 0 shows that it is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from agentcli.agent.core import SessionCore
from agentcli.agent.unreadable import shared_sandbox
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError
from agentcli.core.event import seconds_left
from agentcli.core.tasks import until_interrupted
from agentcli.core.tool import CallScope, Service, ToolLimits
from agentcli.goal.verdict import Verdict
from agentcli.tools.bash import bash

SHOWN = 4_000
"""Bytes of a check's output that the model sees, half from each end."""
LARGE = 1_000_000
"""Bytes of output from which on the person is told."""
SECONDS = 600.0
"""Seconds that a check may take."""


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


async def check(core: SessionCore, command: str, seconds: float, interrupt: asyncio.Event) -> Verdict:
    """Run the command, at most so many seconds, in the sandbox of the session's mode."""
    limit = max(1.0, min(SECONDS, seconds))
    try:
        sandbox = await asyncio.to_thread(shared_sandbox, command, core.approval.rules, core.approval.mode, core.setup)
        limits = replace(
            core.setup.settings.limits,
            bash_output=SHOWN,
            output_file=0,
            bash_timeout=limit,
            bash_timeout_max=limit,
            bash_idle=limit + 1,
        )
        scope = CallScope(sandbox=sandbox)
        ctx = CheckContext(core.ctx.cwd, core.ctx.roots, core.ctx.env, limits, scope)
        ran = await until_interrupted(interrupt, bash(ctx, "goal", command))
    except AgentError as error:
        return Verdict("unknown", f"The check could not run: {error}", f"The check `{command}` could not run: {error}")
    if ran is None or interrupt.is_set():
        return Verdict("interrupted", "interrupted")
    if ran.status == "success":
        return Verdict("reached", f"`{command}` ended with exit code 0")
    if ran.metadata["seconds"] >= limit:
        hung = f"The check `{command}` was stopped after {seconds_left(limit)}"
        return Verdict("unknown", f"{hung}.\n{ran.output}", f"{hung}. It counts as not passed.")
    printed = int(ran.metadata["bytes"])
    large = f"The check `{command}` printed {printed:,} bytes; only its beginning and end are read."
    code = ran.metadata["exit_code"]
    why = f"`{command}` ended with exit code {code}"
    return Verdict("not yet", why, large if printed > LARGE else "", output=ran.output)
