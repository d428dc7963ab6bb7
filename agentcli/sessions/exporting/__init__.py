"""A session as a file for others: JSON without loss, Markdown, or one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from agentcli.core.record import Checkpoint
from agentcli.core.text.secrets import redact
from agentcli.sessions.exporting.archive import to_json
from agentcli.sessions.exporting.source import Source, collect
from agentcli.sessions.settings import SessionSettings

ExportFormat = Literal["json", "md", "html"]
SETTINGS = SessionSettings()

__all__ = ["ExportFormat", "Source", "collect", "export"]


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
    changed, known = 0, tuple(secrets)

    def cleaned(text: str) -> str:
        nonlocal changed
        clean = redact(text, known)
        changed += clean != text
        return clean

    clean = cleaned if redacted else str
    match form:
        case "json":
            text = to_json(source, cleaned if redacted else None)
        case "md":
            from agentcli.sessions.exporting.markdown import to_markdown

            text = to_markdown(source, clean)
        case "html":
            from agentcli.sessions.exporting.html import to_html

            text = to_html(source, clean, highlight_limit=settings.highlight)
    for note in _lacks(source, form, redacted, changed):
        say(note)
    return text


def _lacks(source: Source, form: ExportFormat, redacted: bool, changed: int) -> list[str]:
    notes = []
    if changed:
        notes.append(f"Secrets were taken out of {changed:,} texts; --keep-secrets leaves them in.")
    if form == "json" and redacted and any(isinstance(record.body, Checkpoint) for record, _ in source.records):
        notes.append(
            "The states of files, which /undo and /rewind need, are left out since they may hold secrets; "
            "--keep-secrets takes them along."
        )
    if form == "json" and source.left_out:
        why = "; ".join(sorted(set(source.left_out.values())))
        notes.append(f"The states of {len(source.left_out):,} files are left out, so /undo will not find them: {why}.")
    return notes
