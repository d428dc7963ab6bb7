"""The menu of slash commands and files: Enter runs or takes the marked row, Tab completes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frontends.terminal.test_app import last, preview


@pytest.mark.parametrize(
    ("typed", "ran"),
    [
        ("/", "/help COMMAND explains one"),
        ("/hel", "/help COMMAND explains one"),
        ("/und", "Put shop/cart.py back."),
        ("/cont", "window"),
        ("/mo", "Which model?"),
        ("/mode", "Which mode?"),
        ("/mode pl", "plan · demo"),
    ],
)
def test_enter_runs_the_marked_command(tmp_path: Path, typed: str, ran: str) -> None:
    with preview(tmp_path, rows=70) as t:
        t.send(typed, until=f"❯ {typed.split()[-1]}")
        t.send("\r", until=ran)
        assert "Unknown command" not in "\n".join(t.history())


def test_tab_completes_the_marked_command_and_the_help_of_its_argument_stays(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/ren\t", until="NAME · Give this session a name")
        assert last(t.screen()) == "> /rename"


def test_enter_completes_a_command_that_needs_an_argument(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/ren\r", until="NAME · Give this session a name")
        assert last(t.screen()) == "> /rename"


def test_enter_takes_the_marked_file(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("see @pyproj", until="❯ @pyproject.toml")
        t.send("\r")
        t.settle()
        assert last(t.screen()) == "> see @pyproject.toml"
