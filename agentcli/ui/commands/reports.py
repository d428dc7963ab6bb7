"""Slash commands that only tell."""

from __future__ import annotations

import asyncio

from agentcli.core.errors import UsageError
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.render import diff
from agentcli.ui.render.draw import todo_lines
from agentcli.ui.render.past_messages import newest_answer


@command(at_once=True)
async def todo(stage: CommandContext, _: str) -> None:
    """Show the model's todo list: /todo"""
    items = stage.desk.history.todo
    if not items:
        stage.say("The todo list is empty.")
        return
    stage.show(*todo_lines(items, stage.columns - 1, stage.look.theme))


@command(at_once=True)
async def cost(stage: CommandContext, _: str) -> None:
    """Show what this session has cost: /cost"""
    stage.say(*stage.desk.report.costs())


@command(at_once=True)
async def diff_(stage: CommandContext, _: str) -> None:
    """Show this session's changes to files: /diff"""
    changes = stage.desk.report.diff()
    if not changes.strip():
        stage.say("No file has been changed in this session.")
        return
    stage.show(*diff.lines(changes, stage.columns, stage.look.theme))


@command(at_once=True)
async def memory(stage: CommandContext, _: str) -> None:
    """Show which instruction files are in force: /memory"""
    files = stage.desk.instructions
    if not files:
        stage.say("No instruction file is in force. /init writes an AGENTS.md for this project.")
        return
    stage.say(*(f"{path}  ({tokens:,} tokens)" for path, tokens in files))


@command(at_once=True)
async def tools(stage: CommandContext, _: str) -> None:
    """List the tools that the model has: /tools"""
    wide = max((len(tool.name) for tool in stage.desk.tools), default=0) + 2
    stage.say(*(tool.name.ljust(wide) + _first_sentence(tool.schema.description) for tool in stage.desk.tools))


@command(at_once=True)
async def why(stage: CommandContext, _: str) -> None:
    """List what was done automatically in this session, and why: /why"""
    stage.say(
        *((*stage.desk.report.automatic_actions(), *stage.state.acts) or ("Nothing was done automatically so far.",))
    )


@command(at_once=True)
async def cache(stage: CommandContext, _: str) -> None:
    """Show how much the provider's cache saves, and what rewrote it: /cache"""
    stage.say(*stage.desk.report.cache())


@command(at_once=True)
async def tasks(stage: CommandContext, _: str) -> None:
    """List the background jobs and what they printed last: /tasks"""
    stage.say(*stage.desk.report.tasks())


@command(at_once=True)
async def copy(stage: CommandContext, _: str) -> None:
    """Put the newest answer on the clipboard: /copy"""
    answer = await asyncio.to_thread(newest_answer, stage.desk.journal)
    if not answer:
        raise UsageError("There is no answer to copy yet.")
    stage.copy(answer)
    stage.say(f"Copied {len(answer):,} characters.")


def _first_sentence(text: str) -> str:
    return text.split("\n")[0].partition(". ")[0].rstrip(".")
