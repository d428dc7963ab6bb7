"""`agentcli sessions export -f claude-code`, `codex` and `atif`: sessions in the formats of other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from agentcli.extras.exporters import claude_code, codex
from agentcli.extras.exporters.atif.document import ImageFolder, subagents_in, to_atif
from agentcli.extras.exporters.atif.steps import data_url
from agentcli.extras.exporters.conversation import Conversation, conversation
from agentcli.program.command_line.output import aside
from agentcli.program.command_line.progress import Progress
from agentcli.program.project import Project
from agentcli.sessions.exporting import Redactor
from agentcli.sessions.session import Session
from agentcli.system import probe


class _Program(NamedTuple):
    lines: Callable[[Conversation], Iterator[str]]
    place: Callable[[Conversation, Mapping[str, str], Path], Path]
    resume: Callable[[Conversation], str]


_PROGRAMS: Mapping[str, _Program] = {
    "claude-code": _Program(claude_code.lines, claude_code.place, claude_code.resume),
    "codex": _Program(codex.lines, codex.place, codex.resume),
}


class Exported(NamedTuple):
    """Lines of a session's file, its path in the other agent's folders, and the command that resumes it there."""

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


def trajectory(context: Project, session: Session, redactor: Redactor | None, output: str) -> Iterator[str]:
    """Yield the trajectory in pieces; its images become files next to the output file."""
    subagents = subagents_in(context.store, session.info)
    file = Path(output)
    is_file = output and (probe.is_file(file) or not probe.exists(file))
    place = ImageFolder(file.with_suffix(".images")) if is_file else data_url
    with Progress("Exporting records") as progress:
        yield from to_atif(session, subagents, redactor or str, place, progress.of(session.info.records))
    for note in redactor.notes() if redactor else ():
        aside(note)
