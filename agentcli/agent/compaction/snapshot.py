"""Summaries in the form of a state snapshot: asked for, checked, brought in line with the ledger, and cut to size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentcli.agent.compaction.brief import ORDER, Brief, SummaryResult, chunks
from agentcli.agent.compaction.summariser import Summariser, Unusable
from agentcli.context.assemble import assemble
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.inject import wrap
from agentcli.context.snapshot.form import Snapshot, flaws, parse, render, trimmed
from agentcli.context.snapshot.reconcile import merged
from agentcli.context.snapshot.transcript import TAG, dialogue
from agentcli.context.snapshot.verify import Struck, speaks_another_language, verified
from agentcli.core.errors import ModelError
from agentcli.core.message import Text
from agentcli.core.model import Request, RequestMessage
from agentcli.core.secrets import redact
from agentcli.resources import prompt


async def snapshot(task: SummaryTask, brief: Brief, summariser: Summariser) -> SummaryResult:
    """The snapshot of the part that goes, made piece by piece, each piece updating what was made of the ones before.

    Raises ModelError and Unusable where not even the first piece could be summarised, and Interrupted.
    """
    so_far, evidence, note = task.former_snapshot, task.evidence(), ""
    struck: list[Struck] = []
    pieces = chunks(task, brief, summariser)
    for number, piece in enumerate(pieces, 1):
        request = _request(task, brief, summariser, so_far, piece, whole=len(pieces) == 1)
        try:
            reply = await _well_formed(summariser, request, task, again=summariser.calls > len(pieces) - number + 1)
        except (ModelError, Unusable) as error:
            if number == 1:
                raise
            note = f"part {number} of {len(pieces)} could not be summarised ({error})"
            break
        checked, gone = verified(parse(reply), evidence)
        struck += gone
        so_far = merged(
            _moderate(checked, int(brief.longest * brief.form.knowledge_share)), so_far, task.ledger, brief.form
        )
    if so_far is None:
        raise Unusable("there was nothing to summarise")
    goal = so_far.goal or redact(task.goal)
    return SummaryResult(Summary(finished(replace(so_far, goal=goal), brief), note=note), tuple(struck))


def _moderate(snapshot: Snapshot, characters: int) -> Snapshot:
    """The snapshot with no more knowledge than so many characters: a reply that rambles must not push out what was known."""
    items = []
    for item in snapshot.knowledge:
        characters -= len(item)
        if characters < 0:
            break
        items.append(item)
    return replace(snapshot, knowledge=tuple(items))


def finished(snapshot: Snapshot, brief: Brief) -> str:
    """The snapshot without secrets and at a length that fits, as text. The user's rules stay byte for byte."""
    clean = replace(
        snapshot,
        goal=redact(snapshot.goal),
        rules=brief.rules(snapshot.rules),
        knowledge=_clean(snapshot.knowledge, brief),
        files=_clean(snapshot.files, brief),
        actions=_clean(snapshot.actions, brief),
        plan=_clean(snapshot.plan, brief),
    )
    return render(trimmed(clean, brief.longest))


def _clean(section: Sequence[str], brief: Brief) -> tuple[str, ...]:
    longest = brief.form.item_characters
    items = dict.fromkeys(map(redact, section))
    return tuple(item if len(item) <= longest else item[: longest - 1] + "…" for item in items)


async def _well_formed(summariser: Summariser, request: Request, task: SummaryTask, again: bool) -> str:
    """A reply in the language of the conversation, and of the right form; one retry at most, then the form is repaired."""
    reply = await summariser.ask(request)
    wrong = _foreign(reply, task)
    if again and (wrong or flaws(reply)):
        reply = await summariser.ask(request)
        wrong = _foreign(reply, task)
    if wrong:
        raise Unusable(f"the summary was written in another language ({wrong}) than the conversation")
    if parse(reply) == Snapshot():
        raise Unusable("the reply was no snapshot")
    return reply


def _foreign(reply: str, task: SummaryTask) -> str:
    found = parse(reply)
    text = "\n".join((found.goal, *found.knowledge, *found.actions, *found.plan))
    return speaks_another_language(text, dialogue(task.gone))


def _request(
    task: SummaryTask, brief: Brief, summariser: Summariser, former: Snapshot | None, chunk: str, whole: bool
) -> Request:
    closing = _closing(brief.focus)
    if whole and (shared := _shared_prefix(task, brief, summariser, closing)):
        return shared
    known = wrap("former_snapshot", render(trimmed(former, brief.known(summariser)))) if former else ""
    text = "\n\n".join(filter(None, (known, wrap(TAG, chunk), closing)))
    return summariser.request((prompt(task.policy.prompt),), text)


def _closing(focus: str) -> str:
    wish = f"The user asks to keep in particular: {focus.strip()}\n\n" if focus.strip() else ""
    return wish + ORDER


def _shared_prefix(task: SummaryTask, brief: Brief, summariser: Summariser, closing: str) -> Request | None:
    """The session's own request up to the split, with the instructions behind it: what the cache holds is read, not paid
    again. None where the summariser is another model or would not have room for it."""
    messages = task.view.messages
    split = task.plan.split
    end = (
        next((n for n, message in enumerate(messages) if message.seq == split), len(messages))
        if split
        else len(messages)
    )
    if summariser.spec.name != brief.main.name or not brief.system or not messages[:end] or task.plan.primers:
        return None
    if brief.window.counter.head + sum(map(brief.window.size, messages[:end])) > summariser.room:
        return None
    request = assemble(
        replace(task.view, messages=messages[:end]),
        brief.system,
        brief.tools,
        brief.main,
        options=brief.options,
        counter=brief.window.counter,
        milestone=brief.window.settings.cache.milestone,
    )
    order = Text(f"{prompt(task.policy.prompt)}\n\n{closing}", synthetic=True, source="compactor")
    turns = request.messages
    if turns and turns[-1].role == "user":
        turns = (*turns[:-1], replace(turns[-1], parts=(*turns[-1].parts, order)))
    else:
        turns = (*turns, RequestMessage("user", (order,)))
    return replace(request, messages=turns, max_output=summariser.max_reply)
