"""Handoff of a session to a new one: its snapshot, the user's words that matter next, rules, pins, ledger. Pure, without I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from agentcli.context.compaction.record import SummaryTask, prepare
from agentcli.context.ledger.decisions import fitting_decisions
from agentcli.context.ledger.ledger import Ledger, newest, to_json
from agentcli.context.policies.plans import Plan, compactable, seqs
from agentcli.context.settings import ContextSettings
from agentcli.context.snapshot.form import Snapshot, parse, render, renumbered
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.history import History
from agentcli.core.record import Carry, Compaction, Record, VerbatimText
from agentcli.core.text.secrets import redact

POLICY = "auto"
"""The policy whose form a handoff has, whatever the policy of the session."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """Beginning of a new session: its first record, and the last record of the previous session that it knows."""

    beginning: Compaction
    until: int

    @property
    def text(self) -> str:
        """Snapshot, for a person to read and edit."""
        return self.beginning.snapshot

    def edited(self, text: str) -> Handoff:
        """Return this handoff with another snapshot; an empty text changes nothing."""
        return replace(self, beginning=replace(self.beginning, snapshot=text)) if text.strip() else self


def handoff_window(window: Window) -> Window:
    """Return the window with the limits of a handoff."""
    return replace(window, settings=handoff_settings(window.settings, window.usable))


def handoff_settings(settings: ContextSettings, usable: int) -> ContextSettings:
    """Return the settings for a handoff: the settings of a snapshot with smaller sizes."""
    rules = settings.handoff
    form = replace(
        settings.snapshot,
        share=min(settings.snapshot.share, rules.tokens / max(1, usable)),
        files_read=rules.files_read,
        commands=rules.commands,
        decision_characters=rules.decision_characters,
        lookups=0,
    )
    return replace(settings, snapshot=form)


def everything(history: History, window: Window, cwd: str, earlier: Sequence[Record] = ()) -> SummaryTask:
    """Return the task to summarise all of a session."""
    gone = compactable(window.view)
    plan = Plan(POLICY, "manual", summarised=seqs(gone), tokens_before=window.tokens)
    task = prepare(plan, history, window, cwd, earlier)
    reports = newest(task.ledger.reports, window.settings.handoff.reports)
    return replace(task, ledger=replace(task.ledger, reports=reports))


def first_record(task: SummaryTask, text: str, following: str, number: Callable[[int], int]) -> Compaction:
    """Return the first record of the new session.

    `text` is the snapshot, `following` the user's words about the next task. `number` maps a record's number in this
    session to its number in the new one.
    """
    history, ledger = task.history, _renumbered_ledger(task.ledger, number)
    words = relevant_words(task.user_texts, following, task.window.counter, task.window.settings.handoff.words)
    asked = (VerbatimText(0, history.turn, following),) if following.strip() else ()
    whole = parse(text)
    first, last = task.covers
    own = fitting_decisions(ledger.decisions, task.form.decision_characters)
    covers = (number(first), number(last))
    snapshot = _renumbered(
        replace(whole, goal=whole.goal or redact(task.goal), rules=ledger.rules, decisions=own, covers=covers), number
    )
    return Compaction(
        trigger="manual",
        status="compressed",
        policy=POLICY,
        kept_from=2,
        snapshot=render(snapshot),
        ledger=to_json(ledger),
        pins=tuple(replace(pin, seq=number(pin.seq)) for pin in task.pins),
        user_words=(*(replace(word, seq=number(word.seq)) for word in words), *asked),
        carry=Carry(
            usage=history.usage,
            cost=history.cost,
            turn=history.turn,
            model=history.model,
            mode=history.mode,
            policy=history.policy,
            todo=task.ledger.todo,
            calibration=history.carry.calibration,
        ),
        note="handoff",
    )


def relevant_words(
    texts: Sequence[VerbatimText], following: str, counter: TokenCounter, tokens: int
) -> tuple[VerbatimText, ...]:
    """Return the user's prompts in at most `tokens` tokens, oldest first, preferring new prompts and those about the
    next task.
    """
    wanted = _topics(following)

    def weight(place: int) -> tuple[int, int]:
        return len(wanted & _topics(texts[place].text)), place

    chosen = []
    for place in sorted(range(len(texts)), key=weight, reverse=True):
        tokens -= counter.text(texts[place].text)
        if tokens >= 0:
            chosen.append(place)
    return tuple(texts[place] for place in sorted(chosen))


def _topics(text: str) -> set[str]:
    return set(re.findall(r"\w[\w./-]{2,}\w", text.casefold()))


def _renumbered(snapshot: Snapshot, number: Callable[[int], int]) -> Snapshot:
    def each(items: Iterable[str]) -> tuple[str, ...]:
        return tuple(renumbered(item, number) for item in items)

    return replace(
        snapshot,
        knowledge=each(snapshot.knowledge),
        files=each(snapshot.files),
        actions=each(snapshot.actions),
        plan=each(snapshot.plan),
    )


def _renumbered_ledger(ledger: Ledger, number: Callable[[int], int]) -> Ledger:
    """Return the ledger for the new session: all its records come before the first record of that session."""
    return replace(
        ledger,
        files=tuple(replace(fact, last=number(fact.last)) for fact in ledger.files),
        commands=tuple(replace(fact, last=number(fact.last)) for fact in ledger.commands),
        tests=replace(ledger.tests, last=number(ledger.tests.last)) if ledger.tests else None,
        rules=tuple(replace(rule, seq=number(rule.seq)) for rule in ledger.rules),
        reports=tuple(replace(report, seq=number(report.seq)) for report in ledger.reports),
        decisions=tuple(replace(said, seq=number(said.seq)) for said in ledger.decisions),
        through=0,
    )
