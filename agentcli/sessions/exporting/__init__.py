"""Export of a session for others: lossless JSON, Markdown, one HTML page, or ATIF, which benchmarks read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from agentcli.core.errors import InputError
from agentcli.core.record import Checkpoint
from agentcli.sessions.exporting.archive import to_json
from agentcli.sessions.exporting.redactor import Redactor
from agentcli.sessions.exporting.source import Source, collect
from agentcli.sessions.exporting.transcript import (
    Aside,
    Call,
    Clean,
    Entry,
    MessageText,
    Note,
    Picture,
    entries,
    pretty,
)
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


_SPEAKERS = {"user": "You", "assistant": "Agent"}


def to_markdown(source: Source, clean: Clean = str, through: Through = iter) -> Iterator[str]:
    """Yield the whole session as one Markdown document, in pieces."""
    info = source.info
    title = clean(info.name or info.title or info.id)
    cost = "" if info.cost is None else f" · ${info.cost:.2f}"
    yield f"# {_line(title)}\n\n{info.time.created} · {info.model or 'no model'}{cost} · `{info.directory or '-'}`\n"
    speaker = ""
    for entry in entries([record for record, _ in source.records], clean, through):
        who = _SPEAKERS.get(entry.speaker, "") if isinstance(entry, MessageText) else speaker
        if isinstance(entry, MessageText) and (who != speaker or entry.speaker == "user"):
            yield f"\n## {who}\n\n"
            speaker = who
        yield "\n"
        yield from (f"{line}\n" for line in _entry(entry))


def _entry(entry: Entry) -> Iterable[str]:
    match entry:
        case MessageText(text=text):
            return [text]
        case Aside(_, label, text):
            return _folded(_line(label), [fence(text)])
        case Picture(_, mime, data):
            return [f"*[{mime}, {len(data) * 3 // 4:,} bytes]*"]
        case Note(_, text):
            return [f"*{_line(text)}*"]
        case Call():
            return _folded(_line(f"{entry.call.name} {entry.subject} — {entry.status}"), _call(entry))


def _call(entry: Call) -> Iterator[str]:
    for name, value in entry.call.input.items():
        yield f"`{name}`"
        yield fence(pretty(value))
    if entry.result is None:
        return
    diff = entry.result.metadata.get("diff")
    if isinstance(diff, str) and diff:
        yield fence(diff, "diff")
    yield fence(entry.result.output)


def fence(text: str, language: str = "") -> str:
    """Return a code block that nothing inside it can end."""
    longest = max(map(len, re.findall(r"`{3,}", text))) if "```" in text else 2
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def _folded(summary: str, blocks: Iterable[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *(f"{block}\n" for block in blocks), "</details>"]


def _line(text: str) -> str:
    """Return the text on one line, without markup."""
    flat = " ".join(text.split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'").replace("*", "\\*")
