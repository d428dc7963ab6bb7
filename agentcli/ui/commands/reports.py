"""Slash commands that print reports on the session."""

from __future__ import annotations

import asyncio

from agentcli.core.errors import InputError, UsageError
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.render.frame import Item
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


@command(arguments=lambda context: [Item("add ", "add a line to AGENTS.md")])
async def memory(context: CommandContext, argument: str) -> None:
    """Show the instruction files in force, or add to the project's: /memory [add TEXT]

    TEXT becomes a line of the AGENTS.md in the session's folder; every later session begins with it.
    """
    word, _, text = argument.partition(" ")
    if word == "add" and text.strip():
        await _add_to_memory(context, text.strip())
        return
    if argument:
        raise UsageError("Use /memory, or /memory add TEXT.")
    files = context.session.instructions
    if not files:
        context.say("No instruction files (AGENTS.md, CLAUDE.md, GEMINI.md) found. /init writes an AGENTS.md.")
        return
    context.say(*(f"{path}  ({tokens:,} tokens)" for path, tokens in files))


async def _add_to_memory(context: CommandContext, text: str) -> None:
    file = context.session.cwd / "AGENTS.md"
    if not await context.confirm(f"Add this line to {file}?", [f"- {text}"]):
        return
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        gap = "" if not before or before.endswith("\n") else "\n"
        file.write_text(f"{before}{gap}- {text}\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be written: {error}. Write the line there yourself.") from error
    context.say(f"Added to {file}. Sessions that begin from now on know it.")


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
    """Show the savings of the provider's cache and the causes of its misses: /cache"""
    context.say(*context.session.report.cache())


@command(at_once=True)
async def tasks(context: CommandContext, _: str) -> None:
    """List the background jobs and their latest output: /tasks"""
    context.say(*context.session.report.tasks())


@command(at_once=True)
async def copy(context: CommandContext, _: str) -> None:
    """Put the newest answer on the clipboard: /copy"""
    answer = await asyncio.to_thread(newest_answer, context.session.journal)
    if not answer:
        raise UsageError("There is no answer to copy yet.")
    context.copy(answer)
    context.say(f"Copied {len(answer):,} characters.")


def _first_sentence(text: str) -> str:
    return text.split("\n")[0].partition(". ")[0].rstrip(".")
