"""Search for sessions to import: in files, in folders, and in other programs' stores."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.extras.importers.sessions.compressed import SUFFIX, CompressedFile, is_unpacked
from agentcli.extras.importers.sessions.gemini_cli import project_root
from agentcli.extras.importers.sessions.opencode_database import nothing_found, rows_of
from agentcli.extras.importers.sessions.recognise import (
    first_objects,
    format_of,
    holds_database,
    not_recognised,
    recognise,
)
from agentcli.sessions.imported import Format
from agentcli.system import probe

ENDINGS = (".jsonl", ".json", ".db", ".jsonl" + SUFFIX)
"""Extensions of the files to read in a folder."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A session of another program, from its first lines: its id there, and its working folder.

    `name` is its name in messages; `named` is true if the user specified this very file. For a database, `session` is
    the id of one session, and `version` changes with each change of that session.
    """

    path: Path
    program: Format
    id: str = ""
    folder: str = ""
    name: str = ""
    named: bool = False
    session: str = ""
    version: str = ""

    def __str__(self) -> str:
        whole = self.name or str(self.path)
        return f"{whole}: session {self.session}" if self.session else whole


def candidates(path: Path, *, name: str = "", chosen: str = "", named: bool = False) -> Sequence[Candidate]:
    """Return the sessions in a file: one, or all of a database except subagents'.

    `chosen` is the id or title of the only wanted session. Raises InputError if the file has no session of a known
    program.
    """
    if not holds_database(path):
        found = _candidate(path, name, named)
        if chosen:
            raise InputError(f"{name or path} has only one session, so --session does not apply.")
        return [found]
    program = recognise(path)
    rows = [row for row in rows_of(path) if (chosen in (row.id, row.title) if chosen else not row.subagent)]
    if not rows:
        raise InputError(f"{name or path}: {nothing_found(path, chosen)}")
    return [
        Candidate(path, program, row.id, row.folder, name, named, row.id, f"{row.id} {row.updated}") for row in rows
    ]


def _candidate(path: Path, name: str, named: bool) -> Candidate:
    program, id, folder = _described(path)
    if program == "claude-code":
        id = path.stem  # a resumed session begins with the lines of another one
    if program == "gemini-cli":
        folder = folder or project_root(path)
    return Candidate(path, program, id, folder, name, named)


def in_folder(folder: Path) -> Iterator[Candidate]:
    """Yield the sessions in the files of a folder and all its subfolders; skip other files."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(here, name)
            if name.endswith(ENDINGS) and probe.is_file(path):
                yield from recognised(path)


def sessions_of(program: str, env: Mapping[str, str], places: Iterable[str] = ()) -> Iterator[Candidate]:
    """Yield the sessions that a program stores for the user, except subagents'.

    `places` are possible working folders: Gemini CLI may store only the hash of a folder's path.
    """
    hashes = {hashlib.sha256(os.fsencode(folder)).hexdigest(): folder for folder in places}
    for path in sorted(set(PROGRAMS[program].files(_Home(env)))):
        for found in recognised(path) if probe.is_file(path) else ():
            yield replace(found, folder=found.folder or hashes.get(path.parent.parent.name, ""))


@dataclass(frozen=True, slots=True)
class SessionSource:
    """A program whose sessions can be found: its name, and a function that finds its session files."""

    title: str
    files: Callable[[_Home], Iterable[Path]]


@dataclass(frozen=True, slots=True)
class _Home:
    """Folders as the environment names them."""

    env: Mapping[str, str]

    def folder(self, variable: str, default: str) -> Path:
        home = self.env.get("HOME") or os.path.expanduser("~")
        named = self.env.get(variable, "") if variable else ""
        return Path(named.replace("~", home, 1) if named.startswith("~") else named or os.path.join(home, default))


def _claude(home: _Home) -> Iterable[Path]:
    projects = home.folder("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    return (path for path in projects.glob("*/*.jsonl") if not path.name.startswith("agent-"))


def _codex(home: _Home) -> Iterable[Path]:
    folder = home.folder("CODEX_HOME", ".codex")
    for kept in ("sessions", "archived_sessions"):
        for ending in (".jsonl", ".jsonl" + SUFFIX):
            yield from (folder / kept).rglob(f"rollout-*{ending}")


def _gemini(home: _Home) -> Iterable[Path]:
    folder = home.folder("GEMINI_CLI_HOME", "") / ".gemini" / "tmp"
    return (path for path in folder.glob("*/chats/session-*") if path.suffix in ENDINGS)


def _opencode(home: _Home) -> Iterable[Path]:
    folder = home.folder("XDG_DATA_HOME", ".local/share") / "opencode"
    if named := home.env.get("OPENCODE_DB"):
        yield folder / named  # an absolute path remains unchanged
    yield from folder.glob("opencode*.db")


def _pi(home: _Home) -> Iterable[Path]:
    if named := home.env.get("PI_CODING_AGENT_SESSION_DIR"):
        yield from Path(named).expanduser().rglob("*.jsonl")
    yield from (home.folder("PI_CODING_AGENT_DIR", ".pi/agent") / "sessions").rglob("*.jsonl")


PROGRAMS: Mapping[str, SessionSource] = MappingProxyType(
    {
        "claude": SessionSource("Claude Code", _claude),
        "codex": SessionSource("Codex", _codex),
        "gemini": SessionSource("Gemini CLI", _gemini),
        "pi": SessionSource("pi", _pi),
        "opencode": SessionSource("opencode", _opencode),
    }
)
"""The programs whose sessions can be found, by their names on the command line."""


def recognised(path: Path) -> Sequence[Candidate]:
    """Return the sessions in a file that the search found. None if it has no session, or its unpacked version exists."""
    if is_unpacked(path):
        return ()
    try:
        return candidates(path)
    except CompressedFile:
        return [Candidate(path, "codex", _id_in_name(path))]
    except InputError:
        return ()


def _id_in_name(path: Path) -> str:
    """Return the id of a Codex session from its file name, `rollout-2026-01-05T09-00-00-<id>.jsonl.zst`."""
    found = re.match(r"rollout-[\dT-]{19}-(.+?)\.jsonl", path.name)
    return found[1] if found else ""


def _described(path: Path) -> tuple[Format, str, str]:
    """Return a file's format, and the id and folder in its first lines, which may be empty.

    Raises InputError for an unknown format.
    """
    program: Format | None = None
    id = folder = ""
    for value in first_objects(path):
        program = program or format_of(value)
        inner = next(
            (held for key in ("payload", "info", "session") if isinstance(held := value.get(key), dict)), value
        )
        if not id:
            begins = inner is not value or value.get("type") == "session" or "instructions" in value
            id = _text(value.get("sessionId")) or (_text(inner.get("id")) if begins else "")
        folder = folder or _text(inner.get("cwd") or inner.get("directory") or value.get("cwd"))
        if program and id and folder:
            break
    if program is None:
        raise not_recognised(path)
    return program, id, folder


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
