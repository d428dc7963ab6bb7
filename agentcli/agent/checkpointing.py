"""File checkpoints: states of files are saved before a tool changes them, and restored by undo and rewind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import takewhile
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentcli.core.errors import InputError
from agentcli.core.event import Event, Noticed, Recorded, Warned
from agentcli.core.journal import Journal
from agentcli.core.message import CHANGED, MORE_CHANGED, Message, ToolCall
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Body, Checkpoint, Record, Undo
from agentcli.core.sanitise import safe_line
from agentcli.core.tool import Tool
from agentcli.system.branch import branch_after_moves
from agentcli.system.resolve import spelled

if TYPE_CHECKING:
    from agentcli.sessions.checkpoints.changes import Changes
    from agentcli.sessions.checkpoints.checkpoints import Restored

Result = TypeVar("Result")
MakeChanges = Callable[[Callable[[Body], object]], OnDemand["Changes"]]
"""Creates the changes of one session, given a function that takes their checkpoint records.

They exist from the start if the session's last process died during a change.
"""


_MOST_TOLD = 20
"""Files that the model is told of after an undo, and that a command's result lists."""
_MOST_LOOKED_AT = 500
"""Files changed by a command for which git's rules are read."""
_LARGEST = 200_000
"""Bytes of a file, before and after, whose changed lines are counted."""
_BACKGROUND = "File changes by background commands are not covered: /undo and /rewind will not restore them."


