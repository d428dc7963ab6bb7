"""Values of words: all that the shell may put in place of a word, or that they are unknown."""

from __future__ import annotations

from collections.abc import Mapping

from agentcli.permissions.shell.syntax.parse import UNKNOWN, below, parser
from agentcli.permissions.shell.syntax.values import BELOW, MOST, UNSET, Values, merged, spread, word_values
from tests.tables import each_row

VARIABLES: Mapping[str, Values] = {
    "a": ("x", "y"),
    "file": ("src/main.py",),
    "empty": ("",),
    "braces": ("{p,q}",),
    UNSET: ("",),
}


@each_row(
    ("word", "values"),
    [
        ("plain", ("plain",)),
        ("'a b'", ("a b",)),
        ('"$a"', ("x", "y")),
        ("$a/$a", ("x/x", "x/y", "y/x", "y/y")),
        ('"one $a two"', ("one x two", "one y two")),
        ("$unset", ("",)),
        ("$RANDOM", (UNKNOWN,)),
        ("$1", (UNKNOWN,)),
        ("$?", ("4711",)),
        ("$((1 + 2))", ("4711",)),
        ("${#file}", ("4711",)),
        ("${!file}", (UNKNOWN,)),
        ("${empty:-z}", ("z",)),
        ("${a:-z}", ("x", "y")),
        ("${a:+z}", ("", "z")),
        ("${file%.py}", ("src/main",)),
        ("${file##*/}", ("main.py",)),
        ("${file#*/}", ("main.py",)),
        ("${file/a/b}", (UNKNOWN,)),
        ("$(pwd)", ("made",)),
        ("<(x)", ("/dev/fd/9",)),
        ("{b,c}.txt", ("b.txt", "c.txt")),
        ("a='{b,c}'", ("a={b,c}",)),
        ("{'b,c',d}", ("b,c", "d")),
        ('{"$a",z}', ("x", "z", "y")),
        ("$braces/x", ("{p,q}/x",)),
    ],
)
def test_a_word_has_the_values_that_the_shell_may_give_it(word: str, values: Values) -> None:
    tree = parser().parse(f"echo {word}".encode())
    command = next(node for node in below(tree.root_node) if node.type == "command")
    argument = command.children_by_field_name("argument")[0]
    assert word_values(argument, VARIABLES, lambda _: ("made",)) == values


@each_row(
    ("text", "values"),
    [
        ("a/{b,c}", ("a/b", "a/c")),
        ("{a,b}{1,2}", ("a1", "a2", "b1", "b2")),
        ("x{1..3}", (f"x{BELOW}",)),
        ("{}", ("{}",)),
        ("{a}", ("{a}",)),
    ],
)
def test_braces_are_expanded(text: str, values: Values) -> None:
    assert spread((text,)) == values


def test_too_many_values_are_unknown() -> None:
    most = tuple(map(str, range(MOST)))
    assert merged([*most, *most]) == most
    assert merged([*most, "one more"]) == (UNKNOWN,)
    assert spread(("{0,1}" * 7,)) == (UNKNOWN,)
