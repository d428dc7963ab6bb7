"""The work of a background session: its changes are shown, and merged or discarded once it has ended."""

from __future__ import annotations

from agentcli.core.errors import InputError
from agentcli.frontends.serve.listing import Listing
from agentcli.frontends.serve.machine import Running
from agentcli.program.named_worktree import NamedWorktree
from agentcli.system import probe
from agentcli.system.git import GitError, run_git


class Work:
    """Shows, merges and discards what the listed sessions have changed."""

    def __init__(self, listing: Listing) -> None:
        self._machine, self._kept, self._env = listing.machine, listing.kept, listing.env

    def diff(self, row: Running) -> str:
        """Return the changes in a session's worktree, otherwise the uncommitted ones of its folder. Raises InputError."""
        try:
            if (tree := self._tree(row)) is not None:
                return tree.diff()
            if not probe.is_dir(row.folder):
                return ""
            return run_git(row.folder, "diff", "HEAD", env=self._env).out
        except GitError as error:
            raise InputError(f"No diff: {error.line}.") from error

    def merge(self, row: Running) -> str:
        """Merge a session's worktree, after which the session is no longer listed; return a line about it.

        Raises InputError if nothing was merged.
        """
        tree = self._tree(row, gone=True)
        if tree is None:
            raise InputError("It has no worktree of its own, so there is nothing to merge.")
        self._require_ended(row)
        target = tree.merge()
        self._kept.remove(row.session)
        return f"Merged {tree.name} into {target}."

    def discard(self, row: Running) -> str:
        """Remove a session's worktree with its changes, and the session from the list; it stays stored.

        Return a line about it. Raises InputError if the session is open.
        """
        self._require_ended(row)
        tree = self._tree(row, gone=True)
        branch = tree.discard() if tree is not None else ""
        self._kept.remove(row.session)
        stays = f"branch {branch} and the conversation stay" if branch else "The conversation stays"
        return f"Removed. {stays[0].upper()}{stays[1:]}: agentcli resume {row.session}"

    def _tree(self, row: Running, *, gone: bool = False) -> NamedWorktree | None:
        found = self._kept.get(row.session)
        return None if found is None else found.named_worktree(self._env, gone=gone)

    def _require_ended(self, row: Running) -> None:
        """Raise InputError if a program has the session open: it may still change files."""
        try:
            is_open = self._machine.store.is_open(self._machine.store.find(row.session))
        except InputError:
            is_open = False  # it ended before its first record
        if is_open or self._machine.shared(row.session) is not None:
            raise InputError("The session is open. End it first.")
