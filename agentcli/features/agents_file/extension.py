"""AGENTS.md: `/init` has the model write what a newcomer to the project needs."""

from __future__ import annotations

from agentcli.extension import Context, command, settings

PROMPT = "Write an AGENTS.md for this project, or mend the one that is there."
"""Prompt of /init, sent as the user's; the instructions are sent with it but not shown."""


@settings
class InitSettings:
    """Settings of /init."""

    instructions: str = ""
    """What to look at, and what to write."""


@command("/init")
def init(ctx: Context, wishes: str = "") -> None:
    """Generate AGENTS.md."""
    ctx.prompt(f"{PROMPT}\n\n{wishes}".strip(), more=ctx.settings.instructions)
