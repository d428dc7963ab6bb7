"""The page of a session."""

from __future__ import annotations

import os
from pathlib import Path

from agentcli.frontends.commands.session_page import view
from agentcli.providers.scripted.model import say
from tests.agent.open_session import open_session, say_to


def test_without_a_browser_the_path_of_the_private_page_is_told(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("The answer is **mango**.")])
    say_to(session, "which fruit?")
    told = view(session.journal, tmp_path / "cache", {"PATH": os.environ["PATH"]})
    page = tmp_path / "cache" / "pages" / f"{session.journal.id}.html"
    assert told == f"No browser to open it with: {page}"
    assert "<strong>mango</strong>" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
