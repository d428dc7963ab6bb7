"""Summaries from the ledger, without a model, in the form of each policy."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.compaction.record import Summary, SummaryTask, clipped_outputs
from agentcli.context.ledger.command_results import outcome
from agentcli.context.policies.regions import heading
from agentcli.context.snapshot.form import render, trimmed
from agentcli.context.snapshot.reconcile import from_ledger
from agentcli.core.message import ToolResult

LONGEST = 60_000
"""Characters of the longest snapshot."""


def summary_of(task: SummaryTask) -> Summary:
    """The summary of the part that goes, repeatable and free of charge."""
    clipped = clipped_outputs(task)
    if task.policy.form == "regions":
        return Summary(replaced=clipped | _regions(task))
    if not task.plan.summarised:
        return Summary(replaced=clipped)
    summary = from_ledger(task.ledger, task.former_snapshot, task.goal, task.form)
    return Summary(render(trimmed(task.priced(replace(summary, covers=task.covers)), LONGEST)), replaced=clipped)


def _regions(task: SummaryTask) -> dict[str, str]:
    """For each region its heading and the outcomes of its calls; results after the first only refer to it."""
    outputs, turns = _outputs(task), _turns(task)
    summary: dict[str, str] = {}
    for region in task.plan.regions:
        title = heading(min(turns[call] for call in region), max(turns[call] for call in region))
        lines = [f"- {call}: {outcome(outputs[call], False)[:200]}" for call in region]
        summary |= dict.fromkeys(region, f"{title}\nsee the result of {region[0]}")
        summary[region[0]] = "\n".join((title, *lines))
    return summary


def _outputs(task: SummaryTask) -> dict[str, str]:
    return {block.tool_use_id: block.part.output for block in task.view.blocks if isinstance(block.part, ToolResult)}


def _turns(task: SummaryTask) -> dict[str, int]:
    return {block.tool_use_id: message.turn for message in task.view.messages for block in message.blocks}
