"""A subagent that works in a git worktree of its own: its workspace is that folder alone, and its report says where changes are."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agentcli.agent.setup import WHERE, Sandboxes, SessionSetup
from agentcli.core.model import ModelSpec
from agentcli.core.record import Mode
from agentcli.core.tool import ToolOutput
from agentcli.integrations.worktrees import NoWorktree, Worktree


def in_worktree(setup: SessionSetup, apart: Worktree) -> SessionSetup:
    """The setup of a subagent with the worktree as its only folder.

    The sandbox of commands is made for the parent's folders, so commands that it would hold are asked about here.
    """
    workspace = replace(
        setup.workspace, cwd=apart.cwd, roots=(apart.folder,), sandboxed=False, records=False, undo=None
    )

    def system(model: ModelSpec, mode: Mode) -> tuple[str, ...]:
        former, own = (
            f"\nFolder: {setup.workspace.cwd}",
            f"\nFolder: {apart.cwd}\nIt is a git worktree of its own, made from HEAD",
        )
        return tuple(
            block.replace(former, own, 1) if block.startswith(WHERE) else block for block in setup.system(model, mode)
        )

    return replace(
        setup, workspace=workspace, system=system, sandboxes=lambda _: Sandboxes(), checkpointer=None, sandbox=""
    )


async def with_worktree(result: ToolOutput, apart: Worktree, id: str) -> ToolOutput:
    """The report with the place of what was changed; a worktree without changes is removed."""
    try:
        kept = await asyncio.to_thread(apart.finish, f"agentcli/{id}")
    except NoWorktree as why:
        kept = f"It worked in {apart.folder}, which stays there: {why}."
    return replace(result, output=f"{result.output}\n{kept}") if kept else result
