"""Summaries from the ledger, without a model, in the form of each policy."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.compaction.record import Summary, SummaryTask, clipped_outputs
from agentcli.context.ledger.command_results import outcome
from agentcli.context.policies.regions import heading, text_of
from agentcli.context.snapshot.form import render, trimmed
from agentcli.context.snapshot.reconcile import from_ledger
from agentcli.context.view import replaced_key

LONGEST = 60_000
"""Characters of the longest snapshot."""


def summary_of(task: SummaryTask) -> Summary:
    """Write the summary of a task; it is repeatable and free of charge."""
    clipped = clipped_outputs(task)
    if task.policy.form == "regions":
        return Summary(replaced=clipped | _regions(task))
    if not task.plan.summarised:
        return Summary(replaced=clipped)
    summary = from_ledger(task.ledger, task.former_snapshot, task.goal, task.form)
    shorter = trimmed(task.priced(replace(summary, covers=task.covers)), LONGEST)
    return Summary(render(shorter, shells=not task.policy.priced), replaced=clipped)


def _regions(task: SummaryTask) -> dict[str, str]:
    """Return for each region its heading and the outcomes of its calls; results after the first only refer to it."""
    texts, turns = _texts(task), _turns(task)
    summary: dict[str, str] = {}
    for region in task.plan.regions:
        title = heading(min(turns[key] for key in region), max(turns[key] for key in region))
        lines = [f"- {key}: {outcome(texts[key], False)[:200]}" for key in region]
        summary |= dict.fromkeys(region, f"{title}\nsee the result of {region[0]}")
        summary[region[0]] = "\n".join((title, *lines))
    return summary


def _texts(task: SummaryTask) -> dict[str, str]:
    return {replaced_key(block): text_of(block) for block in task.view.blocks}


def _turns(task: SummaryTask) -> dict[str, int]:
    return {replaced_key(block): message.turn for message in task.view.messages for block in message.blocks}
