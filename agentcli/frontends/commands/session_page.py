"""Page of a session: its HTML export in the cache folder, shown in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.journal import Journal
from agentcli.sessions.exporting import collect, export
from agentcli.system.browser import open_page

FOLDER = "pages"
"""The folder of the pages in the cache folder."""


def view(journal: Journal, cache: Path, env: Mapping[str, str]) -> str:
    """Write a session's page, secrets redacted, and open it; return a line with its path.

    Raises InputError if it is not writable.
    """
    text = export(collect(journal, whole=False), "html")
    folder = cache / FOLDER
    page = folder / f"{journal.id}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        page.touch(mode=0o600)
        page.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(
            f"Can't write {page}: {error.strerror}. `agentcli sessions export -f html -o FILE` writes it elsewhere."
        ) from error
    return f"Opened {page} in your browser." if open_page(page, env) else f"No browser to open it with: {page}"
