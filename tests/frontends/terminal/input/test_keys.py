"""Key bindings, and the help of `?`."""

from __future__ import annotations

import pytest

from agentcli.core.errors import ConfigError
from agentcli.frontends.terminal.input.keys import KEYS, chosen, help_lines, help_rows
from agentcli.frontends.terminal.style import MUTE
from tests.tables import each_row


def test_every_key_has_a_line_of_help() -> None:
    listed = " ".join(key for key, _ in help_lines(KEYS))
    for key in (
        "Ctrl-R",
        "Ctrl-O",
        "Ctrl-T",
        "Ctrl-G",
        "Ctrl-B",
        "Ctrl-L",
        "Ctrl-Z",
        "Ctrl-C",
        "Ctrl-D",
        "Ctrl-J",
        "Alt-Enter",
        "Shift-Tab",
        "Tab",
        "Esc",
        "↑ ↓",
        "@",
        "!",
        "/",
    ):
        assert key in listed


def test_keys_can_be_chosen_and_are_listed_as_chosen() -> None:
    keys = chosen({"search": "f5", "output": "escape o"})
    listed = dict(help_lines(keys))
    assert listed["F5"] == "search earlier prompts"
    assert listed["Alt-O"].startswith("transcript")
    assert keys["editor"] == "c-g"


@pytest.mark.parametrize("wrong", [{"serach": "c-r"}, {"search": "ctrl+r"}])
def test_a_key_that_does_not_exist_is_told(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        chosen(wrong)


@each_row(
    ("keys", "told"),
    [
        ({"search": "c-o"}, "ui.keys.search and ui.keys.output are both c-o"),
        ({"search": "f5", "output": "f5"}, "are both f5"),
        ({"search": "enter"}, "needed for typing"),
        ({"search": "c-m"}, "needed for typing"),
        ({"search": "tab"}, "needed for typing"),
        ({"search": "x"}, "needed for typing"),
    ],
)
def test_a_key_with_two_meanings_is_reported(keys: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        chosen(keys)


def test_two_acts_may_change_their_keys_with_each_other() -> None:
    assert chosen({"search": "c-o", "output": "c-r"})["output"] == "c-r"


def test_what_a_key_does_hangs_beside_it_on_a_narrow_screen() -> None:
    rows = help_rows(chosen({}), 39, MUTE)
    assert all(len(row) <= 39 for row in rows)
    at = rows.index("Enter            send; while it works: ")
    assert rows[at + 1].startswith(" " * 17 + "into the ")


def test_enter_and_tab_may_change_their_meaning_while_it_works() -> None:
    turned = dict(help_lines(chosen({"queue": "enter"})))
    assert "queue" in turned["Enter"]
    assert "running turn" in turned["Tab"]
    with pytest.raises(ConfigError, match="is needed for typing"):
        chosen({"search": "enter"})
