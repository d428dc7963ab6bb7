"""Selection of sessions by name, id, or the beginning of an id."""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.core.errors import InputError
from agentcli.sessions.info import SessionInfo

CANDIDATES = 8
"""Number of sessions that an error names if a selector fits several."""


def fitting(selector: str, infos: Sequence[SessionInfo]) -> Sequence[SessionInfo]:
    """Return the sessions with this name, or else with this beginning of their id."""
    if not selector:
        return ()
    named = [info for info in infos if info.name == selector]
    return named or [info for info in infos if info.id.startswith(selector)]


def the_one(selector: str, fitting: Sequence[SessionInfo], none: str) -> SessionInfo:
    """Return the only session that fits.

    Raises InputError with the text `none`, filled with the selector, or with all that fit.
    """
    match fitting:
        case [info]:
            return info
        case []:
            raise InputError(none.format(selector))
        case _:
            listed = ", ".join(f"{info.id} ({info.name or info.title})" for info in fitting[:CANDIDATES])
            raise InputError(f"{selector!r} fits {len(fitting)} sessions: {listed}. Give more of the id.")


def is_subagent(info: SessionInfo) -> bool:
    """Return True for a subagent's session: it is listed under its parent and never resumed as the newest."""
    return info.parent is not None and info.parent.kind == "subagent"
