"""Summaries in free form: of the conversation, for policies whose own prompt requests one, and of single regions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentcli.agent.compaction.snapshot import Brief, SummaryResult, chunks
from agentcli.agent.compaction.summariser import Summariser, Unusable
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.inject import wrap
from agentcli.context.ledger.ledger import Ledger
from agentcli.context.policies.regions import heading
from agentcli.context.snapshot.form import TRUNCATED, rule_lines, unverified_lines
from agentcli.context.snapshot.reconcile import contradicted
from agentcli.context.snapshot.transcript import TAG, recite
from agentcli.context.snapshot.verify import CONTRADICTED, Evidence, Struck, verified_text
from agentcli.context.view import ViewMessage, replaced_key
from agentcli.core.text.secrets import redact
from agentcli.core.text.truncate import truncate_middle
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
    return _checked_prose(former, unverified, struck, task, brief)


def settled_prose(text: str, evidence: Evidence, task: SummaryTask, brief: Brief) -> SummaryResult:
    """Return a whole text as the summary, verified. Raise Unusable if nothing of it stands."""
    kept, unverified, gone = verified_text(text, evidence)
    return _checked_prose(kept, unverified, [each for each in gone if each.sentence not in kept], task, brief)


def _checked_prose(
    text: str, unverified: Sequence[str], struck: Sequence[Struck], task: SummaryTask, brief: Brief
) -> SummaryResult:
    text = with_contradictions(text, task.ledger)
    if not text:
        raise Unusable("the summary only gives leave that no record shows")
    return SummaryResult(Summary(_prose_text(text, unverified, task, brief)), tuple(struck))


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


async def regions(task: SummaryTask, brief: Brief, summariser: Summariser) -> SummaryResult:
    """Write one summary for each region, with as many regions in a call as fit.

    Once the calls are used up, cut the other regions to their ends.
    """
    evidence = task.evidence()
    struck: list[Struck] = []
    wanted = {n: _segment(task, keys) for n, keys in enumerate(task.plan.regions, 1)}
    room = summariser.room - brief.window.counter.text(prompt(task.policy.prompt))
    answers: dict[int, str] = {}
    for batch in _batches(wanted, brief, room)[: summariser.calls]:
        reply = await summariser.ask(summariser.request((prompt(task.policy.prompt),), "\n\n".join(batch)))
        answers |= _answers(reply)
    return SummaryResult(Summary(replaced=replaced(task, answers, evidence, brief, struck)), tuple(struck))


def _segment(task: SummaryTask, keys: Sequence[str]) -> list[ViewMessage]:
    """Return a region's outputs and reminders as messages, so that they are rendered like any others."""
    chosen = set(keys)
    return [
        replace(message, blocks=tuple(block for block in message.blocks if replaced_key(block) in chosen))
        for message in task.gone
        if any(replaced_key(block) in chosen for block in message.blocks)
    ]


def _batches(wanted: Mapping[int, Sequence[ViewMessage]], brief: Brief, room: int) -> list[list[str]]:
    batches: list[list[str]] = [[]]
    left = room
    for number, messages in wanted.items():
        tokens = sum(map(brief.window.size, messages))
        recited = "\n".join(recite(message, 1_000_000, 1_000_000) for message in messages)
        text = truncate_middle(recited, int(len(recited) * min(1.0, room / max(1, 2 * tokens))))
        target = brief.window.settings.regions.summary_of(tokens)
        segment = wrap("conversation_segment", text, n=number, target_tokens=target)
        size = brief.window.counter.text(segment)
        if size > left and batches[-1]:
            batches.append([])
            left = room
        batches[-1].append(segment)
        left -= size
    return batches


def _answers(reply: str) -> dict[int, str]:
    found = re.finditer(r'<summary n="?(\d+)"?>(.*?)(?:</summary>|(?=<summary )|\Z)', reply, re.DOTALL)
    answers = {int(match[1]): match[2].strip() for match in found}
    return answers or {1: reply.strip()}


def replaced(
    task: SummaryTask, answers: Mapping[int, str], evidence: Evidence, brief: Brief, struck: list[Struck]
) -> dict[str, str]:
    """Return the replacement text for each call of each region, and for each record's reminders.

    The first text of a region contains the summary. The others refer to it.
    """
    texts = {}
    for number, keys in enumerate(task.plan.regions, 1):
        messages = _segment(task, keys)
        text, unverified, gone = verified_text(answers.get(number, ""), evidence)
        struck += (each for each in gone if each.sentence not in text)
        text = with_contradictions(text, task.ledger)
        if unverified:
            text = "\n".join(filter(None, (text, *unverified_lines(unverified))))
        turns = [message.turn for message in messages]
        longest = 4 * (
            brief.window.settings.regions.summary_of(sum(map(brief.window.size, messages)))
            + brief.window.settings.regions.slack
        )
        first, *others = keys
        texts[first] = f"{heading(min(turns), max(turns))}\n{truncate_middle(redact(text), longest) or TRUNCATED}"
        source = first if first.startswith("#") else f"the output of {first}"
        texts |= dict.fromkeys(others, f"[summarised together with {source}]")
    return texts
