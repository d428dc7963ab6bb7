"""Slash commands that print reports on the session."""

from __future__ import annotations

import asyncio

from agentcli.core.errors import UsageError
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.render.past_messages import newest_answer
from agentcli.ui.render.scrollback import todo_lines


@command(at_once=True)
async def todo(context: CommandContext, _: str) -> None:
    """Show the model's todo list: /todo"""
    items = context.session.history.todo
    if not items:
        context.say("The todo list is empty.")
        return
    context.show(*todo_lines(items, context.columns - 1, context.look.theme))


@command(at_once=True)
async def cost(context: CommandContext, _: str) -> None:
    """Show the cost of this session: /cost"""
    context.say(*context.session.report.costs())


@command(at_once=True)
async def tools(context: CommandContext, _: str) -> None:
    """List the tools that the model has: /tools"""
    wide = max((len(tool.name) for tool in context.session.tools), default=0) + 2
    context.say(*(tool.name.ljust(wide) + _first_sentence(tool.schema.description) for tool in context.session.tools))


@command(at_once=True)
async def why(context: CommandContext, _: str) -> None:
    """List automatic actions of this session, and why: /why"""
    context.say(*((*context.session.report.automatic_actions(), *context.state.acts) or ("No automatic actions yet.",)))


@command(at_once=True)
async def cache(context: CommandContext, _: str) -> None:
    """Show cache savings and the causes of cache misses: /cache"""
    context.say(*context.session.report.cache())


@command(at_once=True)
async def tasks(context: CommandContext, _: str) -> None:
    """List the background jobs and their latest output: /tasks"""
    context.say(*context.session.report.tasks())


@command(at_once=True)
async def copy(context: CommandContext, _: str) -> None:
    """Copy the newest answer to the clipboard: /copy"""
    answer = await asyncio.to_thread(newest_answer, context.session.journal)
    if not answer:
        raise UsageError("There is no answer to copy yet.")
    context.copy(answer)
    context.say(f"Copied {len(answer):,} characters.")


def _first_sentence(text: str) -> str:
    return text.split("\n")[0].partition(". ")[0].rstrip(".")
