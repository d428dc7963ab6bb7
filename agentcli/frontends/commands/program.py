"""Slash commands that print the program's reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentcli.core.errors import UsageError
from agentcli.program.commands import Choice, Context, Output, Said, command
from agentcli.program.host import Topic


@command("Model and permissions", at_once=True)
async def permissions(context: Context, text: str) -> AsyncIterator[Output]:
    """Show the permission rules in force: /permissions [allow RULE for 30m]

    `allow RULE for 30m`, or `for 10 calls`, allows calls in this session until then; deny rules and questions that are always asked stay. `remove RULE` ends it, or removes a rule saved for this
    project by "always" in an approval; without RULE, choose from those.
    """
    word, _, rule = text.strip().partition(" ")
    if word == "allow":
        yield _allowed(context, rule)
        return
    lasting = context.session.core.approval.timed.now
    if word == "remove" and lasting is not None and lasting.remove(rule.strip()):
        yield Said([f"Removed {rule.strip()}."])
        return
    if word != "remove":
        yield await _report(context, "permissions")
        return
    terminal = context.only_in_terminal("/permissions remove")
    rule = rule.strip()
    if not rule:
        saved = terminal.host.saved_rules()
        if not saved:
            yield Said(["No saved rules. See `agentcli help rules`."])
            return
        chosen = await terminal.pick("Remove which rule?", [Choice(one) for one in saved])
        if chosen is None:
            return
        rule = saved[chosen]
    terminal.host.forget_rule(context.session, rule)
    yield Said([f"Removed {rule}."])


def _allowed(context: Context, rule: str) -> Said:
    """Allow a rule for the time or the number of calls that it names. Raises UsageError if it names none."""
    from agentcli.agent.timed_rules import USAGE, timed

    given, term = timed(rule)
    if term is None:
        raise UsageError(USAGE)
    known = context.session.core.approval.allow_for(given, term)
    return Said([f"Allowed {term}: {known}. /permissions shows what is left."])


@command("Cost and state", at_once=True)
async def doctor(context: Context, _: str) -> AsyncIterator[Output]:
    """Check keys, folders, helpers and sessions: /doctor"""
    yield await _report(context, "doctor")


@command("Cost and state", at_once=True)
async def stats(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the usage of all sessions, per model and per day: /stats"""
    yield await _report(context, "stats")


@command("Cost and state", at_once=True)
async def budget(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the remaining budget of this session: /budget"""
    yield await _report(context, "budget")


async def _report(context: Context, topic: Topic) -> Said:
    # This is slow with thousands of sessions; in a thread, keys still work.
    return Said(await asyncio.to_thread(context.host.report, topic, context.session))
