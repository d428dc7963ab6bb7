"""What each command of a line does that needs a question, for the person who is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentcli.permissions.shell.consequences import named_consequence

if TYPE_CHECKING:
    from agentcli.permissions.shell.command_line import CommandLine


def explained(line: CommandLine) -> tuple[str, ...]:
    """Return the reasons of the commands that need a question, in their order: `rm deletes files`. What makes the line hard to read comes last."""
    return tuple(dict.fromkeys(filter(None, (*_of_commands(line), line.obstacle))))


def _of_commands(line: CommandLine) -> Iterator[str]:
    if line.commands:
        for command, reading in zip(line.commands, line.readings, strict=True):
            if reading.why:
                yield _both(named_consequence(command.words, line.places), reading.why)
    else:
        for part in line.parts:
            yield named_consequence([piece.text for piece in part.words], line.places)


def _both(named: str, why: str) -> str:
    """Return a consequence with the reason, unless that only says that something may change."""
    return named if named and why.endswith("may change files") else "; ".join(filter(None, (named, why)))
