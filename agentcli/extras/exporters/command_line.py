"""`agentcli sessions export -f claude-code` and `-f codex`: a session that another agent resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from agentcli.extras.exporters import claude_code, codex
from agentcli.extras.exporters.conversation import Conversation, conversation
from agentcli.program.command_line.progress import Progress
from agentcli.program.project import Project
from agentcli.sessions.exporting import Redactor
from agentcli.sessions.session import Session


class _Program(NamedTuple):
    lines: Callable[[Conversation], Iterator[str]]
    place: Callable[[Conversation, Mapping[str, str], Path], Path]
    resume: Callable[[Conversation], str]


_PROGRAMS: Mapping[str, _Program] = {
    "claude-code": _Program(claude_code.lines, claude_code.place, claude_code.resume),
    "codex": _Program(codex.lines, codex.place, codex.resume),
}


class Exported(NamedTuple):
    """The lines of a session's file, the file in which the other agent looks for it, and the command that resumes it there."""

    lines: Iterator[str]
    place: Path
    resume: str


def exported(context: Project, session: Session, redactor: Redactor | None, format: str) -> Exported:
    """Return a session in the format of another agent."""
    program = _PROGRAMS[format]
    with Progress("Reading records") as progress:
        records = list(progress.of(session.info.records)(session.records()))
    whole = conversation(session.info, records, redactor or str)
    return Exported(program.lines(whole), program.place(whole, context.env, Path.home()), program.resume(whole))
