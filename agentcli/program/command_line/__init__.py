"""Helpers for commands of the program and its features: the program itself, flags, output, tables, progress, questions.

Imports only typer at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentcli.program.options import Options
    from agentcli.program.program import Program

OPENER: ContextVar[Callable[[Options], Program]] = ContextVar("OPENER")
"""Makes the program of a run, with all features."""


def program_of(options: Options) -> Program:
    """Return the program of a command.

    Raise UsageError if its folder does not exist, ConfigError if the configuration is invalid.
    """
    return OPENER.get()(options)
