"""Summaries in free form, for policies whose own prompt requests one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.agent.compaction.snapshot import Brief, SummaryResult, chunks
from agentcli.agent.compaction.summariser import Summariser, Unusable
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.inject import wrap
from agentcli.context.ledger.ledger import Ledger
from agentcli.context.snapshot.form import rule_lines, unverified_lines
from agentcli.context.snapshot.reconcile import contradicted
from agentcli.context.snapshot.transcript import TAG
from agentcli.context.snapshot.verify import CONTRADICTED, Struck, verified_text
from agentcli.core.text.secrets import redact
from agentcli.resources import prompt


async def prose(task: SummaryTask, brief: Brief, summariser: Summariser) -> SummaryResult:
    evidence, rules = task.evidence(), brief.window.settings.sliding
    struck: list[Struck] = []
    former, unverified = task.former.snapshot if task.former else "", tuple[str, ...]()
    for chunk in chunks(task, brief, summariser):
        known = wrap("former_summary", former[: brief.known(summariser)]) if former else ""
        wish = f"The user asks to keep in particular: {brief.focus.strip()}" if brief.focus.strip() else ""
        text = "\n\n".join(filter(None, (known, wrap(TAG, chunk), wish, "Summarize our conversation above.")))
        system = prompt(task.policy.prompt).replace("{target_tokens}", str(rules.summary_tokens))
        options = {"temperature": rules.temperature} if _slides(task) else {}
        reply = await summariser.ask(summariser.request((system,), text, **options))
        former, unverified, gone = verified_text(reply, evidence)
        struck += (each for each in gone if each.sentence not in former)
    former = with_contradictions(former, task.ledger)
    if not former:
        raise Unusable("the summary only gives leave that no record shows")
    return SummaryResult(Summary(_prose_text(former, unverified, task, brief)), tuple(struck))


def with_contradictions(text: str, ledger: Ledger) -> str:
    """Return a summary with a mark after each line that the ledger contradicts."""
    lines = text.split("\n")
    return "\n".join(f"{line} {CONTRADICTED}" if contradicted(line, ledger) else line for line in lines)


def _prose_text(text: str, unverified: Sequence[str], task: SummaryTask, brief: Brief) -> str:
    target = brief.characters(brief.window.settings.sliding.summary_tokens) if _slides(task) else brief.longest
    text = _cut(redact(text), min(target, brief.longest))
    head = "Previous context summary:\n" if _slides(task) else ""
    if unverified:
        text += "\n\n" + "\n".join(unverified_lines(map(redact, unverified)))
    rules = "\n".join(f"- {line}" for line in rule_lines(brief.rules(task.ledger.rules)))
    return head + text + (f"\n\n<active_constraints>\n{rules}\n</active_constraints>" if rules else "")


def _slides(task: SummaryTask) -> bool:
    return task.plan.policy == "sliding"


def _cut(text: str, longest: int) -> str:
    """Cut the text after the last line or sentence that ends within `longest` characters."""
    if len(text) <= longest:
        return text
    ends = [end.end() for end in _END.finditer(text, 0, longest)]
    return text[: ends[-1] if ends else longest].rstrip()


_END = re.compile(r"\n|[.!?](?=\s)|[。！？]")
