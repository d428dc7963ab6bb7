"""Imported sessions in a store of a test."""

from __future__ import annotations

from pathlib import Path

from agentcli.sessions.copying import draft, settle_drafts
from agentcli.sessions.imported import Imported
from agentcli.sessions.info import SessionInfo
from agentcli.system.disk import DISK, Disk


def store_imported(root: Path, imported: Imported, here: Path, *, disk: Disk = DISK) -> SessionInfo:
    """Store an imported session in the folder that it was started in, or in `here` if that does not exist."""
    home = Path(imported.cwd) if imported.cwd and Path(imported.cwd).is_dir() else here
    [info] = settle_drafts([draft(root, imported, home, disk=disk)], disk=disk)
    return info
