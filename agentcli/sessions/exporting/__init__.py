"""Export of a session for others: lossless JSON, Markdown, one HTML page, or ATIF, which benchmarks read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from agentcli.core.errors import InputError
from agentcli.core.record import Checkpoint
from agentcli.sessions.exporting.archive import to_json
from agentcli.sessions.exporting.redactor import Redactor
from agentcli.sessions.exporting.source import Source, collect
from agentcli.sessions.storage.records import Through

ExportFormat = Literal["json", "md", "html"]
AGENTS = ("claude-code", "codex")
"""Formats of other agents, which resume such a session."""
FORMATS: tuple[str, ...] = (*get_args(ExportFormat), "atif", *AGENTS)
"""All formats; extras write the ones that are no ExportFormat."""
_BY_ENDING: Mapping[str, ExportFormat] = {
    "": "md",
    ".md": "md",
    ".markdown": "md",
    ".txt": "md",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
}
"""File extensions in lower case, with the format of an export to such a file."""

__all__ = ["AGENTS", "FORMATS", "ExportFormat", "Redactor", "Source", "collect", "export", "export_pieces", "format_of"]


def format_of(file: Path) -> ExportFormat:
    """Return the format of an export to this file, by its extension. Raises InputError for an unknown extension."""
    if (form := _BY_ENDING.get(file.suffix.lower())) is None:
        raise InputError(f"Can't export to {file.suffix} files. Name the file .md, .html or .json.")
    return form


def export(
    source: Source,
    form: ExportFormat,
    *,
    redacted: bool = True,
    secrets: Iterable[str] = (),
    say: Callable[[str], object] = lambda note: None,
) -> str:
    """Return the whole text of the file; otherwise like `export_pieces`."""
    return "".join(export_pieces(source, form, redacted=redacted, secrets=secrets, say=say))


def export_pieces(
    source: Source,
    form: ExportFormat,
    *,
    redacted: bool = True,
    secrets: Iterable[str] = (),
    say: Callable[[str], object] = lambda note: None,
    through: Through = iter,
) -> Iterator[str]:
    """Yield the text of the file in pieces, so that a large session is never in memory as one text.

    Secrets, including the known `secrets`, are removed unless `redacted` is false; only then is JSON complete. The
    records pass `through`, a callback that may show progress. At the end `say` is called with one line for people about
    each thing missing from the file.
    """
    redactor = Redactor(secrets)
    clean = redactor if redacted else str
    match form:
        case "json":
            yield from to_json(source, redactor if redacted else None, through)
        case "md":
            from agentcli.sessions.exporting.markdown import to_markdown

            yield from to_markdown(source, clean, through)
        case "html":
            from agentcli.sessions.exporting.html import to_html

            yield from to_html(source, clean, through)
    for note in (*redactor.notes(), *_lacks(source, form, redacted)):
        say(note)


def _lacks(source: Source, form: ExportFormat, redacted: bool) -> list[str]:
    notes = []
    if form == "json" and redacted and any(isinstance(record.body, Checkpoint) for record, _ in source.records):
        notes.append("File states are not exported, since they may contain secrets; --keep-secrets includes them.")
    if form == "json" and source.left_out:
        why = "; ".join(sorted(set(source.left_out.values())))
        notes.append(f"The states of {len(source.left_out):,} files are left out, so /undo will not find them: {why}.")
    return notes
