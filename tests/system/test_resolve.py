from pathlib import Path

import pytest

from agentcli.system.resolve import MANUAL_FOLDER, follow, searched, spelled
from tests.tables import each_row


def test_a_path_is_taken_from_the_current_folder_and_the_home_folder_is_filled_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert spelled(Path("/w"), "a/../b") == "/w/a/../b"
    assert spelled(Path("/w"), "/etc/hosts") == "/etc/hosts"
    assert spelled(Path("/w"), "~/a") == str(tmp_path / "a")


def test_links_are_followed_as_far_as_a_path_exists(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert follow(str(tmp_path / "link" / "new.txt")) == (tmp_path / "real" / "new.txt").resolve()


@each_row(
    ("pattern", "folder", "within"),
    [
        ("**/*.py", "src", "**/*.py"),
        ("/etc/*.conf", "/etc", "/*.conf"),
        ("../other/**/*.py", "src/../other", "/**/*.py"),
        ("/etc/hosts", "/etc", "/hosts"),
    ],
)
def test_a_pattern_that_leads_elsewhere_starts_at_the_folder_it_names(pattern: str, folder: str, within: str) -> None:
    assert searched("src", pattern) == (folder, within)


def test_a_page_of_the_manual_is_found_wherever_the_program_is_installed() -> None:
    assert spelled(Path("/w"), "manual:keys.md") == str(MANUAL_FOLDER / "keys.md")
    assert Path(spelled(Path("/w"), "manual:index.md")).read_text().startswith("# ")
    assert spelled(Path("/w"), "./manual:keys.md") == "/w/./manual:keys.md"
