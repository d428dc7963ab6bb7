"""Choose the changes that `/undo`, `/redo` and `/rewind` revert, from records alone: file changes, and rewinds of the
conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.history import History
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.record import (
    EXTENSION,
    Body,
    Checkpoint,
    Compaction,
    FeatureState,
    Prune,
    Record,
    Settings,
    Title,
    Undo,
)
from agentcli.sessions.checkpoints.checkpoints import Target
from agentcli.sessions.checkpoints.file_states import states_from_json

if TYPE_CHECKING:
    from agentcli.sessions.checkpoints.file_states import State


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one batch of edits, one command, or one restore.

    `undoes` are the ids that a restore reverted. `uncovered` maps files that may have changed but cannot be restored,
    such as folders of installed packages, to the reason. `reply` is the number of the message that requested the batch,
    0 if unknown.
    """

    id: str
    seq: int
    cause: str
    calls: tuple[str, ...]
    before: Mapping[Path, State | None]
    after: Mapping[Path, State | None]
    undoes: tuple[str, ...] = ()
    uncovered: Mapping[str, str] = field(default_factory=dict)
    reply: int = 0


@dataclass(frozen=True, slots=True)
class Taking:
    """Batches to take back together, and the targets for `Checkpoints.restore`."""

    batches: tuple[str, ...]
    targets: tuple[Target, ...]
    uncovered: Mapping[str, str] = field(default_factory=dict)


def batches(records: Iterable[Record]) -> list[Batch]:
    """Return all batches in a session's records, oldest first."""
    return [_batch(record, record.body.data) for record in records if isinstance(record.body, Checkpoint)]


def batch_id(record: Record) -> str:
    """Return the id of the batch in a checkpoint record."""
    data = record.body.data if isinstance(record.body, Checkpoint) else {}
    return str(data.get("id") or record.seq)


def to_undo(
    all_batches: Sequence[Batch], is_ignored: Callable[[Path], bool] = lambda _: False, prompts: Sequence[int] = ()
) -> Taking:
    """Return the newest batch in force that changed files, with other edits that the same reply requested.

    A command that changed only ignored files, such as caches, is undone together with the change before it. That change
    must belong to the same prompt. `prompts` are the numbers of prompts.
    """
    unfiltered = _in_force(all_batches)
    in_force = [batch for batch in unfiltered if batch.before]
    chosen = in_force[-1:]
    begin = max((seq for seq in prompts if chosen and seq < chosen[0].seq), default=None)
    for index in range(len(in_force) - 1, -1, -1):
        if begin is None or in_force[index].seq < begin:
            break
        if not _only(is_ignored, in_force[index]):
            chosen = in_force[index:]
            break
    while chosen and len(chosen) < len(in_force) and _together(in_force[-len(chosen) - 1], chosen[0]):
        chosen = in_force[-len(chosen) - 1 :]
    since = unfiltered[unfiltered.index(chosen[0]) :] if chosen else unfiltered
    return _taking(chosen, since)


def to_rewind(all_batches: Sequence[Batch], seq: int) -> Taking:
    """Return every change after record `seq` that is still in force."""
    since = [batch for batch in _in_force(all_batches) if batch.seq > seq]
    return _taking(since, since)


def to_redo(all_batches: Sequence[Batch]) -> Taking:
    """Return the newest undo, if nothing was changed since."""
    changing = [batch for batch in all_batches if batch.before]
    undone = {gone for batch in changing for gone in batch.undoes}
    while changing and (changing[-1].id in undone or _redoes(changing[-1], changing)):
        changing.pop()
    newest = changing[-1] if changing else None
    return _taking([newest] if newest and newest.cause == "restore" else [])


def results_in_force(results: Iterable[Record], all_batches: Sequence[Batch]) -> Iterator[Record]:
    """Yield the results of calls whose file changes are in force: never undone, or redone. Call ids may repeat."""
    in_force = {batch.id for batch in _in_force(all_batches)}
    by_call: dict[str, list[Batch]] = {}
    for batch in all_batches:
        for call in batch.calls:
            by_call.setdefault(call, []).append(batch)
    for record in results:
        made = by_call.get(record.body.call_id, ()) if isinstance(record.body, ToolResult) else ()
        own = [batch.id for batch in made if batch.seq < record.seq]
        if not own or own[-1] in in_force:
            yield record


