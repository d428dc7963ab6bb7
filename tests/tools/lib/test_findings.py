"""Findings in the outputs of linters, in the forms that they print, and which of them an edit brought."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from agentcli.tools.lib.findings import SHOWN, Finding, findings_in, line_shift, new_findings, report
from tests.tables import each_row

RUFF_FULL = """\
F401 [*] `os` imported but unused
 --> a.py:1:8
  |
1 | import os
  |        ^^
  |
help: Remove unused import: `os`

F821 Undefined name `xs`
 --> a.py:3:7
  |
3 | print(xs[1:2])
  |       ^^

Found 2 errors.
[*] 1 fixable with the `--fix` option.
"""
ESLINT = """\

/tmp/p/a.js
  1:7  error  'x' is assigned a value but never used  no-unused-vars
  2:1  error  'y' is not defined                      no-undef

✖ 2 problems (2 errors, 0 warnings)

"""
MYPY = 'a.py:3: error: Name "y" is not defined  [name-defined]\nFound 1 error in 1 file (checked 1 source file)\n'
TSC = "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n"
VET = "# example.com/m\n./a.go:5:2: undefined: x\n"


@each_row(
    ("output", "lines"),
    [
        (RUFF_FULL, [1, 3]),
        (ESLINT, [1, 2]),
        (MYPY, [3]),
        (TSC, [3]),
        (VET, [5]),
        ("All checks passed!\n", [0]),
        ("", []),
    ],
)
def test_the_findings_of_an_output_are_found_with_their_lines(output: str, lines: list[int]) -> None:
    assert [finding.line for finding in findings_in(output)] == lines


def test_a_finding_over_several_lines_stays_whole_and_colours_go() -> None:
    first, second = findings_in(RUFF_FULL.replace("F401", "\x1b[31mF401\x1b[0m"))
    assert first.text.startswith("F401 [*] `os` imported but unused\n --> a.py:1:8\n")
    assert second.text.startswith("F821")


def test_what_moved_is_not_new_and_what_came_is() -> None:
    before = findings_in("a.py:2:1: E1 bad\na.py:9:1: E1 bad\n")
    old = [*map(str, range(10))]
    new = [*old[:4], "x", "y", *old[4:]]
    after = findings_in("a.py:2:1: E1 bad\na.py:5:1: E1 bad\na.py:11:1: E1 bad\n")
    [found] = new_findings(before, after, line_shift(old, new))
    assert found.line == 5


def test_a_finding_in_a_changed_line_that_stays_is_not_new() -> None:
    before, after = findings_in("a.py:2:80: line too long (90 > 79)"), findings_in("a.py:2:80: line too long (95 > 79)")
    assert not new_findings(before, after, line_shift(["a", "b", "c"], ["a", "B", "c"]))


@given(some.lists(some.sampled_from("abc"), max_size=8), some.lists(some.sampled_from("abc"), max_size=8), some.data())
def test_a_line_that_is_outside_of_the_change_keeps_its_text(
    old: list[str], new: list[str], data: some.DataObject
) -> None:
    moved = line_shift(old, new)
    line = data.draw(some.integers(1, len(old) + 1))
    if line <= len(old) and (now := moved(line)) is not None:
        assert new[now - 1] == old[line - 1]


@given(some.lists(some.builds(Finding, some.sampled_from("ab"), some.integers(0, 5)), max_size=9))
def test_an_edit_that_changes_no_finding_brings_none(found: list[Finding]) -> None:
    assert not new_findings(found, found, lambda line: line)
    assert not new_findings(found, found, lambda _: None)
    assert new_findings([], found, lambda line: line) == found


def test_a_report_has_a_bound() -> None:
    text = report("lint a.py", [Finding(f"a.py:{n}:1: bad", n) for n in range(1, 1_001)])
    assert text.startswith("New findings of `lint a.py`:\na.py:1:1: bad\n")
    assert text.endswith(f"[{1_000 - SHOWN:,} more]")
    assert text.count("\n") == SHOWN + 1


def test_a_line_without_an_end_is_cut() -> None:
    [found] = findings_in("a.py:1:1: " + "x" * 1_000_000)
    assert len(found.text) == 400
