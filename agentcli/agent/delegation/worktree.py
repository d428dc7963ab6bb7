"""Subagents in separate git worktrees: the worktree is the whole workspace, and the report states where the changes
are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from agentcli.agent.setup import WHERE, Sandboxes, SessionSetup
from agentcli.core.journal import Journal
from agentcli.core.model import ModelSpec
from agentcli.core.record import Mode
from agentcli.core.text.path_pattern import literal
from agentcli.core.tool import CommandSandbox, ToolOutput, Traits
from agentcli.permissions.denied.files import Hidden
from agentcli.permissions.paths import EXPOSED_NOTHING, Workspace
from agentcli.permissions.rules import Rule, Rules
from agentcli.system.worktrees import NoWorktree, Worktree

_FOLDER = "Folder: "


def in_worktree(setup: SessionSetup, worktree: Worktree) -> SessionSetup:
    """Return the setup of a subagent with the worktree as its only folder.

    The sandbox is made for the parent's folders, so commands that it would confine need approval here.
    """
    workspace = replace(
        setup.workspace,
        cwd=worktree.cwd,
        roots=(worktree.cwd, worktree.folder),
        sandboxed=False,
        exposes=False,
        records=False,
        undo=None,
    )

    def hiding_only(mode: Mode, hidden: Hidden, *_: object) -> Sandboxes:
        outside = setup.permissions.sandboxes(mode, hidden, False, EXPOSED_NOTHING).decided.outside
        return Sandboxes(CommandSandbox(outside, outside=outside))

    former = setup.permissions.rules
    rules = former + _restrictions(former, setup.workspace, worktree, setup.tools.traits)
    return replace(
        setup,
        workspace=workspace,
        permissions=replace(setup.permissions, rules=rules, sandboxes=hiding_only, sandbox=""),
        prompts=replace(setup.prompts, system=partial(_system_prompt, setup, worktree)),
        parent=replace(setup.parent, checkpointer=None),
        person=replace(setup.person, editor=None),
    )


def _system_prompt(setup: SessionSetup, worktree: Worktree, model: ModelSpec, mode: Mode) -> tuple[str, ...]:
    """Return the system prompt with the worktree instead of the folder."""
    former = f"\n{_FOLDER}{setup.workspace.cwd}"
    own = f"\n{_FOLDER}{worktree.cwd}\nIt is a git worktree of its own, made from HEAD"
    blocks = setup.prompts.system(model, mode)
    return tuple(block.replace(former, own, 1) if block.startswith(WHERE) else block for block in blocks)


def _restrictions(rules: Rules, workspace: Workspace, worktree: Worktree, traits: Mapping[str, Traits]) -> Rules:
    """Return the rules that deny or ask about the repository's paths for the same paths of the worktree.

    They also apply the other way round. A rule relative to the workspace's top applies to the worktree unchanged, and
    here also to the parent's folders.
    """
    there, here = f"{literal(str(worktree.root))}/", f"{literal(str(worktree.folder))}/"

    def moved(rule: Rule) -> Iterator[Rule]:
        if not _names_a_path(rule, traits.get(rule.tool)):
            return
        path = f"{workspace.home}{rule.pattern[1:]}" if rule.pattern.startswith("~/") else rule.pattern
        if path.startswith(there):
            yield replace(rule, pattern=here + path.removeprefix(there))
        elif not path.startswith("/"):
            below = path.removeprefix("./") if "/" in path.rstrip("/") else f"**/{path}"
            yield from (replace(rule, pattern=f"{literal(str(top))}/{below}") for top in workspace.resolved_roots)

    return Rules(
        ask=tuple(chain.from_iterable(map(moved, rules.ask))), deny=tuple(chain.from_iterable(map(moved, rules.deny)))
    )


def _names_a_path(rule: Rule, traits: Traits | None) -> bool:
    """Return True for a rule about a tool's files; the patterns of other rules are commands and addresses."""
    return bool(rule.pattern) and traits is not None and traits.touches_files


def folder_of(journal: Journal) -> Path | None:
    """Return the folder in which a session began to work, from its system prompt."""
    block = next((block for block in journal.history.system if block.startswith(WHERE)), "")
    line = next((line for line in block.splitlines() if line.startswith(_FOLDER)), "")
    return Path(line.removeprefix(_FOLDER)) if line else None


async def with_worktree(result: ToolOutput, worktree: Worktree, id: str) -> ToolOutput:
    """Add the place of the changes to the report; remove a worktree without changes."""
    try:
        kept = await asyncio.to_thread(worktree.finish, f"agentcli/{id}")
    except NoWorktree as why:
        kept = f"It worked in {worktree.folder}, which stays there: {why}."
    return replace(result, output=f"{result.output}\n{kept}") if kept else result
