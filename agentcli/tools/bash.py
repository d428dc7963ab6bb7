"""The bash tool: one command in a separate shell, watched until all its processes have ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


async def bash(
    ctx: ToolContext,
    call_id: str,
    command: str,
    timeout: int = 0,
    description: str = "",
    run_in_background: bool = False,
) -> ToolOutput:
    from agentcli.tools.lib.commands import run_command

    return await run_command(ctx, call_id, command, timeout, background=run_in_background)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `$ pytest -q`, the first line of the command."""
    first, _, rest = str(given.get("command", "")).strip().partition("\n")
    return f"$ {first}{' …' if rest else ''}{' &' if given.get('run_in_background') else ''}"


def preview(_: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the whole command."""
    return str(given["command"])


BASH = Entry("bash", bash, title, Traits("run", Subject("command", "command", background="run_in_background")), preview)
