"""Commands of any line that do more than read, told by their words alone."""

from __future__ import annotations

from agentcli.permissions.shell.effects.containable import STREAMS, fits_reader
from agentcli.permissions.shell.effects.inert import OF_THE_SHELL
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.permissions.shell.syntax.parse import Part, parse


def acting_parts(text: str) -> list[Part]:
    """Return the commands of a line that may do more than read; all of them if there are none. Scripts inside its words are left out."""
    own = [part for part in parse(text).parts if part.words]
    return [part for part in own if not only_reads(part)] or own


def only_reads(part: Part) -> bool:
    """Return True if a command by its words only reads, or acts on the shell of its own line alone."""
    if any(not STREAMS.fullmatch(piece.text) for piece in part.writes) or not part.words[0].known:
        return False
    values = [piece.text for piece in part.words]
    name = values[0]
    return (
        name in OF_THE_SHELL
        or fits_reading(name, values)
        or (name == "git" and len(values) > 1 and fits_reader(values))
    )
