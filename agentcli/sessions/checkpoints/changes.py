"""File changes of a session: recorded as they are made, reverted with `/undo` and `/rewind`, repeated with `/redo`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.journal import Journal
from agentcli.core.message import Message
from agentcli.core.record import Body, Checkpoint
from agentcli.sessions.checkpoints.checkpoints import Checkpoints, Pending, Restored
from agentcli.sessions.checkpoints.file_states import State
from agentcli.sessions.checkpoints.undo import Batch, Taking, batch_id, batches, to_redo, to_rewind, to_undo

UNCOVERED_TOLD = 3
"""Maximum files that a message lists if a change cannot be undone."""


class Changes:
    """File changes by the agent and its commands in one session, with undo and redo.

    `append` writes a checkpoint record, by default straight into the session; an agent that announces its records
    passes its own.
    """

    def __init__(
        self, session: Journal, checkpoints: Checkpoints, append: Callable[[Body], object] | None = None
    ) -> None:
        self._session, self._checkpoints = session, checkpoints
        self._append = append or session.append

    @contextmanager
    def edits(self, paths: Iterable[Path], calls: Sequence[str] = ()) -> Iterator[None]:
        """Record the changes of a batch of edits to these files, even if it fails."""
        with self._around(self._checkpoints.before_edits(paths, calls)):
            yield

    @contextmanager
    def saving(self, path: Path) -> Iterator[None]:
        """Record that an editor saves a file before the agent's edits; this is undone separately."""
        with self._around(self._checkpoints.before_edits([path]), of_reply=False):
            yield

    @contextmanager
    def command(self, calls: Sequence[str] = ()) -> Iterator[None]:
        """Record the changes of a command that may write anywhere in the workspace."""
        with self._around(self._checkpoints.before_command(calls)):
            yield

    def before_rerun(self) -> None:
        """Take the state of folders that have joined the workspace, before the open change's command runs again."""
        self._checkpoints.before_rerun()

    def recover(self) -> None:
        """Record the changes of a batch whose process died during it.

        Call this right after opening a session for writing.
        """
        # Read lazily: a long session has thousands; most openings need none of them, the others the newest.
        newest_first = self._session.records_of("checkpoint", newest_first=True)
        checkpoint = self._checkpoints.recover(map(batch_id, newest_first))
        if checkpoint:
            self._append(checkpoint)

    def undo(self, is_ignored: Callable[[Path], bool] = lambda _: False) -> Restored:
        """Restore files to their state before the newest batch, not counting commands that changed only ignored files.

        Raises InputError if there is nothing to undo.
        """
        messages = ((entry.seq, entry.body) for entry in self._session.history.entries)
        prompts = [seq for seq, body in messages if isinstance(body, Message) and body.is_prompt]
        return self._take_back(to_undo(self.batches(), is_ignored, prompts), "Nothing left to undo.")

    def redo(self) -> Restored:
        """Undo the newest undo or rewind. Raises InputError if there is none, or if files were changed since."""
        return self._take_back(to_redo(self.batches()), "Nothing to redo.")

    def redoes(self) -> int:
        """Return the number of the record that `redo` would undo; 0 for none."""
        batches = self.batches()
        taking = to_redo(batches)
        return max((batch.seq for batch in batches if batch.id in taking.batches), default=0)

    def rewind(self, seq: int) -> Restored:
        """Restore files to their state at record `seq`. Raises InputError if no file was changed since."""
        return self._take_back(to_rewind(self.batches(), seq), "No file was changed since then.")

    def changed_since(self, seq: int) -> bool:
        """Return True if a file has changed since record `seq`, even if it cannot be restored."""
        taking = to_rewind(self.batches(), seq)
        return bool(taking.targets or taking.uncovered)

    def files_since(self, seq: int) -> frozenset[Path]:
        """Return the restorable files that have changed since record `seq`."""
        return frozenset(target.path for target in to_rewind(self.batches(), seq).targets)

    def content(self, state: State | None) -> bytes | None:
        """Return the content of a file in this state. None if there was no file, or if its content is lost."""
        return self._checkpoints.content(state)

    def batches(self) -> list[Batch]:
        """Return all changes, undoes and redoes, oldest first, except those from an imported file."""
        foreign = self._session.history.foreign
        return batches(record for record in self._session.records_of("checkpoint") if record.seq > foreign)

    @contextmanager
    def _around(self, pending: Pending, of_reply: bool = True) -> Iterator[None]:
        try:
            yield
        finally:
            checkpoint = self._checkpoints.after(pending)
            if checkpoint:
                self._append(Checkpoint({**checkpoint.data, "reply": self._reply() if of_reply else 0}))

    def _reply(self) -> int:
        """Return the number of the newest message, which asked for the running tool."""
        entries = reversed(self._session.history.entries)
        return next((entry.seq for entry in entries if isinstance(entry.body, Message)), 0)

    def _take_back(self, taking: Taking, nothing: str) -> Restored:
        if not taking.targets:
            raise InputError(nothing + (f" Not restored: {listed(taking.uncovered)}." if taking.uncovered else ""))
        restored = self._checkpoints.restore(taking.targets, taking.batches)
        if restored.changed:
            self._append(restored.record)
        return replace(restored, uncovered=taking.uncovered)


def listed(uncovered: Mapping[str, str]) -> str:
    """List files that cannot be restored on one line: the first few with the reason, and the number of others."""
    named = [f"{path} ({why})" for path, why in list(uncovered.items())[:UNCOVERED_TOLD]]
    more = len(uncovered) - len(named)
    return "; ".join([*named, *([f"and {more:,} more"] if more else [])])
