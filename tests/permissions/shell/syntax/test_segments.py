"""A line is divided only where each piece means the same in a shell of its own."""

from __future__ import annotations

import pytest

from agentcli.permissions.shell.syntax.segments import segments

DIVIDED = {
    "a && b": [("", "a"), ("&&", "b")],
    "a || b x; c | d\ne": [("", "a"), ("||", "b x"), (";", "c | d"), (";", "e")],
    "a && b > f 2>&1; (cd x; c)": [("", "a"), ("&&", "b > f 2>&1"), (";", "(cd x; c)")],
    'a -m "$(cat <<\'E\'\none && two\nE\n)" && b "$HOME"': [("", 'a -m "$(cat <<\'E\'\none && two\nE\n)"'), ("&&", 'b "$HOME"')],
    "cd x && a && b": [("", "cd x && a"), ("&&", "cd x && b")],
    "cd x; ! a || X=1 b": [("", "cd x && ! a"), ("||", "cd x && X=1 b")],
    "a && cd x": [("", "a"), ("&&", "cd x")],
    "a; cd x | b; c": [("", "a"), (";", "cd x | b"), (";", "c")],
}  # fmt: skip
WHOLE = """
a | a $x | a & b | a && b & | a && cd x && b | cd "$x" && a && b | cd x > f; a; b | export X=1; a | X=1; a | set -e; a | . x; a | command cd x; a
exit; a | exec a; b | trap a EXIT; b | shopt -s x; a | alias a=b; a | a; echo $? | a; echo $_ | a; b $$ | a; b ${PIPESTATUS[0]} | a; b $OLDPWD
a ${x:=y}; b $x | a ${x?}; b | a $((x=1)); b $x | f() { a; }; f | if a; then b; fi; c | for x in a; do b; done; c | { a; b; }; c | $x a; b
a && b <<E\nx\nE | 'cd' x; a; b; cd y; c | \\cd x; \\cd y; a | a; b; ulimit -n 1; c
""".strip()


@pytest.mark.parametrize("text", DIVIDED)
def test_a_line_is_divided_at_its_operators(text: str) -> None:
    assert [(each.joint, each.text) for each in segments(text)] == DIVIDED[text]


@pytest.mark.parametrize(
    "text", [each.strip() for line in WHOLE.split("\n") for each in line.replace("\\n", "\n").split(" | ")]
)
def test_a_line_that_needs_one_shell_is_not_divided(text: str) -> None:
    assert segments(text) == ()