class Checkpointer:
    """File checkpoints around a session's tools.

    The event loop appends the records, never the thread that reads files.
    """

    def __init__(
        self,
        make_changes: MakeChanges,
        record: Callable[[Body], Recorded],
        warn: Callable[[Warned], object] = lambda _: None,
        cwd: Path = Path(),
        changed: Callable[[Iterable[Path]], object] | None = None,
    ) -> None:
        """`warn` is called once for each file whose change cannot be undone; paths in `cwd` are shown relative to it.

        `changed` gets the files of each change, including changes by an undo.
        """
        self._changed = changed
        self._waiting: list[Body] = []
        self._record, self._warn = record, warn
        self._warned: set[str] = set()
        self._told = set[tuple[str, str]]()
        """Folders that an undo said it did not look into."""
        self._warned_before = False
        """True once `_warned` contains what earlier processes of the session warned of."""
        self.cwd, self._inside = cwd, f"{os.path.realpath(cwd)}/"
        self._newest: Checkpoint | None = None
        self._alone = asyncio.Lock()  # subagents work side by side, and share this
        self._changes = make_changes(self._waiting.append)
        if interrupted := self._changes.now:
            interrupted.recover()
            self._append()

    async def run(
        self, work: Callable[[], Awaitable[Result]], tool: Tool, paths: Sequence[Path], given: ToolCall
    ) -> Result:
        """Run a tool's call that changes the files at `paths`, if any; its changes can be undone afterwards."""
        change = self._around(tool, paths, given)
        if change is None:
            return await work()
        try:
            return await self._noted(change, work)
        finally:
            if given.input.get("run_in_background"):
                self._warn_of_background()

    async def before_rerun(self) -> None:
        """Take the state of folders that have joined the workspace, before the command that is open runs again."""
        await asyncio.to_thread(self._changes().before_rerun)

    async def changed_by(self, call_id: str) -> Mapping[str, Any]:
        """Return the files that the newest command has changed, as metadata of its result; empty for none.

        Folders and what git ignores are left out. It is empty, too, if another call has changed files since.
        """
        made = self._newest
        if made is None or made.data.get("cause") != "command" or call_id not in made.data.get("calls", ()):
            return {}
        return await asyncio.to_thread(self._compared, made)

    def _compared(self, made: Checkpoint) -> Mapping[str, Any]:
        from agentcli.sessions.checkpoints.file_states import states_from_json

        before, after = (states_from_json(made.data.get(moment)) for moment in ("before", "after"))
        folders = {path for states in (before, after) for path, state in states.items() if state and state.is_folder}
        files = sorted(before.keys() - folders)
        told = [path for path in files[:_MOST_LOOKED_AT] if not _is_ignored(path)]
        more = max(0, len(told) - _MOST_TOLD) + len(files[_MOST_LOOKED_AT:])
        content = self._changes().content
        changes = [
            {"path": self._near(str(path)), **_change(path.name, content(before[path]), content(after.get(path)))}
            for path in told[:_MOST_TOLD]
        ]
        return {CHANGED: changes, **({MORE_CHANGED: more} if more else {})} if changes else {}

    async def save(self, path: Path, save: Callable[[], Awaitable[bool]]) -> bool:
        """Have an editor save a file; the overwritten content can be restored."""
        return await self._noted(self._changes().saving(path), save)

    async def _noted(self, change: AbstractContextManager[None], work: Callable[[], Awaitable[Result]]) -> Result:
        async with self._alone:
            await asyncio.to_thread(change.__enter__)
            try:
                return await work()
            finally:
                await asyncio.to_thread(change.__exit__, None, None, None)
                self._warn_of(self._append())

    def undo(self) -> Sequence[Event]:
        """Undo the newest edits of one reply, or the newest command. Raises InputError if there are none.

        A command that changed only what git ignores, such as caches, is undone with earlier edits for the same prompt.
        """
        return self._tell(self._changes().undo(_is_ignored), "Restored")

    @property
    def redoes(self) -> int:
        """The number of the record that `redo` would undo; 0 for none."""
        return self._changes().redoes()

    def redo(self) -> Sequence[Event]:
        """Undo the newest undo or rewind. Raises InputError if there is none."""
        return self._tell(self._changes().redo(), "Reapplied", "")

    def rewind(self, seq: int) -> Sequence[Event]:
        """Restore the files as they were at record `seq`. Raises InputError if nothing was changed since."""
        return self._tell(self._changes().rewind(seq), "Restored")

    def changed_since(self, seq: int) -> bool:
        """Return True if a file has changed since record `seq`, even if it cannot be restored."""
        return self._changes().changed_since(seq)

    def files_since(self, seq: int) -> frozenset[Path]:
        """Return the files that have changed since record `seq`, as far as they can be restored."""
        return self._changes().files_since(seq)

    def restored(self, records: Iterable[Record], until: int) -> str:
        """Return, for the model, which files these restores have changed; empty for none.

        Files that git ignores are named only if there are no others. A restore of changes that a message after number
        `until` asked for is left out: it was rewound.
        """
        batches = {batch.id: batch for batch in self._changes().batches()}
        paths: dict[Path, None] = {}
        for record in records:
            found = [batch for batch in batches.values() if batch.seq == record.seq]
            undone = [batches[each] for batch in found for each in batch.undoes if each in batches]
            if any(batch.reply <= until for batch in undone):
                paths |= dict.fromkeys(path for batch in found for path in batch.before)
        if not paths:
            return ""
        told = [path for path in paths if not _is_ignored(path)] or [*paths]
        shown = self._listed(told[:_MOST_TOLD]) + (f" and {len(told) - _MOST_TOLD} more" * (len(told) > _MOST_TOLD))
        return (
            f"The user took changes back, or brought them back, with /undo or /redo: {shown}. What is on disk counts."
        )

    def _around(self, tool: Tool, paths: Sequence[Path], call: ToolCall) -> AbstractContextManager[None] | None:
        match tool.traits.effect:
            case "write":
                files = [*paths] or [Path(spelled(self.cwd, tool.traits.subject.text(call.input)))]
                made = [folder for file in files for folder in _missing_folders(file)]
                return self._changes().edits(dict.fromkeys([*files, *made]), [call.call_id])
            case "run":
                return self._changes().command([call.call_id])
            case _:
                return None

    def _warn_of(self, records: Sequence[Recorded]) -> None:
        """Warn of changes that cannot be undone, once in a session for each file, and for each ignored folder."""
        from agentcli.sessions.checkpoints.changes import listed

        for record in records:
            body = record.record.body
            unseen = dict(body.data.get("uncovered") or {}) if isinstance(body, Checkpoint) else {}
            if unseen and not self._warned_before:
                self._warned_before = True
                earlier = [batch for batch in self._changes().batches() if batch.seq < record.record.seq]
                self._unwarned({path: why for batch in earlier for path, why in batch.uncovered.items()})
            if new := self._unwarned(unseen):
                self._warn(Warned(f"/undo and /rewind cannot restore changes here: {listed(self._here(new))}."))

    def _unwarned(self, unseen: Mapping[str, str]) -> Mapping[str, str]:
        """Return what no warning named yet, and note it. A file in an ignored folder is named by that folder."""
        from agentcli.tools.lib.gitignore import is_ignored

        new: dict[str, str] = {}
        for path, why in unseen.items():
            folders = [str(folder) for folder in Path(path).parents if f"{folder}/".startswith(self._inside)]
            if self._warned.isdisjoint([path, *folders[:-1]]):
                inside = [] if is_ignored(self.cwd) else folders[-2::-1]
                ignored = next((folder for folder in inside if is_ignored(Path(folder))), "")
                new[ignored or path] = f"is ignored by git, and {path[len(ignored) + 1 :]} {why}" if ignored else why
                self._warned.add(ignored or path)
        return new

    def _warn_of_background(self) -> None:
        if _BACKGROUND not in self._warned:
            self._warned.add(_BACKGROUND)
            self._warn(Warned(_BACKGROUND))

    def _tell(
        self, restored: Restored, done: str, created: str = ", which this session had created"
    ) -> Sequence[Event]:
        from agentcli.sessions.checkpoints.changes import listed
        from agentcli.sessions.checkpoints.undo import NOT_LOOKED_INTO

        events: list[Event] = [*self._append()]
        changed = [path for path in restored.changed if not any(path in other.parents for other in restored.changed)]
        changed.sort(key=_is_ignored)
        gone = [path for path in changed if not os.path.lexists(path)]
        there = [path for path in changed if path not in gone]
        if there or not gone:
            events.append(Noticed(f"{done} {self._listed(there) or 'nothing'}."))
        if gone:
            events.append(Noticed(f"Deleted {self._listed(gone)}{created}."))
        events += [Noticed(f"Left {self._near(str(path))} alone: {why}.") for path, why in restored.skipped.items()]
        missing = {path: why for path, why in restored.uncovered.items() if (path, why) not in self._told}
        self._told |= {(path, why) for path, why in missing.items() if why == NOT_LOOKED_INTO}
        if missing:
            events.append(Noticed(f"Not restored: {listed(self._here(missing))}."))
        return events

    def _listed(self, paths: Sequence[Path]) -> str:
        return ", ".join(self._near(str(path)) for path in paths)

    def _here(self, paths: Mapping[str, str]) -> Mapping[str, str]:
        return {self._near(path): why for path, why in paths.items()}

    def _near(self, path: str) -> str:
        """Return a path relative to the workspace."""
        return path.removeprefix(self._inside) if path != self._inside.rstrip("/") else "the workspace"

    def _append(self) -> list[Recorded]:
        bodies, self._waiting[:] = list(self._waiting), []
        for body in bodies:
            if isinstance(body, Checkpoint):
                self._newest = body
                if self._changed is not None:
                    self._changed(map(Path, body.data.get("before") or ()))
        return [self._record(body) for body in bodies]


