"""Slash commands on the workspace of the open session: its folders, and where commands start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.record import Settings
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.program.commands import Context, Item
from agentcli.program.project import folder_named


def folders(context: Context) -> Sequence[Item]:
    """Return the folders of the workspace as completions."""
    return [Item(str(root), "") for root in context.program.roots]


@terminal_command("Work", arguments=folders)
async def add_dir(context: CommandContext, folder: str) -> None:
    """Add a folder to the workspace of this session: /add-dir [DIR]

    Without DIR, list the folders. The setting `add_dirs` adds folders to every session.
    """
    if folder:
        context.program.add_folder(_named(context, folder))
    context.say("Workspace:", *(f"  {root}" for root in context.program.roots))


@terminal_command("Work", arguments=folders)
async def cd(context: CommandContext, folder: str) -> None:
    """Change the folder in which commands start: /cd [DIR]

    A folder outside the workspace is added to it. Without DIR, show the folder.
    """
    if folder:
        target = _named(context, folder)
        if not any(target.is_relative_to(root) for root in context.program.roots):
            context.program.add_folder(target)
        context.show_events([context.session.core.record(Settings(folder=str(target)))])
    context.say(f"Commands start in {context.session.core.folder.now}.")


def _named(context: CommandContext, folder: str) -> Path:
    """Return the folder that a person names. Raises UsageError if there is none."""
    return folder_named(os.path.join(context.session.core.folder.now, os.path.expanduser(folder)))
