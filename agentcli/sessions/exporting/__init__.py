"""A session as a file for others: JSON without loss, Markdown, or one HTML page."""

from __future__ import annotations

from typing import Literal

from agentcli.context.redact import redact
from agentcli.sessions.exporting.archive import to_json
from agentcli.sessions.exporting.source import Source, collect

ExportFormat = Literal["json", "md", "html"]

__all__ = ["ExportFormat", "Source", "collect", "export"]


def export(source: Source, form: ExportFormat, *, redacted: bool = True) -> str:
    """The text of the file. Secrets are taken out unless `redacted` is false; only then is JSON free of any loss."""
    clean = redact if redacted else str
    match form:
        case "json":
            return to_json(source, redact if redacted else None)
        case "md":
            from agentcli.sessions.exporting.markdown import to_markdown

            return to_markdown(source, clean)
        case "html":
            from agentcli.sessions.exporting.html import to_html

            return to_html(source, clean)