def lasting(before: History, after: History) -> Iterator[Body]:
    """Yield records that restore the model, mode, policy, names and states of features after an undo.

    A rewind does not revert these: they belong to the session or the program, not to the conversation. States of
    extensions do.
    """
    if before.title != after.title or before.name != after.name:
        yield Title(before.title, before.name)
    # After a change from a loose to a strict mode, a rewind must not restore the loose one.
    settings = (before.model, before.mode, before.policy, before.system, before.tools)
    if settings != (after.model, after.mode, after.policy, after.system, after.tools):
        yield Settings(*settings)
    for name, kept in before.features.items():
        if after.features.get(name) != kept and not name.startswith(EXTENSION):
            yield FeatureState(name, kept.data)


def paid(undo: Undo, before: History, after: History) -> Undo:
    """Return the undo with the usage and cost of everything it reverts, so that it refills no budget."""
    fresh, output, reasoning, read, written = (
        max(0, was - now) for was, now in zip(before.usage.counts, after.usage.counts, strict=True)
    )
    known = before.cost is not None and before.cost != after.cost
    cost = max(0.0, (before.cost or 0.0) - (after.cost or 0.0)) if known else None
    return replace(undo, usage=Usage(fresh, output, reasoning, read, written), cost=cost)


def rewind_to_redo(newest_first: Iterable[Record]) -> int:
    """Return the number of the rewind that `/redo` reverts: the newest in force; 0 if a message came after it."""
    taken_back: set[int] = set()
    for record in newest_first:
        match record.body:
            case Undo(seq, "undo"):
                taken_back.add(seq)
            case Undo(_, "rewind") if record.seq not in taken_back:
                return record.seq
            case Message() | ToolResult() | Compaction() | Prune():
                return 0
            case _:
                pass
    return 0


def _only(is_ignored: Callable[[Path], bool], batch: Batch) -> bool:
    """Return True for a command that changed only ignored files, and folders that contain them."""
    folders = {folder for path in batch.before for folder in path.parents}
    return batch.cause == "command" and all(path in folders or is_ignored(path) for path in batch.before)


def _together(batch: Batch, following: Batch) -> bool:
    return batch.cause == following.cause == "edits" and batch.reply == following.reply != 0


def _in_force(all_batches: Sequence[Batch]) -> list[Batch]:
    """Return the agent's own changes that were not undone, or were redone."""
    gone: set[str] = set()
    for batch in all_batches:
        if batch.cause != "restore":
            continue
        for undone in batch.undoes:
            restored = next((other for other in all_batches if other.id == undone and other.cause == "restore"), None)
            if restored:
                gone -= set(restored.undoes)
            gone.add(undone)
    return [batch for batch in all_batches if batch.cause != "restore" and batch.id not in gone]


def _redoes(batch: Batch, among: Sequence[Batch]) -> bool:
    """Return True if a restore reverted another restore: it cannot be redone."""
    restorings = {other.id for other in among if other.cause == "restore"}
    return batch.cause == "restore" and bool(restorings & set(batch.undoes))


def _taking(chosen: Sequence[Batch], since: Sequence[Batch] = ()) -> Taking:
    """Return the state of each file before the first of the batches.

    A file is restored only if it is as the last batch left it. `since` are the batches whose uncovered files are
    reported: batches between them changed no other files.
    """
    targets: dict[Path, Target] = {}
    for batch in chosen:
        for path, before in batch.before.items():
            first = targets.get(path)
            after = batch.after.get(path)
            is_new = before is None and after is not None
            targets[path] = Target(
                path,
                wanted=before if first is None else first.wanted,
                left=after,
                created=is_new if first is None else first.created or (is_new and first.wanted is None),
            )
    uncovered = {path: why for batch in since for path, why in batch.uncovered.items()}
    return Taking(tuple(batch.id for batch in chosen), tuple(targets.values()), uncovered)


NOT_LOOKED_INTO = "was not looked into: a command installs it again"
"""Reason for a folder of installed packages."""


def _batch(record: Record, data: Mapping[str, Any]) -> Batch:
    return Batch(
        batch_id(record),
        record.seq,
        str(data.get("cause") or ""),
        tuple(map(str, data.get("calls") or ())),
        states_from_json(data.get("before")),
        states_from_json(data.get("after")),
        tuple(map(str, data.get("undoes") or ())),
        {
            **dict(data.get("uncovered") or {}),
            **dict.fromkeys(map(str, data.get("skipped") or ()), NOT_LOOKED_INTO),
        },
        int(data.get("reply") or 0),
    )
