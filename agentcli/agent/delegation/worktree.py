"""Subagents in git worktrees of their own: the worktree is the whole workspace, and the report says where the changes are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from agentcli.agent.setup import WHERE, Sandboxes, SessionSetup
from agentcli.core.journal import Journal
from agentcli.core.model import ModelSpec
from agentcli.core.record import Mode
from agentcli.core.tool import ToolOutput
from agentcli.integrations.worktrees import NoWorktree, Worktree

_FOLDER = "Folder: "


def in_worktree(setup: SessionSetup, worktree: Worktree) -> SessionSetup:
    """The setup of a subagent with the worktree as its only folder.

    The sandbox of commands is made for the parent's folders, so commands that it would hold are asked about here.
    """
    workspace = replace(
        setup.workspace, cwd=worktree.cwd, roots=(worktree.folder,), sandboxed=False, records=False, undo=None
    )

    def system(model: ModelSpec, mode: Mode) -> tuple[str, ...]:
        former, own = (
            f"\nFolder: {setup.workspace.cwd}",
            f"\nFolder: {worktree.cwd}\nIt is a git worktree of its own, made from HEAD",
        )
        return tuple(
            block.replace(former, own, 1) if block.startswith(WHERE) else block for block in setup.system(model, mode)
        )

    return replace(
        setup,
        workspace=workspace,
        system=system,
        sandboxes=lambda _: Sandboxes(),
        checkpointer=None,
        editor=None,
        sandbox="",
    )


def folder_of(journal: Journal) -> Path | None:
    """The folder that a session began to work in, as its system prompt names it."""
    block = next((block for block in journal.history.system if block.startswith(WHERE)), "")
    line = next((line for line in block.splitlines() if line.startswith(_FOLDER)), "")
    return Path(line.removeprefix(_FOLDER)) if line else None


async def with_worktree(result: ToolOutput, worktree: Worktree, id: str) -> ToolOutput:
    """The report with the place of what was changed; a worktree without changes is removed."""
    try:
        kept = await asyncio.to_thread(worktree.finish, f"agentcli/{id}")
    except NoWorktree as why:
        kept = f"It worked in {worktree.folder}, which stays there: {why}."
    return replace(result, output=f"{result.output}\n{kept}") if kept else result
