"""Replaces an old part of the view by a summary: decided purely, summarised once, applied as one record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Literal

from agentcli.agent.attempt import Attempt
from agentcli.agent.hooks import Hooks, before_compression
from agentcli.agent.summaries import summarise, without_model
from agentcli.agent.summaries.brief import Brief, Made
from agentcli.agent.summaries.secretary import Interrupted, Secretary, Unusable
from agentcli.context.compaction import Summary, Task, clipped_outputs
from agentcli.context.keep import pins_report
from agentcli.context.plan import Plan
from agentcli.core.errors import ModelError
from agentcli.core.event import CompactionStarted, Event, Warned
from agentcli.core.journal import Journal
from agentcli.core.record import Trigger


async def compact(
    journal: Journal,
    brief: Brief,
    secretary: Secretary,
    *,
    trigger: Trigger,
    hooks: Hooks | None = None,
    may_call: Callable[[], Awaitable[str]] | None = None,
    cwd: str = "",
) -> AsyncIterator[Event]:
    """Compact the session's view, which `brief` holds, as its policy plans it. Ends with one CompactionEnded, whatever happens.

    `trigger` manual and overflow force it, auto leaves it to the marks of the policy. `may_call` says why a model must
    not be called at all, where something forbids it: asked once, before the first call.
    """
    window = brief.window
    attempt = Attempt(journal, brief, trigger, cwd)
    yield CompactionStarted(trigger, attempt.policy)
    plan = attempt.plan()
    if plan.trigger is None or not plan.does_something:
        yield attempt.ended("noop", plan.tokens_before, " ".join(plan.reasons) or "There is nothing to compact.")
        return
    async for warning in _warnings(attempt, plan, hooks, secretary.interrupt):
        yield warning
    work = attempt.task(plan)
    if heavy := pins_report(work.pins, window.counter, int(window.usable * window.settings.pins_share)):
        yield Warned(heavy)
    secretary.forbidden = await may_call() if may_call and plan.summarised else ""
    writing = asyncio.create_task(_written(work, brief, secretary))
    async for event in secretary.during(writing):
        for told in attempt.told(event):
            yield told
    for event in attempt.outcome(work, writing, secretary):
        yield event


async def _warnings(
    attempt: Attempt, plan: Plan, hooks: Hooks | None, interrupt: asyncio.Event | None
) -> AsyncIterator[Event]:
    if hooks is None:
        return
    kind: Literal["manual", "auto"] = "manual" if attempt.trigger == "manual" else "auto"
    journal = attempt.journal
    event = before_compression(kind, journal.id, journal.folder, policy=plan.policy, tokens_before=plan.tokens_before)
    for failed in await hooks.fire(event, interrupt):
        yield Warned(f"{failed.rstrip('.')}. The compaction goes on.")


async def _written(work: Task, brief: Brief, secretary: Secretary) -> tuple[Made, str]:
    """The summary by the model, or else by the ledger alone with the reason; outputs cut as the plan says. Raises Interrupted."""
    if secretary.interrupt and secretary.interrupt.is_set():
        raise Interrupted
    cut = clipped_outputs(work)
    if not work.plan.summarised:
        return Made(Summary(replaced=cut)), ""
    try:
        made, trouble = await summarise(work, brief, secretary), ""
    except (ModelError, Unusable) as error:
        trouble = str(error)
        made = Made(without_model(work, brief, f"the summariser failed: {trouble}"))
    whole = replace(made.summary, replaced={**made.summary.replaced, **cut})
    return replace(made, summary=whole), trouble
