"""Summaries of sessions on disk: the folders of a store, and the first facts from each session's files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.text.words import instead
from agentcli.sessions.info import SessionInfo

_TICK = 2.0  # seconds within which file times do not show which file is newer, on the coarsest file systems


def newest(folders: Iterable[str], wanted: Callable[[SessionInfo], bool] = lambda _: True) -> SessionInfo | None:
    """Return the wanted session that was changed last among these folders, except subagents' sessions.

    File times are compared first, so that few of ten thousand sessions are read.
    """
    by_time = sorted(((_written(folder), folder) for folder in folders), reverse=True)
    best: SessionInfo | None = None
    until = 0.0
    for written, folder in by_time:
        if best and written < until:
            break
        info = glance(folder)
        if info and not is_subagent(info) and wanted(info) and (best is None or order(info) > order(best)):
            best, until = info, written - _TICK
    return best


def subfolders(folder: str) -> Sequence[str]:
    """Return the folders in a folder, without hidden ones."""
    # As text: creating a Path for each of ten thousand folders takes longer than reading them all.
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.name[0] != "." and entry.is_dir()]
    except OSError:
        return ()


def glance(folder: str | Path) -> SessionInfo | None:
    """Summarise a session. If `session.json` is lost, read the records; return None for a folder without records."""
    from agentcli.sessions.recovery import current_info, retrace

    info = current_info(folder) or retrace(Path(folder))
    if not info.records:
        return None
    _, project, name = str(folder).rsplit(os.sep, 2)
    here = (name, project)
    # The folder's place counts, not the id in a copied file.
    return info if here == (info.id, info.project_id) else replace(info, id=here[0], project_id=here[1])


def order(info: SessionInfo) -> tuple[str, str]:
    """Return the sort key of a session: the last changed one sorts last."""
    return info.time.updated, info.id


def _written(folder: str) -> float:
    for name in ("session.json", "records"):
        try:
            return os.stat(f"{folder}/{name}").st_mtime
        except OSError:
            continue
    return 0.0


CANDIDATES = 8
"""Maximum sessions that an error lists if a selector fits several."""


def fitting(selector: str, infos: Sequence[SessionInfo]) -> Sequence[SessionInfo]:
    """Return the sessions with this name, or else with this id prefix."""
    if not selector:
        return ()
    named = [info for info in infos if info.name == selector]
    return named or [info for info in infos if info.id.startswith(selector)]


def the_one(
    selector: str, fitting: Sequence[SessionInfo], among: Callable[[], Iterable[SessionInfo]], place: str, lists: str
) -> SessionInfo:
    """Return the only session that fits.

    Raises InputError with all that fit. If none fits, it has the nearest names of that place, or the command that lists
    them.
    """
    match fitting:
        case [info]:
            return info
        case []:
            names = [name for info in among() if (name := info.name)]
            raise InputError(f"Unknown session {selector!r}{place}.{instead(selector, names, f'See `{lists}`.')}")
        case _:
            listed = ", ".join(f"{info.id} ({info.name or info.title})" for info in fitting[:CANDIDATES])
            raise InputError(f"{selector!r} fits {len(fitting)} sessions: {listed}. Give more of the id.")


def is_subagent(info: SessionInfo) -> bool:
    """Return True for a subagent's session: it is listed under its parent and never resumed as the newest."""
    return info.parent is not None and info.parent.kind == "subagent"
