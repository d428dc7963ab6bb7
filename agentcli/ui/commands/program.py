"""Slash commands that print the program's reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentcli.ui.commands.definition import command
from agentcli.ui.commands.outputs import Context, Output, Said
from agentcli.ui.dialogs.dialogs import Choice
from agentcli.ui.host import Topic


@command(where="everywhere", at_once=True)
async def permissions(context: Context, text: str) -> AsyncIterator[Output]:
    """Show the permission rules in force, or remove a saved one: /permissions [remove [RULE]]

    Rules are saved for this project by "always" in an approval. Without RULE, choose from them.
    """
    word, _, rule = text.strip().partition(" ")
    if word != "remove":
        yield await _report(context, "permissions")
        return
    terminal = context.only_in_terminal("/permissions remove")
    rule = rule.strip()
    if not rule:
        saved = terminal.host.saved_rules()
        if not saved:
            yield Said(["No saved rules. See `agentcli help permissions`."])
            return
        chosen = await terminal.pick("Remove which rule?", [Choice(one) for one in saved])
        if chosen is None:
            return
        rule = saved[chosen]
    terminal.host.forget_rule(context.session, rule)
    yield Said([f"Removed {rule}."])


@command(where="everywhere", at_once=True)
async def doctor(context: Context, _: str) -> AsyncIterator[Output]:
    """Check keys, folders, helpers and sessions: /doctor"""
    yield await _report(context, "doctor")


@command(where="everywhere", at_once=True)
async def stats(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the usage of all sessions, per model and per day: /stats"""
    yield await _report(context, "stats")


@command(where="everywhere", at_once=True)
async def budget(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the remaining budget of this session: /budget"""
    yield await _report(context, "budget")


async def _report(context: Context, topic: Topic) -> Said:
    # This is slow with thousands of sessions; in a thread, keys still work.
    return Said(await asyncio.to_thread(context.host.report, topic, context.session))
