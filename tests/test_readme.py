"""README and the page for contributors: the files and folders that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "agentcli/manual/contributing.md")
NAMED = sorted(
    {
        path
        for page in PAGES
        for path in re.findall(r"`((?:[\w.]+/)+(?:\w+\.\w+)?)`", (ROOT / page).read_text(encoding="utf-8"))
    }
)


@pytest.mark.parametrize("path", NAMED)
def test_a_path_that_the_readme_names_exists(path: str) -> None:
    assert (ROOT / "agentcli" / path).exists() or (ROOT / path).exists()


def test_the_readme_links_to_every_page_of_the_manual() -> None:
    linked = set(re.findall(r"\(agentcli/manual/(\w[\w-]*)\.md\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert linked == {page.stem for page in (ROOT / "agentcli/manual").glob("*.md")} - {"index"}
