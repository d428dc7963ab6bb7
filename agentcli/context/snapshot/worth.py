"""A snapshot with only those items that are worth their tokens, and an index of the names in what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agentcli.context.ledger.ledger import Ledger
from agentcli.context.loss.settings import LossSettings
from agentcli.context.loss.worth import faded, is_worth
from agentcli.context.snapshot.form import LEFT_OUT, Snapshot, last_cited, render, uncited
from agentcli.context.snapshot.reconcile import is_ledger_line, is_lookup, is_report, is_test_line


def worthwhile(snapshot: Snapshot, ledger: Ledger, loss: LossSettings) -> Snapshot:
    """The snapshot with the lines of the ledger that are worth it, and with names.

    What the summary itself says stays, as do files, rules, plan and the newest tests; `recall` reaches the rest.
    """
    if not loss.enabled:
        return snapshot
    now = max(snapshot.covers[1], ledger.through)
    kept = tuple(item for item in snapshot.actions if _stays(item, now, loss))
    gone = len(snapshot.actions) - len(kept)
    shorter = replace(snapshot, actions=(LEFT_OUT.format(gone), *kept) if gone else kept)
    return replace(shorter, names=tuple(_names(ledger, render(shorter), now, loss))[::-1])


def _stays(item: str, now: int, loss: LossSettings) -> bool:
    seq = last_cited(item)
    if not seq or is_test_line(item) or not is_ledger_line(item):
        return True
    chance = loss.report_chance if is_report(item) else loss.lookup_chance if is_lookup(item) else loss.command_chance
    return is_worth(len(uncited(item)), faded(chance, now - seq, loss), loss)


def _names(ledger: Ledger, shown: str, now: int, loss: LossSettings) -> Iterator[str]:
    """Names that the snapshot does not show, the newest first, while they are worth it and fit."""
    room = loss.names_tokens / loss.token_rate if loss.token_rate else 0.0
    for name in reversed(ledger.names):
        length = len(name.text) + 2
        room -= length
        if room < 0:
            return
        if name.text in shown:
            room += length
        elif is_worth(length, faded(loss.name_chance, now - name.last, loss), loss):
            yield name.text
