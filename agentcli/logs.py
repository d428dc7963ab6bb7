"""What goes wrong inside goes to a file, masked: nothing but the front end may write to the terminal."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping

from agentcli.agent.masking import Masking, known_secrets
from agentcli.paths import Places, folder

LOG_BYTES = 1_000_000
"""A longer log is put aside when a run begins; one former log is kept."""


def log_to(places: Places, env: Mapping[str, str]) -> None:
    """Send warnings and errors to `agentcli.log` in the state folder. A folder that cannot be written means no log."""
    with contextlib.suppress(OSError):
        path = folder(places.state) / "agentcli.log"
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        handler = logging.FileHandler(path, encoding="utf-8", delay=True)
        handler.addFilter(Masking(known_secrets(env)))
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logging.getLogger().addHandler(handler)
        logging.captureWarnings(True)
