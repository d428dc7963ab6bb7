"""The folder that a run's sandboxed commands see as /tmp.

Only its user can look into it, and it is removed with the run.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from threading import Thread

from agentcli.system import probe
from agentcli.system.locked_file import FileLock

_NAME = re.compile(r"agentcli-tmp-(\d+)-[0-9a-f]+")


class PrivateTmp:
    """Such a folder. It is created at once, because file tools may be the first to write there, and protected by a
    lock.
    """

    def __init__(self, top: Path | None = None) -> None:
        """`top` is its parent folder; None for the machine's folder for temporary files."""
        top = top or Path(tempfile.gettempdir()).resolve()
        self.path = top / f"agentcli-tmp-{os.getpid()}-{os.urandom(4).hex()}"
        self.path.mkdir(mode=0o700)
        held = FileLock(self.path, shared=True, folder=True)
        self._remove = weakref.finalize(self, _removed, self.path, held, os.getpid())
        self.sweeping = Thread(target=sweep, args=(top,), daemon=True)
        """Removes the folders of ended processes beside it."""
        self.sweeping.start()

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        self._remove()


def sweep(top: Path) -> None:
    """Remove the folders of processes that have ended without removing them."""
    for folder in top.glob("agentcli-tmp-*"):
        named = _NAME.fullmatch(folder.name)
        if named is not None and not probe.exists(f"/proc/{named[1]}") and _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    """Return True if a folder is the user's own and no process holds it.

    Its process may be in another namespace.
    """
    try:
        with FileLock(folder, folder=True, patience=0) as lock:
            return os.fstat(lock.file).st_uid == os.geteuid()
    except OSError:
        return False


def _removed(folder: Path, held: FileLock, owner: int) -> None:
    held.release()
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
