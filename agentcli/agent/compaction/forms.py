"""Summaries: what a model makes of a part of the conversation, and what can be made without one."""

from __future__ import annotations

from agentcli.agent.compaction.brief import Brief, SummaryResult
from agentcli.agent.compaction.prose import prose
from agentcli.agent.compaction.regions import regions, replaced
from agentcli.agent.compaction.snapshot import finished, snapshot
from agentcli.agent.compaction.summariser import Summariser
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.snapshot.form import TRUNCATED, Snapshot, render
from agentcli.context.snapshot.reconcile import from_ledger
from agentcli.context.snapshot.verify import Evidence
from agentcli.core.secrets import redact


async def summarise(task: SummaryTask, brief: Brief, summariser: Summariser) -> SummaryResult:
    """The summary in the form of the policy. Raises ModelError, Unusable and Interrupted."""
    match task.policy.form:
        case "snapshot":
            return await snapshot(task, brief, summariser)
        case "prose":
            return await prose(task, brief, summariser)
        case "regions":
            return await regions(task, brief, summariser)


def without_model(task: SummaryTask, brief: Brief, why: str = "") -> Summary:
    """The summary made from the ledger alone, marked as such."""
    if task.policy.form == "regions":
        return Summary(replaced=replaced(task, {}, Evidence(()), brief, []), note=TRUNCATED)
    result = from_ledger(task.ledger, task.former_snapshot, task.goal, brief.form)
    return Summary(finished(result, brief), note="; ".join(filter(None, (result.note, why))))


def truncated(task: SummaryTask, brief: Brief) -> Summary:
    """The least that can be said where even the ledger's snapshot does not fit: goal, rules, and that the rest is gone."""
    bare = Snapshot(redact(task.goal), brief.rules(task.ledger.rules), note="", actions=(TRUNCATED,))
    return Summary(render(bare), note=TRUNCATED)
