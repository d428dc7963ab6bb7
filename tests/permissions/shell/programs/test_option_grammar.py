"""The notation of options and operands: what it accepts, and the reason for all else."""

from __future__ import annotations

import pytest

from agentcli.permissions.shell.programs.option_grammar import (
    Found,
    Shape,
    awk_only_prints,
    fit,
    jq_only_reads,
    sed_only_prints,
    yq_only_reads,
)
from tests.tables import each_row

HEAD = Shape("-qv -n:number -NUM --lines=number --color[=word] --quiet --arg=pair", "path*")


@each_row(
    ("arguments", "found"),
    [
        ("", []),
        ("-qv a b", [("option", "-q"), ("option", "-v"), ("path", "a"), ("path", "b")]),
        ("-n5 a", [("option", "-n"), ("number", "5"), ("path", "a")]),
        ("-qn 5", [("option", "-q"), ("option", "-n"), ("number", "5")]),
        ("-5 a", [("path", "a")]),
        ("--lines=5", [("option", "--lines"), ("number", "5")]),
        ("--lines 5", [("option", "--lines"), ("number", "5")]),
        ("--color", [("option", "--color")]),
        ("--color=never", [("option", "--color"), ("word", "never")]),
        ("--color never", [("option", "--color"), ("path", "never")]),
        ("--arg name value", [("option", "--arg"), ("pair", "value")]),
        ("- a", [("path", "-"), ("path", "a")]),
        ("-- -q", [("option", "--"), ("behind", "-q"), ("path", "-q")]),
    ],
)
def test_arguments_that_fit_are_returned_by_their_kinds(arguments: str, found: Found) -> None:
    assert fit((HEAD,), arguments.split()) == (HEAD, found)


@each_row(
    ("arguments", "why"),
    [
        ("-x", "-x may change files"),
        ("-qx", "-x may change files"),
        ("-n", "-n has no value"),
        ("-n x", "'x' is not known to only read as -n"),
        ("--line=5", "--line may change files"),
        ("--lines", "--lines has no value"),
        ("--quiet=yes", "--quiet may change files"),
        ("--arg=name value", "--arg has no value"),
        ("--arg name", "--arg has no value"),
    ],
)
def test_anything_else_has_a_reason(arguments: str, why: str) -> None:
    assert fit((HEAD,), arguments.split()) == why


@each_row(
    ("operands", "arguments", "why"),
    [
        ("=list|show path", "list a", ""),
        ("=list|show path", "drop a", "'drop' is not known to only read as operand"),
        ("=list|show path", "show", "an operand is missing"),
        ("=list|show path", "-q list a", "list|show must come first"),
        ("number word?", "5", ""),
        ("number word?", "5 a", ""),
        ("number word?", "5 a b", "'b' is one operand too many to only read"),
        ("path*", "", ""),
        ("", "a", "'a' is one operand too many to only read"),
    ],
)
def test_operands_are_kinds_in_order(operands: str, arguments: str, why: str) -> None:
    found = fit((Shape("-q", operands),), arguments.split())
    assert (found if isinstance(found, str) else "") == why


@each_row(
    ("shape", "arguments", "fits"),
    [
        (Shape("-lv", "name*", needs="-v"), "-v x", True),
        (Shape("-lv", "name*", needs="-v"), "-l x", False),
        (Shape("-lv", "name*", needs="-v"), "x -v", False),
        (Shape("-r", "path*", manner="first"), "-r a", True),
        (Shape("-r", "path*", manner="first"), "a -r", False),
        (Shape("-ab", manner="single"), "-a -b", True),
        (Shape("-ab", manner="single"), "-ab", False),
        (Shape("-an:number", manner="apart"), "-a -n 5", True),
        (Shape("-an:number", manner="apart"), "-an5", False),
    ],
)
def test_a_shape_says_how_its_program_reads_options(shape: Shape, arguments: str, fits: bool) -> None:
    assert (not isinstance(fit((shape,), arguments.split()), str)) is fits


def test_the_first_shape_that_fits_is_taken_and_the_first_reason_told() -> None:
    shapes = Shape("-a"), Shape("-b", "path")
    assert fit(shapes, ["-b", "x"]) == (shapes[1], [("option", "-b"), ("path", "x")])
    assert fit(shapes, ["-c"]) == "-c may change files"


SCRIPTS = {
    sed_only_prints: ("5p", "1,10p;q", "s/a/b/g", "/x/,$d", "$!N;P;D", "y/ab/cd/"),
    awk_only_prints: ("{print $1}", "NR==5", "{if (a > b) print length($1)}", "$1 >= 5 {print}"),
    jq_only_reads: (".a.b", ".[] | select(.env == 1)", "keys"),
    yq_only_reads: (".a", ".env"),
}
ACTING = {
    sed_only_prints: ("", "w out", "s/a/b/w out", "s/a/b/e", "e date", "1r file", "p; w x"),
    awk_only_prints: ("", '{print > "f"}', '{print | "sh"}', '{system("x")}', '{getline < "f"}', "{f(1)}", "print $1"),
    jq_only_reads: ("env", "$ENV.HOME", 'import "a" as a; .', "$__prog_args"),
    yq_only_reads: ('load("x")', "strenv(A)", 'eval("1")'),
}


@pytest.mark.parametrize("judge", SCRIPTS)
def test_programs_for_sed_awk_jq_and_yq_only_read_or_ask(judge: object) -> None:
    assert callable(judge)
    assert [text for text in SCRIPTS[judge] if not judge(text)] == []
    assert [text for text in ACTING[judge] if judge(text)] == []
