"""Ledgers of what calls of the built-in tools did."""

from __future__ import annotations

from collections.abc import Iterable

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.context.ledger.ledger import Ledger, fold_ledger
from agentcli.core.record import Record, TodoItem
from agentcli.tools.registry import TRAITS


def folded(
    start: Ledger,
    records: Iterable[Record],
    todo: tuple[TodoItem, ...] | None = None,
    keep: LedgerSettings = LedgerSettings(),  # noqa: B008 - immutable
) -> Ledger:
    """The ledger after more records."""
    return fold_ledger(start, records, TRAITS, todo, keep)
