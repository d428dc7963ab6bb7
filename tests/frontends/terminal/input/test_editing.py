from __future__ import annotations

from pathlib import Path

from agentcli.frontends.terminal.input.editing import at_line, editor
from tests.tables import each_row


@each_row(
    ("command", "expected"),
    [
        ("vi", ("+7", "a.py")),
        ("/usr/bin/nvim -R", ("+7", "a.py")),
        ("code --wait", ("-g", "a.py:7")),
        ("hx", ("a.py:7",)),
        ("pycharm", ("--line", "7", "a.py")),
    ],
)
def test_each_editor_is_told_of_the_line_in_its_own_way(command: str, expected: tuple[str, ...]) -> None:
    assert at_line(command, Path("a.py"), 7) == expected


def test_visual_comes_before_editor() -> None:
    assert editor({"VISUAL": "code", "EDITOR": "ed"}) == "code"
    assert editor({"EDITOR": "ed"}) == "ed"
    assert editor({}) == "vi"
