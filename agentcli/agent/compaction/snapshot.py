"""Summaries as state snapshots, and the task that all forms share.

A snapshot is requested, checked, matched with the ledger, and cut to size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from agentcli.agent.compaction.summariser import Summariser, Unusable
from agentcli.context.assemble import assemble
from agentcli.context.compaction.carryover import carried_tokens
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.inject import wrap
from agentcli.context.snapshot.form import Snapshot, fitting_rules, flaws, parse, render, trimmed, uncited
from agentcli.context.snapshot.items import Delta, Sources, apply, numbered, parse_items
from agentcli.context.snapshot.reconcile import merged
from agentcli.context.snapshot.transcript import TAG, dialogue, material, recite
from agentcli.context.snapshot.verify import Struck, speaks_another_language, verified
from agentcli.context.view import ViewMessage
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ModelError
from agentcli.core.message import Text
from agentcli.core.model import ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.core.record import VerbatimText
from agentcli.core.text.secrets import redact
from agentcli.resources import prompt

ORDER = "First, reason in your scratchpad. Then, generate the <state_snapshot>."
"""The last words that the summariser reads."""
ITEMS = "compact-items.md"
"""The summariser's instructions for a reply in items."""
KEPT = "kept"
"""Tag of the steps that stay."""
_KEPT_STEP = 300
"""Characters of each text of such a step that the summariser reads."""
_FLOOR = 2_500
"""Tokens that any snapshot may have while the view with it is below half of the usable window."""
ORDER_ITEMS = "First, reason in your scratchpad. Then, generate the <state_snapshot> as <snapshot_items>."


