"""Check for `doctor`: the programs whose configuration can be imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from agentcli.core.errors import ConfigError
from agentcli.extras.importers.config import PROGRAMS
from agentcli.extras.importers.config.import_run import import_plan
from agentcli.program.program import Program


def rows(program: Program) -> Iterator[tuple[str, bool, str]]:
    """Yield a row for each program whose configuration can be imported, in whole or in part."""
    for name in PROGRAMS:
        with suppress(ConfigError):  # our own files have separate rows
            if new := len(import_plan(program, [name]).new):
                detail = f"can be taken over ({new}): `agentcli import-config {name}` lists it and asks"
                yield f"configuration of {name}", True, detail
