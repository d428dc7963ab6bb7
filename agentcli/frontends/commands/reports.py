"""Slash commands that print reports on the session."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agentcli.frontends.commands.outputs import Drawn
from agentcli.frontends.terminal.render.scrollback import todo_lines
from agentcli.program.commands import Context, Output, Said, command

_MARKS = {"completed": "✔", "in_progress": "◐", "pending": "☐"}


@command("Work", at_once=True)
async def todo(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the model's todo list: /todo"""
    items = context.session.history.todo
    if not items:
        yield Said(["The todo list is empty."])
        return
    yield Drawn(
        [f"{_MARKS[item.status]} {item.content}" for item in items],
        draw=lambda columns, look: todo_lines(items, columns - 1, look.theme),
    )


@command("Model and permissions", at_once=True)
async def tools(context: Context, _: str) -> AsyncIterator[Output]:
    """List the tools that the model has: /tools"""
    wide = max((len(tool.name) for tool in context.session.core.setup.tools.offered), default=0) + 2
    yield Said(
        [
            tool.name.ljust(wide) + _first_sentence(tool.schema.description)
            for tool in context.session.core.setup.tools.offered
        ]
    )


@command("Cost and state", at_once=True)
async def why(context: Context, _: str) -> AsyncIterator[Output]:
    """List automatic actions of this session, and why: /why"""
    here = context.terminal.acts if context.terminal is not None else ()
    yield Said((*context.session.report.automatic_actions(), *here) or ("No automatic actions yet.",))


@command("Cost and state", at_once=True)
async def cache(context: Context, _: str) -> AsyncIterator[Output]:
    """Show cache savings and the causes of cache misses: /cache"""
    yield Said(context.session.report.cache())


@command("Work", at_once=True)
async def tasks(context: Context, _: str) -> AsyncIterator[Output]:
    """List the background jobs and their latest output: /tasks"""
    yield Said(context.session.report.tasks())


def _first_sentence(text: str) -> str:
    return text.split("\n")[0].partition(". ")[0].rstrip(".")
