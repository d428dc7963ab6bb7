"""Selection of sessions by what a person says: a name, an id, or the beginning of one."""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.core.errors import InputError
from agentcli.sessions.info import SessionInfo

CANDIDATES = 8
"""Sessions that are named where a selector fits several."""


def fitting(selector: str, infos: Sequence[SessionInfo]) -> Sequence[SessionInfo]:
    """Those with this name, or this beginning of an id."""
    if not selector:
        return ()
    named = [info for info in infos if info.name == selector]
    return named or [info for info in infos if info.id.startswith(selector)]


def the_one(selector: str, fitting: Sequence[SessionInfo], none: str) -> SessionInfo:
    """The one session that fits. Raises InputError with the text `none`, which names the selector, or with all that fit."""
    match fitting:
        case [info]:
            return info
        case []:
            raise InputError(none.format(selector))
        case _:
            listed = ", ".join(f"{info.id} ({info.name or info.title})" for info in fitting[:CANDIDATES])
            raise InputError(f"{selector!r} fits {len(fitting)} sessions: {listed}. Give more of the id.")


def is_subagent(info: SessionInfo) -> bool:
    """True if a session was a subagent's: it is listed under its parent and never resumed as the newest."""
    return info.parent is not None and info.parent.kind == "subagent"
