"""Slash commands that report: permissions, doctor, tools, tasks, todo, why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from agentcli.core.errors import UsageError
from agentcli.frontends.commands.outputs import Drawn
from agentcli.frontends.terminal.render.scrollback import todo_lines
from agentcli.program.commands import Choice, Context, Output, Said, command


@command("Model and permissions", at_once=True)
async def permissions(context: Context, text: str) -> AsyncIterator[Output]:
    """Show the permission rules in force: /permissions [allow RULE for 30m]

    `allow RULE for 30m`, or `for 10 calls`, allows calls in this session until then. Deny rules still apply, and calls
    that always ask still ask.

    `remove RULE` ends it, or removes a rule that "always" in an approval saved for this project. Without RULE, choose
    from the saved rules.
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
        yield Said(await asyncio.to_thread(_rules, context))
        return
    terminal, kept = context.only_in_terminal("/permissions remove"), context.program.workspace_policy.saved
    rule = rule.strip()
    if not rule:
        saved = kept.listed()
        if not saved:
            yield Said(["No saved rules. See `agentcli help rules`."])
            return
        chosen = await terminal.pick("Remove which rule?", [Choice(one) for one in saved])
        if chosen is None:
            return
        rule = saved[chosen]
    kept.remove(rule)
    context.session.core.approval.forget(rule)
    yield Said([f"Removed {rule}."])


def _allowed(context: Context, rule: str) -> Said:
    """Allow a rule for its time or number of calls. Raises UsageError if it has neither."""
    from agentcli.agent.timed_rules import USAGE, timed

    given, term = timed(rule)
    if term is None:
        raise UsageError(USAGE)
    known = context.session.core.approval.allow_for(given, term)
    return Said([f"Allowed {term}: {known}. /permissions shows what is left."])


@command("Cost and state", at_once=True, former="doctor")
async def doctor(context: Context, _: str) -> AsyncIterator[Output]:
    """Check keys, folders, helpers and sessions: /status checks"""
    yield Said(await asyncio.to_thread(_findings, context))


def _rules(context: Context) -> Sequence[str]:
    session, saved = context.session, context.program.workspace_policy.saved.rules()[0].allow
    # A rule that this session's answers saved counts as its own there.
    origins = {("allow", str(rule)): rule.origin for rule in saved}
    listed = session.core.approval.rules.listed()
    lines = [f"{kind:6} {rule}  ({origins.get((kind, str(rule)), rule.origin)})" for kind, rule in listed]
    timed = session.core.approval.timed.now
    return [
        f"Mode: {session.core.approval.mode}. {context.program.workspace_policy.sandbox.report}",
        *([*lines, *(timed.lines() if timed is not None else ())] or [_NO_RULES]),
        *(["/permissions remove takes a rule back that you saved for this project."] if saved else []),
    ]


_NO_RULES = "No rules set. “Always” in an approval saves one; /permissions allow bash(make *) for 30m lasts so long."


def _findings(context: Context) -> Sequence[str]:
    from agentcli.program.doctor import examine

    return [finding.line for finding in examine(context.program)]


_MARKS = {"completed": "✔", "in_progress": "◐", "pending": "☐"}


@command("Work", at_once=True, former="todo")
async def todo(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the model's todo list: /tasks todo"""
    items = context.session.history.todo
    if not items:
        yield Said(["The todo list is empty."])
        return
    yield Drawn(
        [f"{_MARKS[item.status]} {item.content}" for item in items],
        draw=lambda columns, look: todo_lines(items, columns - 1, look.theme),
    )


@command("Extensions", at_once=True, former="tools")
async def tools(context: Context, _: str) -> AsyncIterator[Output]:
    """List the tools that the model has: /extensions tools"""
    wide = max((len(tool.name) for tool in context.session.core.setup.tools.offered), default=0) + 2
    yield Said(
        [
            tool.name.ljust(wide) + _first_sentence(tool.schema.description)
            for tool in context.session.core.setup.tools.offered
        ]
    )


@command("Cost and state", at_once=True, former="why")
async def why(context: Context, _: str) -> AsyncIterator[Output]:
    """List automatic actions of this session, and why: /status why"""
    yield Said((*context.session.report.automatic_actions(), *context.acts) or ("No automatic actions yet.",))


@command("Work", at_once=True, values=("",), tab="jobs")
async def tasks(context: Context, _: str) -> AsyncIterator[Output]:
    """List the background jobs and their latest output: /tasks [todo|queue]

    `todo` shows the model's todo list, `queue` the messages that wait.
    """
    yield Said(context.session.report.tasks())


def _first_sentence(text: str) -> str:
    return text.split("\n")[0].partition(". ")[0].rstrip(".")
