"""Retention: once a day, in the background of a session, move expired sessions to the trash and delete unfinished files."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Timer

from agentcli.core.errors import AgentError
from agentcli.program.program import Program
from agentcli.sessions.retention import sweep
from agentcli.sessions.settings import Retention
from agentcli.system.paths import folder

SWEPT = "swept"
"""File in the state folder whose time is that of the last sweep."""
DAY = 86_400.0
SWEEP_AFTER = 5.0
"""Seconds after the start: the person comes first."""

_log = logging.getLogger(__name__)


def sweep_later(program: Program, after: float = SWEEP_AFTER) -> None:
    """Sweep in a separate thread, `after` a delay in seconds, if anything can expire and a sweep is due."""
    if program.config[Retention].wanted and due(program.dirs.state / SWEPT):
        sweeping = Timer(after, sweep_now, [program])
        sweeping.daemon = True
        sweeping.start()


def sweep_now(program: Program) -> None:
    """Sweep, and record the time. Nothing waits for it, so failures go to the log."""
    stamp = program.dirs.state / SWEPT
    try:
        folder(stamp.parent)
        stamp.touch(mode=0o600)
        swept = sweep(program.store, program.config[Retention])
    except (AgentError, OSError) as error:
        _log.warning("sessions could not be swept: %s", error)
        return
    _log.info("retention moved %d sessions to the trash, removed %d", len(swept.trashed), len(swept.removed))


def due(stamp: Path, now: float | None = None) -> bool:
    """Return True if the last sweep is a day ago, or in the future because the clock was set back."""
    try:
        since = (time.time() if now is None else now) - stamp.stat().st_mtime
    except OSError:
        return True
    return not 0 <= since < DAY
