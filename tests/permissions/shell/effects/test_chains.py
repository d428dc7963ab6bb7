"""A line by which git records beside other programs is allowed if each of its parts is."""

from __future__ import annotations

import pytest

from agentcli.core.tool import LinePart
from agentcli.permissions.paths import Workspace
from tests.permissions.shell.effects.test_containable import decided, workspace

__all__ = ["workspace"]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git add -A && make test", [LinePart("git add -A", records=True), LinePart("make test", "&&")]),
        ("make && git commit -m x", [LinePart("make"), LinePart("git commit -m x", "&&", True, True)]),
        (
            "cd src && git add . ; make",
            [LinePart("cd src && git add .", records=True), LinePart("cd src && make", ";")],
        ),
    ],
)
def test_each_part_has_its_box(command: str, parts: list[LinePart], workspace: Workspace) -> None:
    found = decided(command, workspace)
    assert (found.decision, list(found.parts), found.contained, found.stores) == ("allow", parts, True, True)


def test_a_part_that_changes_the_work_tree_is_told_apart(workspace: Workspace) -> None:
    found = decided("git stash && make; git stash pop", workspace)
    assert (found.decision, len(found.parts), found.stores) == ("allow", 3, False)


@pytest.mark.parametrize(
    "command", ["git add -A && make; sudo make", "git add -A && make && curl x", "make && git push"]
)
def test_a_part_that_must_ask_lets_the_whole_line_ask(command: str, workspace: Workspace) -> None:
    found = decided(command, workspace)
    assert (found.decision, found.parts) == ("ask", ())
