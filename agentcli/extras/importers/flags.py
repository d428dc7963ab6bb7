"""Arguments and options of `agentcli sessions import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentcli.core.dataclass import dataclass
from agentcli.program.command_line.flags import InProject, Json
from agentcli.system import probe


@dataclass(frozen=True, slots=True)
class ImportFlags:
    """The arguments and flags of `agentcli sessions import`."""

    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH", help="files, folders, or - for stdin")] = None
    program: Annotated[
        str,
        typer.Option("--from", metavar="PROGRAM", help="import all sessions of claude, codex, gemini, pi or opencode"),
    ] = ""
    here: Annotated[bool, typer.Option("--here", help="only sessions of this project")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only list what would be imported")] = False
    again: Annotated[bool, typer.Option("--again", help="import again what was imported before")] = False
    session: Annotated[
        str, typer.Option("--session", metavar="SESSION", help="import only this one of a database, by id or title")
    ] = ""
    name: Annotated[str, typer.Option(metavar="NAME", help="name the imported session")] = ""
    json: Json = False
    cwd: InProject = ""

    @property
    def alone(self) -> bool:
        """True if one file is all there is to import."""
        paths = self.paths or ()
        return len(paths) == 1 and not self.program and not probe.is_dir(Path(paths[0]))
