"""Approvals of programs that a trusted project would start (hooks, MCP servers, plugins), each by its definition's
hash.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.program.trust import read_own, repository
from agentcli.system.locked_file import update

if TYPE_CHECKING:
    from agentcli.program.definition import Definition

APPROVED = "approved.json"
"""File in the state folder with the user's answers."""

Confirm = Callable[[str, Sequence[str]], Awaitable[bool]]
"""Asks a yes-or-no question, given its title and lines."""

_Answers = Mapping[str, Mapping[str, Any]]
"""Root of a repository to its answers: kind and hash of a definition to the answer."""


class Approvals:
    """The user's answers about what one project may start. A changed definition is unanswered.

    `everything` approves all for this run, and writes nothing.
    """

    def __init__(self, folder: Path, file: Path, everything: bool = False) -> None:
        self._root, self._file, self._everything = str(repository(folder)), file, everything

    def allows(self, definition: Definition) -> bool:
        """Return True if a definition may be started.

        If the file is unreadable, or others may write it, nothing may.
        """
        return self._everything or self._answer(definition) is True

    def undecided(self, definitions: Iterable[Definition]) -> list[Definition]:
        """Definitions that wait for an answer."""
        return [one for one in definitions if not self._everything and self._answer(one) is None]

    def refused(self, definitions: Iterable[Definition]) -> list[Definition]:
        """Return the definitions that may not start: unanswered or declined."""
        return [one for one in definitions if not self.allows(one)]

    def decide(self, answers: Sequence[tuple[Definition, bool]]) -> None:
        """Remember answers. Raises ConfigError if the file there is unreadable, and StoreError if it is not writable."""
        now = datetime.now(UTC).isoformat(timespec="seconds")

        def changed(_: str) -> str:
            # Read again, with the checks for files that allow programs to run.
            known = {root: {**given} for root, given in _read(self._file).items()}
            here = known.setdefault(self._root, {})
            for one, approved in answers:
                here[_key(one)] = {"name": one.name, "file": one.file, "approved": approved, "since": now}
            return json.dumps({"schema": 1, "projects": known}, indent=1, ensure_ascii=True) + "\n"

        update(self._file, changed)

    def _answer(self, definition: Definition) -> bool | None:
        try:
            given = _read(self._file).get(self._root, {}).get(_key(definition))
        except ConfigError:
            return None
        approved = given.get("approved") if isinstance(given, Mapping) else None
        return approved if isinstance(approved, bool) else None


def not_started(refused: Sequence[Definition]) -> str:
    """Return the warning of a run in which nobody can approve; empty if nothing was refused."""
    if not refused:
        return ""
    names = "; ".join(map(str, refused))
    verb = "was" if len(refused) == 1 else "were"
    return f"{names[0].upper()}{names[1:]} {verb} not started: approve {'it' if verb == 'was' else 'them'} in a session, or run with --trust."


def _key(definition: Definition) -> str:
    return f"{definition.kind} {definition.digest}"


def _read(file: Path) -> _Answers:
    text = read_own(file, "Nothing of a project counts as approved")
    if text is None:
        return {}
    try:
        projects = json.loads(text)["projects"]
        return {str(root): {**given} for root, given in projects.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged, so no project is approved. Fix or remove it.") from error


async def answers(found: Sequence[Definition], confirm: Confirm) -> list[tuple[Definition, bool]]:
    """Ask about each definition, showing its exact command line, and return the definitions with the answers."""
    given = []
    for number, one in enumerate(found, 1):
        place = f" ({number} of {len(found)})" if len(found) > 1 else ""
        given.append((one, await confirm(f"Let this project start {one}?{place}", [safe_line(one.starts)])))
    return given
