"""Settings of stored sessions: what checkpoints cover, and how long sessions are kept."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass
from agentcli.core.setting import Bytes, Days, Seconds, Sessions, setting

INSTALLED = frozenset({"node_modules", ".venv", "venv", ".tox"})
SKIPPED = INSTALLED | {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".ruff_cache", ".cache"}
"""Folders that are not entered: a command rebuilds their contents. For the `INSTALLED` ones this is reported."""


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """`[checkpoints]`: limits of the files that `/undo` and `/rewind` can restore."""

    file_bytes: Bytes = setting(5_000_000, project="never")
    """Maximum of one file."""
    total_bytes: Bytes = setting(500_000_000, project="never")
    """Maximum of all file contents that a session keeps."""
    files: int = 20_000
    """Maximum files of a workspace."""
    ignored_bytes: int = 1_000_000
    """Maximum bytes of a file that git ignores."""
    ignored_files: int = 2_000
    """Maximum entries of all folders together that git ignores."""
    seconds: Seconds = setting(1.0, project="never")
    """Maximum for one scan of the workspace; 0: no checkpoints."""
    export_bytes: int = 50_000_000
    """Maximum of file contents, newest first, in an export with `--keep-secrets`."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits on sessions; 0 means no limit, and by default there is none."""

    days: Days = setting(0.0, project="never")
    """Age, since the last message, at which a session goes to the trash; 0: never."""
    count: Sessions = setting(0, project="never")
    """Maximum that stay; 0: no limit."""
    total_bytes: Bytes = setting(0, project="never")
    """Maximum of all sessions on disk; 0: no limit."""
    trash_days: Days = setting(0.0, project="never")
    """Time after which the trash deletes a session; 0: never."""
    leftover_days: float = 1.0
    """Days after which the remains of a killed fork or import are deleted; they never were a session."""

    @property
    def wanted(self) -> bool:
        """True if any limit is set."""
        return bool(self.days or self.count or self.total_bytes or self.trash_days or self.leftover_days)
