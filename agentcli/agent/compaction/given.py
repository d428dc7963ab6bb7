"""Whole summaries that somebody else has written, verified and matched with the ledger like a model's."""

from __future__ import annotations

import re

from agentcli.agent.compaction.prose import settled_prose
from agentcli.agent.compaction.snapshot import Brief, SummaryResult, settled_snapshot
from agentcli.agent.compaction.summariser import Unusable
from agentcli.context.compaction.record import SummaryTask
from agentcli.context.snapshot.form import Snapshot, parse
from agentcli.context.snapshot.verify import verified

_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s+")


def given(text: str, task: SummaryTask, brief: Brief) -> SummaryResult:
    """Return a text as the summary in the form of the policy. Raise Unusable if nothing of it stands.

    Sentences are judged like a model's. The user's rules and the ledger are added as usual.
    """
    if task.policy.form == "regions":
        raise Unusable(f"the policy {task.plan.policy} summarises regions, not the whole")
    evidence = task.evidence()
    if task.policy.form == "prose":
        return settled_prose(text, evidence, task, brief)
    whole = parse(text)
    whole = whole if whole != Snapshot() else Snapshot(knowledge=_items(text))
    checked, struck = verified(whole, evidence)
    if not any((checked.knowledge, checked.files, checked.actions, checked.plan, checked.goal)):
        raise Unusable("no sentence of the given summary stands")
    return settled_snapshot(checked, tuple(struck), task, brief)


def _items(text: str) -> tuple[str, ...]:
    """Return the lines of a text in Markdown as items; the line of a heading begins each of its section."""
    found, heading = [], ""
    for line in text.split("\n"):
        words = _BULLET.sub("", " ".join(line.split()), count=1)
        if words.startswith("#"):
            heading = words.strip("# ").rstrip(":")
        elif words:
            found.append(f"{heading}: {words}" if heading else words)
    return tuple(found)
