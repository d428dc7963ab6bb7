"""A session as a file for others: JSON without loss, Markdown, one HTML page, or ATIF, which benchmarks read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Literal, get_args

from agentcli.core.record import Checkpoint
from agentcli.core.text.secrets import redact
from agentcli.sessions.exporting.archive import to_json
from agentcli.sessions.exporting.source import Source, collect
from agentcli.sessions.settings import SessionSettings

ExportFormat = Literal["json", "md", "html"]
FORMATS: tuple[str, ...] = (*get_args(ExportFormat), "atif")
"""All formats; `to_atif` writes the last one, piece by piece."""
SETTINGS = SessionSettings()

__all__ = ["FORMATS", "ExportFormat", "Redactor", "Source", "collect", "export"]

_SHORT, _REMEMBERED = 100, 10_000
"""Characters of a text that is remembered with its outcome, since names and paths come again and again; the number of those texts."""


class Redactor:
    """A filter that takes secrets out of texts, the `known` ones among them, and counts the texts that it `changed`."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = tuple(known)
        self._remembered = lru_cache(_REMEMBERED)(partial(redact, known=self._known))
        self.changed = 0

    def __call__(self, text: str) -> str:
        clean = redact(text, self._known) if len(text) > _SHORT else self._remembered(text)
        self.changed += clean != text
        return clean

    def notes(self) -> list[str]:
        """A line for people about what was taken out, if anything was."""
        if not self.changed:
            return []
        return [f"Secrets were taken out of {self.changed:,} texts; --keep-secrets leaves them in."]


def export(
    source: Source,
    form: ExportFormat,
    *,
    redacted: bool = True,
    secrets: Iterable[str] = (),
    say: Callable[[str], object] = lambda note: None,
    settings: SessionSettings = SETTINGS,
) -> str:
    """The text of the file. Secrets, the known `secrets` among them, are taken out unless `redacted` is false; only then is JSON free of any loss.

    `say` is called with a line for people about everything that the file lacks.
    """
    redactor = Redactor(secrets)
    clean = redactor if redacted else str
    match form:
        case "json":
            text = to_json(source, redactor if redacted else None)
        case "md":
            from agentcli.sessions.exporting.markdown import to_markdown

            text = to_markdown(source, clean)
        case "html":
            from agentcli.sessions.exporting.html import to_html

            text = to_html(source, clean, highlight_limit=settings.highlight)
    for note in (*redactor.notes(), *_lacks(source, form, redacted)):
        say(note)
    return text


def _lacks(source: Source, form: ExportFormat, redacted: bool) -> list[str]:
    notes = []
    if form == "json" and redacted and any(isinstance(record.body, Checkpoint) for record, _ in source.records):
        notes.append(
            "The states of files, which /undo and /rewind need, are left out since they may hold secrets; "
            "--keep-secrets takes them along."
        )
    if form == "json" and source.left_out:
        why = "; ".join(sorted(set(source.left_out.values())))
        notes.append(f"The states of {len(source.left_out):,} files are left out, so /undo will not find them: {why}.")
    return notes
