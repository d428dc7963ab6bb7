"""Summaries in free form, for the policies whose own prompt asks for one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.agent.compaction.snapshot import Brief, SummaryResult, chunks
from agentcli.agent.compaction.summariser import Summariser, Unusable
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.inject import wrap
from agentcli.context.snapshot.form import rule_lines, unverified_lines
from agentcli.context.snapshot.transcript import TAG, dialogue
from agentcli.context.snapshot.verify import Struck, speaks_another_language, verified_text
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
        if wrong := speaks_another_language(reply, dialogue(task.gone)):
            raise Unusable(f"the summary was written in another language ({wrong}) than the conversation")
        former, unverified, gone = verified_text(reply, evidence)
        struck += gone
    if not former:
        raise Unusable("nothing of the summary could be borne out")
    return SummaryResult(Summary(_prose_text(former, unverified, task, brief)), tuple(struck))


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
