"""Retention: moves old sessions to the trash by age, count and size if the user sets limits.

Open and pinned sessions stay.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import StoreError
from agentcli.sessions.checkpoints.objects import POOL, sweep_pool
from agentcli.sessions.copying import remove_abandoned
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.settings import Retention
from agentcli.sessions.store import Store

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Swept:
    """Result of retention: sessions moved to the trash, ids deleted from it, and removed folders of unfinished forks
    and imports.
    """

    trashed: tuple[SessionInfo, ...] = ()
    removed: tuple[str, ...] = ()
    leftovers: tuple[Path, ...] = ()


def sweep(
    store: Store,
    retention: Retention,
    now: datetime | None = None,
    through: Callable[[Sequence[SessionInfo]], Iterable[SessionInfo]] = iter,
) -> Swept:
    """Move sessions that are too old, too many or too large to the trash, oldest first.

    Then delete old sessions from the trash. The sessions to move pass `through`, a callback that may show progress.
    """
    trashed = []
    for info in through(superfluous(store, retention, now)):
        with contextlib.suppress(StoreError):  # opened meanwhile, or the disk refuses: it stays
            store.delete(info)
            trashed.append(info)
    removed = store.trash.empty(retention.trash_days * _DAY) if retention.trash_days else ()
    leftovers = tuple(path for each in store.root.glob("*") for path in _remove_leftovers(each, retention))
    for pool in store.root.glob(f"*/{POOL}") if removed else ():
        sweep_pool(pool)
    return Swept(tuple(trashed), tuple(removed), leftovers)


def _remove_leftovers(project: Path, retention: Retention) -> Sequence[Path]:
    return remove_abandoned(project, retention.leftover_days * _DAY) if retention.leftover_days else ()


def superfluous(store: Store, retention: Retention, now: datetime | None = None) -> Sequence[SessionInfo]:
    """Return the sessions that `sweep` would move to the trash, oldest first."""
    if not (retention.days or retention.count or retention.total_bytes):
        return ()
    now = now or datetime.now(UTC)
    infos = store.list()
    sizes = {info.id: size_on_disk(store.folder(info)) for info in infos} if retention.total_bytes else {}
    left, used = len(infos), sum(sizes.values())
    chosen = []
    for info in reversed(infos):
        too_many = retention.count and left > retention.count
        too_large = retention.total_bytes and used > retention.total_bytes
        if not (too_many or too_large or _too_old(info, retention, now)):
            continue
        if store.is_pinned(info) or store.is_open(info):
            continue
        chosen.append(info)
        left -= 1
        used -= sizes.get(info.id, 0)
    return chosen


def size_on_disk(folder: Path) -> int:
    """Return the size of a session in bytes; of a file that several sessions share, only this session's part."""
    total = 0.0
    for here, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(here, name))
                total += status.st_blocks * 512 / max(status.st_nlink, 1)
    return round(total)


def _too_old(info: SessionInfo, retention: Retention, now: datetime) -> bool:
    if not retention.days:
        return False
    try:
        written = datetime.fromisoformat(info.time.updated)
    except ValueError:
        return False
    return (now - written.astimezone(UTC)).total_seconds() > retention.days * _DAY