class UndoStack:
    """Undo and redo of one session: of its file changes, and of rewinds of its conversation."""

    def __init__(self, journal: Journal, record: Callable[[Body], Recorded], checkpointer: Checkpointer | None) -> None:
        self._journal = journal
        self._record = record
        self._checkpointer = checkpointer

    def news(self) -> str:
        """Return, for the model, what undo, redo and rewind did since the newest message; empty for nothing."""
        if self._checkpointer is None:
            return ""
        messages = (entry.seq for entry in reversed(self._journal.history.entries) if isinstance(entry.body, Message))
        newest = next(messages, 0)
        later = takewhile(lambda record: record.seq > newest, self._journal.records_of("checkpoint", newest_first=True))
        restores = [
            one for one in later if isinstance(one.body, Checkpoint) and one.body.data.get("cause") == "restore"
        ]
        restored = self._checkpointer.restored(restores, newest) if restores else ""
        return "\n".join(filter(None, [restored, self._moves_of_git(newest)]))

    def _moves_of_git(self, newest: int) -> str:
        """Return, for the model, that commits stayed when the conversation was rewound after record `newest`."""
        undos = takewhile(lambda record: record.seq > newest, self._journal.records_of("undo", newest_first=True))
        rewound = [one.body.seq for one in undos if isinstance(one.body, Undo) and one.body.target == "rewind"]
        now = self._commits_stayed(rewound[0] + 1) if rewound else ""
        return f"The user rewound the conversation to here. {now}" if now else ""

    def _commits_stayed(self, seq: int) -> str:
        """Return that commits and branches made since the prompt `seq` stay; empty if HEAD has not moved."""
        record = self._journal.record(seq)
        since = datetime.fromisoformat(record.time).timestamp() if record is not None else inf
        now = branch_after_moves(self._checkpointer.cwd, since) if self._checkpointer is not None else ""
        return f"Commits and branches made since then stay: git is on {safe_line(now)}." if now else ""

    def undo(self) -> Sequence[Event]:
        """Restore the files as they were before the newest change. Raises InputError if there is none."""
        return self._need_checkpointer().undo()

    def redo(self) -> Sequence[Event]:
        """Undo the newest undo of files or rewind. Raises InputError if there is none."""
        from agentcli.sessions.checkpoints.undo import rewind_to_redo

        rewind = rewind_to_redo(self._journal.records(newest_first=True))
        files = self._checkpointer.redoes if self._checkpointer else 0
        if rewind > files:
            more = " /redo once more brings the files back, too." if files else ""
            notice = Noticed(f"The conversation is as it was before the rewind.{more}")
            return [self._record(Undo(rewind, "undo")), notice]
        return self._need_checkpointer().redo()

    def rewind(self, seq: int) -> Sequence[Event]:
        """Rewind to just before the prompt with this seq. Only the conversation; files stay as they are."""
        record = self._journal.record(seq)
        if record is None or not isinstance(record.body, Message) or not record.body.is_prompt:
            raise InputError(f"No prompt {seq} to rewind to.")
        return [self._record(Undo(seq - 1, "rewind"))]

    def changed_since(self, seq: int) -> bool:
        """Return True if a file has changed since the prompt with this seq."""
        return self._checkpointer is not None and self._checkpointer.changed_since(seq)

    def rewind_files(self, seq: int) -> Sequence[Event]:
        """Restore files as they were before the prompt with this seq. Raises InputError if none was changed since."""
        events, stayed = self._need_checkpointer().rewind(seq), self._commits_stayed(seq)
        return [*events, Noticed(stayed)] if stayed else events

    def _need_checkpointer(self) -> Checkpointer:
        if self._checkpointer is None:
            raise InputError("This session has no file checkpoints.")
        return self._checkpointer


def _change(name: str, before: bytes | None, after: bytes | None) -> Mapping[str, Any]:
    """Return how a file was changed, with the number of lines if it is text. None is the content of a missing file."""
    from agentcli.tools.lib.diff import unified

    how = {"created": True} if before is None else {"deleted": True} if after is None else {}
    old, new = before or b"", after or b""
    if b"\0" in old + new or len(old) + len(new) > _LARGEST:
        return how
    diff = unified(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"), name)
    return {**how, "additions": diff.additions, "deletions": diff.deletions}


def _is_ignored(path: Path) -> bool:
    from agentcli.tools.lib.gitignore import is_ignored

    return is_ignored(path)


def _missing_folders(file: Path) -> Sequence[Path]:
    """Return the missing folders above a file that a tool would create with it."""
    return list(takewhile(lambda folder: not os.path.lexists(folder), file.parents))