@dataclass(frozen=True, slots=True)
class Brief:
    """Context of a summary."""

    window: Window
    main: ModelSpec
    focus: str = ""
    """The user's focus."""
    system: tuple[str, ...] = ()
    """System prompt of the session's own requests."""
    tools: tuple[ToolSchema, ...] = ()
    """Tools of the session's own requests."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the session's own requests."""

    @property
    def form(self) -> SnapshotSettings:
        """The limits of a snapshot."""
        return self.window.settings.snapshot

    @property
    def longest(self) -> int:
        """The longest snapshot, in characters."""
        return self.characters(int(self.window.usable * self.form.share))

    def longest_beside(self, task: SummaryTask) -> int:
        """Return the longest snapshot, in characters.

        It is at least `_FLOOR` tokens if the view with it stays below half of the window.
        """
        kept = sum(map(self.window.counter.message, task.stays)) + carried_tokens(task.user_words, self.window.counter)
        room = self.window.usable // 2 - self.window.counter.head - kept
        return max(self.longest, self.characters(max(0, min(_FLOOR, room))))

    def characters(self, tokens: int) -> int:
        """About how long a text of so many tokens is."""
        sample = "a fact in plain words, some_name and src/path.py; " * 20
        return tokens * len(sample) // max(1, self.window.counter.text(sample))

    def rules(self, rules: Sequence[VerbatimText]) -> tuple[VerbatimText, ...]:
        """Return the user's rules, all of them unless they would fill the window."""
        return fitting_rules(rules, self.characters(int(self.window.usable * self.form.rules_share)))

    def known(self, summariser: Summariser) -> int:
        """Characters of the previous snapshot that the summariser sees; the rest is kept unseen."""
        return min(self.longest, self.characters(summariser.room // 4))


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """A summary, with the sentences struck from it."""

    summary: Summary
    struck: tuple[Struck, ...] = ()
    left_out: tuple[str, ...] = ()
    """Items for which the snapshot has no room."""


def chunks(task: SummaryTask, brief: Brief, summariser: Summariser) -> tuple[str, ...]:
    """Split the part to be replaced into one piece for each call.

    One call is kept for a second attempt if the rest needs only one.
    """
    counter = brief.window.counter
    frame = (
        counter.text(prompt(task.policy.prompt))
        + counter.text(brief.focus)
        + len(ORDER)
        + _kept_tokens(brief, summariser)
    )
    room = max(200, summariser.room - frame - brief.known(summariser) // 2)
    return material(task.gone, counter, room, max(1, summariser.calls), brief.form)


def _kept_tokens(brief: Brief, summariser: Summariser) -> int:
    return min(brief.form.kept_tokens, summariser.room // 8)


@dataclass(frozen=True, slots=True)
class _Reply:
    """A summariser's reply: items, or a whole snapshot from a summariser that writes no items."""

    delta: Delta | None
    whole: Snapshot

    @property
    def text(self) -> str:
        """All prose of it."""
        whole = self.whole
        return self.delta.text if self.delta else "\n".join((whole.goal, *whole.knowledge, *whole.actions, *whole.plan))

    @property
    def empty(self) -> bool:
        """True if it is in neither form."""
        return self.delta is None and self.whole == Snapshot()


def _read(reply: str) -> _Reply:
    delta = parse_items(reply)
    return _Reply(delta, Snapshot() if delta else parse(reply))


async def snapshot(task: SummaryTask, brief: Brief, summariser: Summariser) -> SummaryResult:
    """Summarise the part to be replaced piece by piece; each piece updates the snapshot so far.

    Raises ModelError and Unusable if not even the first piece could be summarised, and Interrupted.
    """
    so_far, evidence, note = task.former_snapshot, task.evidence(), ""
    sources = Sources((*task.gone, *task.stays), evidence)
    struck: list[Struck] = []
    crowded: list[str] = []
    pieces, mark = chunks(task, brief, summariser), _marks(task)
    for number, piece in enumerate(pieces, 1):
        ask = _Asking(task, brief, summariser, so_far, piece, whole=len(pieces) == 1)
        try:
            reply = await _usable(ask, again=summariser.calls > len(pieces) - number + 1)
        except (ModelError, Unusable) as error:
            if number == 1:
                raise
            note = f"part {number} of {len(pieces)} could not be summarised ({error})"
            break
        delta = reply.delta
        checked, gone = apply(delta, so_far, sources) if delta else verified(reply.whole, evidence, in_place=mark)
        struck += gone
        so_far = _joined(checked, so_far, crowded, task, brief)
    if so_far is None:
        raise Unusable("there was nothing to summarise")
    return _result(so_far, struck, crowded, note, task, brief)


def settled_snapshot(checked: Snapshot, struck: Sequence[Struck], task: SummaryTask, brief: Brief) -> SummaryResult:
    """Return a verified snapshot of all messages as the summary, joined with the former one and the ledger."""
    crowded: list[str] = []
    return _result(_joined(checked, task.former_snapshot, crowded, task, brief), struck, crowded, "", task, brief)


def _marks(task: SummaryTask) -> bool:
    """Return True if a policy of another program shows the summary as it is, with marks."""
    return not task.policy.items


def _joined(
    checked: Snapshot, so_far: Snapshot | None, crowded: list[str], task: SummaryTask, brief: Brief
) -> Snapshot:
    """Return the snapshot so far with a verified one; knowledge without room is added to `crowded`."""
    short = _moderate(checked, int(brief.longest_beside(task) * brief.form.knowledge_share))
    crowded += checked.knowledge[len(short.knowledge) :]
    return merged(short, so_far, task.ledger, task.form, mark=_marks(task))


def _result(
    so_far: Snapshot, struck: Sequence[Struck], crowded: Sequence[str], note: str, task: SummaryTask, brief: Brief
) -> SummaryResult:
    combined = replace(so_far, goal=so_far.goal or redact(task.goal), covers=task.covers)
    whole = task.priced(combined)
    text = finished(whole, brief, task)
    written = (*whole.knowledge, *whole.plan, *whole.actions, *whole.unverified)
    left = (*crowded, *(item for item in written if uncited(item) not in text))
    return SummaryResult(
        Summary(text, note=note, obsolete=combined.obsolete), tuple(struck), tuple(map(redact, map(uncited, left)))
    )


def _moderate(snapshot: Snapshot, characters: int) -> Snapshot:
    """Limit the snapshot's knowledge to a number of characters, so that a rambling reply does not displace earlier knowledge."""
    items = []
    for item in snapshot.knowledge:
        characters -= len(item)
        if characters < 0:
            break
        items.append(item)
    return replace(snapshot, knowledge=tuple(items))


def finished(snapshot: Snapshot, brief: Brief, task: SummaryTask) -> str:
    """Return the snapshot as text, without secrets and at a length that fits. The user's rules stay byte for byte."""
    clean = replace(
        snapshot,
        goal=redact(snapshot.goal),
        rules=brief.rules(snapshot.rules),
        knowledge=_clean(snapshot.knowledge, brief),
        files=_clean(snapshot.files, brief),
        actions=_clean(snapshot.actions, brief),
        plan=_clean(snapshot.plan, brief),
        unverified=_clean(snapshot.unverified, brief),
        names=_clean(snapshot.names, brief),
    )
    return render(trimmed(clean, brief.longest_beside(task)), shells=not task.policy.priced)


def _clean(section: Sequence[str], brief: Brief) -> tuple[str, ...]:
    longest = brief.form.item_characters
    items = dict.fromkeys(map(redact, section))
    return tuple(item if len(item) <= longest else item[: longest - 1] + "…" for item in items)


async def _usable(ask: _Asking, again: bool) -> _Reply:
    """Request a reply in the conversation's language and in the right form.

    Retry at most once, as a whole snapshot. Then repair the form.
    """
    text = await ask.for_reply(items=ask.task.policy.items)
    reply = _read(text)
    wrong = _foreign(reply, ask.task)
    if again and (wrong or (reply.delta is None and flaws(text))):
        reply = _read(await ask.for_reply(items=False))
        wrong = _foreign(reply, ask.task)
    if wrong and ask.task.policy.items:
        raise Unusable(f"the summary was written in another language ({wrong}) than the conversation")
    if reply.empty:
        raise Unusable("the reply was not a summary")
    return reply


def _foreign(reply: _Reply, task: SummaryTask) -> str:
    return speaks_another_language(reply.text, dialogue(task.gone))


@dataclass(frozen=True, slots=True)
class _Asking:
    """One piece of the conversation to summarise, with the snapshot that it updates."""

    task: SummaryTask
    brief: Brief
    summariser: Summariser
    former: Snapshot | None
    chunk: str
    whole: bool

    async def for_reply(self, *, items: bool) -> str:
        """Ask the summariser for items or for a whole snapshot."""
        return await self.summariser.ask(self._request(items))

    def _request(self, items: bool) -> Request:
        system = prompt(ITEMS if items else self.task.policy.prompt)
        closing = _closing(self.brief.focus, ORDER_ITEMS if items else ORDER)
        known = self._known(items)
        # The session's own request already has the previous snapshot, but without the ids of its items.
        stays = self._stays() if items else ""
        behind = "\n\n".join(filter(None, (known if items else "", stays, closing)))
        if self.whole and (shared := _shared_prefix(self.task, self.brief, self.summariser, f"{system}\n\n{behind}")):
            return shared
        text = "\n\n".join(filter(None, (known, wrap(TAG, self.chunk), stays, closing)))
        return self.summariser.request((system,), text)

    def _stays(self) -> str:
        """Return the steps after the split, shortened: their content is neither repeated nor open."""
        steps = self.task.stays
        left, shown = self.brief.characters(_kept_tokens(self.brief, self.summariser)), list[str]()
        for message in reversed(steps):
            text = recite(message, _KEPT_STEP, _KEPT_STEP)
            left -= len(text)
            if left < 0:
                break
            shown.append(text)
        return wrap(KEPT, "\n\n".join(reversed(shown))) if shown else ""

    def _known(self, items: bool) -> str:
        if self.former is None:
            return ""
        former = trimmed(self.former, self.brief.known(self.summariser))
        return wrap("former_snapshot", numbered(former) if items else render(former))


def _closing(focus: str, order: str) -> str:
    wish = f"The user asks to keep in particular: {focus.strip()}\n\n" if focus.strip() else ""
    return wish + order


def _shared_prefix(task: SummaryTask, brief: Brief, summariser: Summariser, behind: str) -> Request | None:
    """Return the session's own request up to the split, followed by the instructions `behind`.

    So the cached part is not charged again. Return None if the summariser is another model or has no room for it.
    """
    if summariser.spec.name != brief.main.name or not brief.system or not before_split(task):
        return None
    if size_before_split(task) > summariser.room:
        return None
    return replace(up_to_split(task, brief, behind), max_output=summariser.max_reply)


def before_split(task: SummaryTask) -> tuple[ViewMessage, ...]:
    """Return the beginning of the view up to the split; empty if the plan keeps some of its messages."""
    messages, split = task.view.messages, task.plan.split
    end = next((n for n, message in enumerate(messages) if message.seq == split), len(messages)) if split else None
    return () if task.plan.primers else messages[:end]


def size_before_split(task: SummaryTask) -> int:
    """Return the tokens of a request up to the split."""
    return task.window.counter.head + sum(map(task.window.size, before_split(task)))


def up_to_split(task: SummaryTask, brief: Brief, order: str) -> Request:
    """Return the session's own request up to the split, with an instruction at its end."""
    request = assemble(
        replace(task.view, messages=before_split(task)),
        brief.system,
        brief.tools,
        brief.main,
        options=brief.options,
        counter=brief.window.counter,
        milestone=brief.window.settings.cache.milestone,
    )
    said, turns = Text(order, synthetic=True, source="compactor"), request.messages
    if turns and turns[-1].role == "user":
        turns = (*turns[:-1], replace(turns[-1], parts=(*turns[-1].parts, said)))
    else:
        turns = (*turns, RequestMessage("user", (said,)))
    return replace(request, messages=turns)
