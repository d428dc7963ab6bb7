"""Summaries in free form, for the policies whose own prompt asks for one."""

from __future__ import annotations

from agentcli.agent.compaction.brief import Brief, SummaryResult, chunks
from agentcli.agent.compaction.summariser import Summariser, Unusable
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.inject import wrap
from agentcli.context.snapshot.form import rule_lines
from agentcli.context.snapshot.transcript import TAG, dialogue
from agentcli.context.snapshot.verify import Struck, speaks_another_language, verified_text
from agentcli.core.secrets import redact
from agentcli.resources import prompt


async def prose(task: SummaryTask, brief: Brief, summariser: Summariser) -> SummaryResult:
    evidence = task.evidence()
    struck: list[Struck] = []
    former = task.former.snapshot if task.former else ""
    for chunk in chunks(task, brief, summariser):
        known = wrap("former_summary", former[: brief.known(summariser)]) if former else ""
        wish = f"The user asks to keep in particular: {brief.focus.strip()}" if brief.focus.strip() else ""
        text = "\n\n".join(filter(None, (known, wrap(TAG, chunk), wish, "Summarize our conversation above.")))
        target = str(brief.window.settings.sliding.summary_tokens)
        reply = await summariser.ask(
            summariser.request((prompt(task.policy.prompt).replace("{target_tokens}", target),), text)
        )
        if wrong := speaks_another_language(reply, dialogue(task.gone)):
            raise Unusable(f"the summary was written in another language ({wrong}) than the conversation")
        former, gone = verified_text(reply, evidence)
        struck += gone
    if not former:
        raise Unusable("nothing of the summary could be borne out")
    return SummaryResult(Summary(_prose_text(former, task, brief)), tuple(struck))


def _prose_text(text: str, task: SummaryTask, brief: Brief) -> str:
    text = redact(text)[: brief.longest]
    head = "Previous context summary:\n" if task.plan.policy == "sliding" else ""
    rules = "\n".join(f"- {line}" for line in rule_lines(brief.rules(task.ledger.rules)))
    return head + text + (f"\n\n<active_constraints>\n{rules}\n</active_constraints>" if rules else "")
