"""A line by which git records beside other programs is allowed if each of its parts is."""

from __future__ import annotations

import pytest

from agentcli.core.tool import LinePart
from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.effects.chains import segments
from tests.permissions.shell.effects.test_containable import decided, workspace

__all__ = ["workspace"]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git add -A && make test", [LinePart("git add -A", records=True), LinePart("make test", "&&")]),
        (
            "make; git commit -F - <<'E'\nx\nE",
            [LinePart("make"), LinePart("git commit -F - <<'E'\nx\nE", ";", True, True)],
        ),
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


def test_git_records_a_patch_that_an_earlier_part_made(workspace: Workspace) -> None:
    found = decided("make > x.patch && git apply --cached x.patch", workspace)
    assert (found.decision, [part.records for part in found.parts]) == ("allow", [False, True])


def test_a_part_that_changes_the_work_tree_is_told_apart(workspace: Workspace) -> None:
    found = decided("git stash && make; git stash pop", workspace)
    assert (found.decision, len(found.parts), found.stores) == ("allow", 3, False)


@pytest.mark.parametrize(
    "command",
    [
        "make 2>&1 | tail && git add -A && sudo make",
        "git add -A && make; sudo make",
        "git add -A && make && curl x",
        "make && git push",
    ],
)
def test_a_part_that_must_ask_lets_the_whole_line_ask(command: str, workspace: Workspace) -> None:
    found = decided(command, workspace)
    assert (found.decision, found.parts) == ("ask", ())


DIVIDED = {
    "a && b": [("", "a"), ("&&", "b")],
    "a || b x; c | d\ne": [("", "a"), ("||", "b x"), (";", "c | d"), (";", "e")],
    "a && b > f 2>&1; (cd x; c)": [("", "a"), ("&&", "b > f 2>&1"), (";", "(cd x; c)")],
    'a -m "$(cat <<\'E\'\none && two\nE\n)" && b "$HOME"': [("", 'a -m "$(cat <<\'E\'\none && two\nE\n)"'), ("&&", 'b "$HOME"')],
    "cd x && a && b": [("", "cd x && a"), ("&&", "cd x && b")],
    "cd x; ! a || X=1 b": [("", "cd x && ! a"), ("||", "cd x && X=1 b")],
    "a && cd x": [("", "a"), ("&&", "cd x")],
    "a 2>&1 | b | c && d": [("", "a 2>&1 | b | c"), ("&&", "d")],
    "cd x && a 2>&1 | b || c && d": [("", "cd x && a 2>&1 | b"), ("||", "cd x && c"), ("&&", "cd x && d")],
    "a 2>&1 | b && c 2>&1 | d; e": [("", "a 2>&1 | b"), ("&&", "c 2>&1 | d"), (";", "e")],
    "a; cd x | b; c": [("", "a"), (";", "cd x | b"), (";", "c")],
    "a && cd x && b": [("", "a"), ("&&", "cd x && b")],
    "a; cd x && b; c": [("", "a"), (";", "cd x && b; c")],
    "a; b; ulimit -n 1; c": [("", "a"), (";", "b"), (";", "ulimit -n 1; c")],
    "'cd' x; a; b; cd y; c": [("", "'cd' x && a"), (";", "'cd' x && b"), (";", "'cd' x && cd y; c")],
}  # fmt: skip
WHOLE = """
a | a $x | a & b | a && b & | a && cd x && b; c | a || cd x && b | cd "$x" && a && b | cd x > f; a; b | export X=1; a | X=1; a | set -e; a | . x; a | command cd x; a
exit; a | exec a; b | trap a EXIT; b | shopt -s x; a | alias a=b; a | a; echo $? | a; echo $_ | a; b $$ | a; b ${PIPESTATUS[0]} | a; b $OLDPWD
a ${x:=y}; b $x | a ${x?}; b | a $((x=1)); b $x | f() { a; }; f | if a; then b; fi; c | for x in a; do b; done; c | { a; b; }; c | $x a; b
a && b <<E\nx\nE | \\cd x; \\cd y; a
""".strip()


@pytest.mark.parametrize("text", DIVIDED)
def test_a_line_is_divided_at_its_operators(text: str) -> None:
    assert [(each.joint, each.text) for each in segments(text)] == DIVIDED[text]


@pytest.mark.parametrize(
    "text", [each.strip() for line in WHOLE.split("\n") for each in line.replace("\\n", "\n").split(" | ")]
)
def test_a_line_that_needs_one_shell_is_not_divided(text: str) -> None:
    assert segments(text) == ()
