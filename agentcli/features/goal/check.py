"""The check of a goal by a command: exit code 0 shows that it is reached."""

from __future__ import annotations

import asyncio

from agentcli.agent.core import SessionCore
from agentcli.agent.own_checks import run_check
from agentcli.core.errors import AgentError
from agentcli.core.event import seconds_left
from agentcli.features.goal.verdict import Verdict

LARGE = 1_000_000
"""Bytes of output from which on the person is told."""


async def check(core: SessionCore, command: str, seconds: float, interrupt: asyncio.Event) -> Verdict:
    """Return the verdict of a command that may take so many seconds."""
    try:
        ran = await run_check(core, command, seconds, interrupt)
    except AgentError as error:
        return Verdict("unknown", f"The check could not run: {error}", f"The check `{command}` could not run: {error}")
    if ran.interrupted:
        return Verdict("interrupted", "interrupted")
    if ran.passed:
        return Verdict("reached", f"`{command}` ended with exit code 0")
    if ran.hung:
        hung = f"The check `{command}` was stopped after {seconds_left(ran.limit)}"
        return Verdict("unknown", f"{hung}.", f"{hung}. It counts as not passed.", ran.output)
    large = f"The check `{command}` printed {ran.printed:,} bytes; only its beginning and end are read."
    why = f"`{command}` ended with exit code {ran.exit_code}"
    return Verdict("not yet", why, large if ran.printed > LARGE else "", ran.output)
