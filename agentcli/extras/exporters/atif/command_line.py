"""`agentcli sessions export -f atif`: a session as a trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentcli.extras.exporters.atif.document import ImageFolder, subagents_in, to_atif
from agentcli.extras.exporters.atif.steps import data_url
from agentcli.program.command_line.output import aside
from agentcli.program.command_line.progress import Progress
from agentcli.program.project import Project
from agentcli.sessions.exporting import Redactor
from agentcli.sessions.session import Session
from agentcli.system import probe


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
