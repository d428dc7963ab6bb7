"""Whether a line that only reads looks at the machine, where a sandbox would show it nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agentcli.agent.permissions.scripts import words
from agentcli.agent.permissions.shapes import fit
from agentcli.agent.permissions.shell import Command
from agentcli.agent.permissions.table import READERS

Looks = Literal["", "only", "also"]
"""Not at the machine; at nothing else, so that the line names no file; or at files as well."""

_ON_THE_MACHINE = words("ps pgrep pidof lsof ss netstat ip ifconfig hostname who w users last df")
"""Programs that show processes, the network, people or mounts."""
_FILES = frozenset({"path", "archive", "object"})


def looks_at_machine(commands: Sequence[Command]) -> Looks:
    """What a line of commands that only read looks at."""
    if not any(command.words[0] in _ON_THE_MACHINE for command in commands):
        return ""
    return "also" if any(map(_names_files, commands)) else "only"


def _names_files(command: Command) -> bool:
    name, *arguments = command.words
    fitting = fit(READERS[name], arguments) if READERS.get(name) else ""
    return isinstance(fitting, str) or any(kind in _FILES for kind, _ in fitting[1])
