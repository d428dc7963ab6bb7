"""Subagents in git worktrees of their own: the worktree is the whole workspace, and the report says where the changes are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from agentcli.agent.setup import WHERE, Sandboxes, SessionSetup
from agentcli.core.journal import Journal
from agentcli.core.model import ModelSpec
from agentcli.core.record import Mode
from agentcli.core.tool import ToolOutput
from agentcli.integrations.worktrees import NoWorktree, Worktree
from agentcli.permissions.rules import Rule, Rules, literal

_FOLDER = "Folder: "


def in_worktree(setup: SessionSetup, worktree: Worktree) -> SessionSetup:
    """The setup of a subagent with the worktree as its only folder.

    The sandbox of commands is made for the parent's folders, so commands that it would hold are asked about here.
    """
    workspace = replace(
        setup.workspace,
        cwd=worktree.cwd,
        roots=(worktree.cwd, worktree.folder),
        sandboxed=False,
        records=False,
        undo=None,
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
        rules=setup.rules + _restrictions(setup.rules, setup.workspace.home, worktree),
        system=system,
        sandboxes=lambda _: Sandboxes(),
        checkpointer=None,
        editor=None,
        sandbox="",
    )


def _restrictions(rules: Rules, home: Path, worktree: Worktree) -> Rules:
    """The rules that deny or ask about absolute paths of the repository, for the same paths of the worktree."""
    there, here = f"{literal(str(worktree.root))}/", f"{literal(str(worktree.folder))}/"

    def moved(rule: Rule) -> Iterator[Rule]:
        path = f"{home}{rule.pattern[1:]}" if rule.pattern.startswith("~/") else rule.pattern
        if path.startswith(there):
            yield replace(rule, pattern=here + path.removeprefix(there))

    return Rules(
        ask=tuple(chain.from_iterable(map(moved, rules.ask))), deny=tuple(chain.from_iterable(map(moved, rules.deny)))
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
