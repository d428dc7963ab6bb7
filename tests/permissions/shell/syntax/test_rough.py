"""Commands of a line that cannot be read as a whole."""

from __future__ import annotations

from agentcli.permissions.shell.syntax.parse import UNKNOWN
from agentcli.permissions.shell.syntax.rough import rough_commands
from tests.tables import each_row


@each_row(
    ("text", "commands"),
    [
        ("", []),
        (" ; ;; ", []),
        ("rm a", ["rm a"]),
        ("rm a; ls\nmake & cat b | wc && x || y", ["rm a", "ls", "make", "cat b", "wc", "x", "y"]),
        ("(rm a) (ls)", ["rm a", "ls"]),
        ("if rm a; then ls; else make; fi", ["rm a", "ls", "make", "fi"]),
        ("while ! time rm a; do ls; done", ["rm a", "ls", "done"]),
        ("if then", []),
        ("rm if", ["rm if"]),
        ("rm 'a b' \"c\"", ["rm 'a b' c"]),
        ("rm $a ${b}c `d`", [f"rm {UNKNOWN} {UNKNOWN}c {UNKNOWN}d{UNKNOWN}"]),
        ("make > a", ["make > a"]),
        ("make >> a x", ["make x > a"]),
        ("make 2> a", ["make 2 > a"]),
        ("make >| a", ["make > a"]),
        ("make &> a", ["make > a"]),
        ("make < a", ["make a"]),
        ("make > a > b", ["make > a b"]),
        ("> a", ["> a"]),
        ("> a; ls", ["> a", "ls"]),
        ("make > ; a", ["make", "a"]),
        ("make << a", ["make << a"]),
        ("rm 'a", ["rm a"]),
        ("rm 'a; ls > b", ["rm a ls b"]),
        ("# rm a", ["# rm a"]),
    ],
)
def test_a_line_is_split_at_blanks_and_operators(text: str, commands: list[str]) -> None:
    found = list(rough_commands(text))
    told = [
        " ".join([*(f"'{word}'" if " " in word else word for word in words), *([">", *writes] if writes else [])])
        for words, writes in found
    ]
    assert told == commands
