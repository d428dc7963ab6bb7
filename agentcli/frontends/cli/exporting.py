"""`agentcli sessions export`: a session as a file for others."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, cast

import typer

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import InputError, UsageError
from agentcli.core.sanitise import safe
from agentcli.core.text.words import one_of
from agentcli.frontends.opening import project_of
from agentcli.program.command_line.flags import InProject, taking
from agentcli.program.command_line.output import aside, say
from agentcli.program.command_line.progress import Progress
from agentcli.program.extras import extra
from agentcli.program.options import Options
from agentcli.system import probe
from agentcli.system.paths import replacement

if TYPE_CHECKING:
    from agentcli.program.project import Project
    from agentcli.sessions.exporting import Redactor
    from agentcli.sessions.session import Session


@dataclass(frozen=True, slots=True)
class ExportFlags:
    """The flags of `agentcli sessions export`."""

    format: Annotated[
        str,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            help="json, md, html, atif, claude-code or codex (default: as FILE ends, md for stdout)",
        ),
    ] = ""
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="write to this file (default: stdout)")
    ] = ""
    keep_secrets: Annotated[
        bool, typer.Option("--keep-secrets", help="do not redact secrets; include file contents")
    ] = False
    install: Annotated[
        bool, typer.Option("--install", help="write to where Claude Code or Codex finds it, and print how to resume it")
    ] = False
    cwd: InProject = ""


@taking(ExportFlags)
def export(
    selector: Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")], asked: ExportFlags
) -> None:
    """Write a session as JSON, Markdown, HTML or ATIF.

    `-f claude-code` and `-f codex` write it for these programs to resume.

    `agentcli sessions import` reads the JSON. ATIF v1.8 is the trajectory format of Harbor; it includes the sessions of subagents.
    """
    from agentcli.core.text.secrets import known_secrets
    from agentcli.sessions.exporting import AGENTS, Redactor
    from agentcli.system.key_store import KeyStore

    asked = replace(asked, format=_format(asked))
    context = project_of(Options(cwd=asked.cwd))
    info = context.store.find(selector, context.project)
    with Progress("Reading records") as progress:
        session = context.store.open(info.project_id, info.id, True, progress.of(info.records))
    for note in session.notes:
        aside(note)
    kept = asked.keep_secrets
    secrets = (*known_secrets(context.env), *KeyStore(context.dirs.config).secrets()) if not kept else ()
    redactor = None if kept else Redactor(secrets)
    if asked.format in AGENTS:
        _for_agent(context, session, asked, redactor)
    elif asked.format == "atif":
        _write(extra("export atif")(context, session, redactor, asked.output), asked.output, kept)
    else:
        _write(_whole(context, session, asked, secrets), asked.output, kept)


def _format(asked: ExportFlags) -> str:
    """Return the file's format. Raises UsageError for invalid flags, InputError for an unknown extension."""
    from agentcli.sessions.exporting import AGENTS, FORMATS, format_of

    format, output = asked.format, asked.output
    if format and format not in FORMATS:
        raise UsageError(f"There is no format {format!r}.{one_of(format, FORMATS)}")
    if asked.install and (output or format not in AGENTS):
        raise UsageError(f"--install needs -f {' or '.join(AGENTS)}, and no -o.")
    try:
        return format or format_of(Path(output))
    except InputError as error:
        raise InputError(f"{error} Or give the format with -f.") from None


def _for_agent(context: Project, session: Session, asked: ExportFlags, redactor: Redactor | None) -> None:
    exported = extra("export to another agent")(context, session, redactor, asked.format)
    if not asked.install:
        _write(exported.lines, asked.output, asked.keep_secrets)
    elif probe.exists(exported.place):
        raise InputError(
            f"{exported.place} exists, and may have been continued there. Delete it, or write to another file with -o."
        )
    else:
        try:
            exported.place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Can't write {exported.place}: {error.strerror}. Write to a file with -o.") from error
        _write(exported.lines, str(exported.place), True)
        say(f"Resume it in {session.info.directory}: {exported.resume}")
    for note in redactor.notes() if redactor else ():
        aside(note)


def _whole(context: Project, session: Session, asked: ExportFlags, secrets: Iterable[str]) -> Iterator[str]:
    from agentcli.sessions.exporting import ExportFormat, collect, export_pieces
    from agentcli.sessions.settings import CheckpointLimits

    config = context.config
    contents = config[CheckpointLimits].export_bytes if asked.format == "json" and asked.keep_secrets else 0
    total = session.info.records
    with Progress("Reading records") as progress:
        source = collect(session, contents, progress.of(total), whole=asked.format == "json")
    form = cast(ExportFormat, asked.format)
    with Progress("Exporting records") as progress:
        yield from export_pieces(
            source, form, redacted=not asked.keep_secrets, secrets=secrets, say=aside,
            through=progress.of(total),
        )  # fmt: skip


def _write(pieces: Iterable[str], output: str, private: bool) -> None:
    """Write the pieces to the file (a `private` one for its owner only), or to stdout.

    Raises InputError if the file is not writable.
    """
    if not output:
        on_terminal = sys.stdout.isatty()
        # On a terminal the text is printed after the progress bar is removed.
        for piece in list(pieces) if on_terminal else pieces:
            sys.stdout.write(safe(piece) if on_terminal else piece)
        return
    try:
        with _opened(output, 0o600 if private else 0o666) as file:
            file.writelines(pieces)
    except OSError as error:
        raise InputError(f"Can't write {output}: {error.strerror}. Name another file with -o.") from error
    say(f"Written to {output}.")


def _opened(output: str, mode: int) -> AbstractContextManager[TextIO]:
    """Open the file to write.

    A regular file is replaced in one step, so that no half export remains. A pipe or device is written directly.
    """
    file, errors = Path(output), "backslashreplace"
    if probe.is_file(file) or not probe.exists(file):
        return replacement(
            Path(os.path.realpath(file)), mode=mode, errors=errors
        )  # `Path.resolve` fails at a link to itself
    return file.open("w", -1, "utf-8", errors)
