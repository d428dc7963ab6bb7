"""Patches in the format of OpenAI's models: several files at once, all of it or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.subagent_result import FILES
from agentcli.core.tool import CallScope
from agentcli.tools.apply_patch import title
from tests.tools.conftest import Call
from tests.tools.test_edit import put
from tests.tools.workplace import Bench


def patch(*lines: str) -> str:
    """The lines between the first and the last line of a patch."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def test_a_patch_adds_changes_moves_and_deletes_files(call: Call, ctx: Bench) -> None:
    put(ctx, "a.py", b"def f():\n    x = 1\n    return x\n\ndef g():\n    x = 1\n    return x\n")
    put(ctx, "old.txt", b"one\ntwo\n")
    put(ctx, "gone.txt", b"bye\n")
    text = patch(
        "*** Add File: new/b.py",
        "+print('b')",
        "+",
        "*** Update File: a.py",
        "@@ def g():",
        "-    x = 1",
        "+    x = 2",
        "     return x",
        "*** Update File: old.txt",
        "*** Move to: kept/new.txt",
        "@@",
        " one",
        "-two",
        "+three",
        "*** Delete File: gone.txt",
    )
    outcome = call("apply_patch", input=text)
    assert outcome.status == "success", outcome.output
    assert (ctx.cwd / "new/b.py").read_text() == "print('b')\n"
    assert (ctx.cwd / "a.py").read_text().endswith("def g():\n    x = 2\n    return x\n")
    assert (ctx.cwd / "a.py").read_text().startswith("def f():\n    x = 1\n")
    assert (ctx.cwd / "kept/new.txt").read_text() == "one\nthree\n"
    assert not (ctx.cwd / "old.txt").exists()
    assert not (ctx.cwd / "gone.txt").exists()
    assert set(outcome.output.splitlines()) == {
        "Created new/b.py",
        "Edited a.py: line 6",
        "Moved old.txt to kept/new.txt",
        "Deleted gone.txt",
    }
    rows = {Path(row["path"]).name: row for row in outcome.metadata[FILES]}
    assert (rows["gone.txt"]["deleted"], rows["b.py"]["created"], rows["a.py"]["additions"]) == (True, True, 1)
    assert "+    x = 2" in outcome.metadata["diff"]


def test_a_hunk_that_does_not_fit_is_shown_beside_the_nearest_lines(call: Call, ctx: Bench) -> None:
    put(ctx, "a.py", b"first = 1\nsecond = 2\n")
    told = call("apply_patch", input=patch("*** Update File: a.py", "@@", "-secnd = 2", "+second = 3")).output
    assert "Nearest: lines 1-2 (- your lines, + the file):\n  first = 1\n- secnd = 2\n+ second = 2" in told


def test_one_changed_file_is_reported_as_an_edit(call: Call, ctx: Bench) -> None:
    put(ctx, "a.py", b"a\nb\n")
    outcome = call("apply_patch", input=patch("*** Update File: a.py", "@@", "-a", "+A"))
    assert (outcome.metadata["path"], outcome.metadata["additions"]) == (str(ctx.cwd / "a.py"), 1)
    assert call("edit", file_path="a.py", old_string="b", new_string="B").status == "success"  # it counts as seen


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (("*** Update File: b.py", "@@", "-nothing like it", "+y"), "these lines are not in b.py"),
        (("*** Update File: missing.py", "@@", "-a", "+b"), "missing.py does not exist"),
        (("*** Delete File: missing.py",), "missing.py does not exist"),
        (("*** Update File: b.py", "@@", "y"), "a line of a change begins with"),
        (("*** Add File: c.py", "x"), "begins with '+'"),
        (("*** Add File: ../../c.py", "+x"), "outside the workspace"),
        (("*** Update File: b.py", "@@", " b"), "does not change b.py"),
        (("*** Add File: b.py/c.py", "+x"), "b.py"),
        ((), "changes no file"),
    ],
)
def test_one_impossible_part_leaves_all_files_as_they_are(
    call: Call, ctx: Bench, broken: tuple[str, ...], why: str
) -> None:
    file, other = put(ctx, "a.py", b"a\n"), put(ctx, "b.py", b"b\n")
    good = ("*** Update File: a.py", "@@", "-a", "+A") if broken else ()
    outcome = call("apply_patch", input=patch("*** Add File: new.py", "+n", *good, *broken) if broken else patch())
    assert (outcome.status, why in outcome.output) == ("error", True), outcome.output
    assert (file.read_bytes(), other.read_bytes()) == (b"a\n", b"b\n")
    assert not (ctx.cwd / "new.py").exists()
    assert not (ctx.cwd / "c.py").exists()


@pytest.mark.parametrize(
    ("before", "hunk", "after"),
    [
        ("a  \nb\n", ("@@", " a", "-b", "+B"), "a  \nB\n"),
        ("a\r\nb\r\n", ("@@", " a", "-b", "+B"), "a\r\nB\r\n"),
        ("  a\n  b\n", ("@@", " a", "-b", "+B"), "  a\n  B\n"),
        ("say “a”\nb\n", ("@@", ' say "a"', "-b", "+B"), "say “a”\nB\n"),
        ("a\nb", ("@@", " a", "-b", "+B"), "a\nB"),
        ("a\nb\n", ("@@", "+c"), "a\nb\nc\n"),
        ("a\nb\na\n", ("@@", "-a", "+A", "*** End of File"), "a\nb\nA\n"),
        ("a\nb\na\nc\n", ("@@ b", "-a", "+A"), "a\nb\nA\nc\n"),
        ("a\nb\na\nb\n", ("@@", "-a", "+1", "@@", "-a", "+2"), "1\nb\n2\nb\n"),
        ("a\nb\nc\n", ("@@", "-c", "+C", "@@", "-a", "+A"), "A\nb\nC\n"),
        ("xa\na\n", ("@@", "-a", "+A"), "xa\nA\n"),
        ("a\nb\n", ("@@ -1,2 +1,2 @@", "-a", "+A", " b", ""), "A\nb\n"),
        ("a\n  b\n   c\nd\n", (" a", "    b", "   c", "-d", "+D"), "a\n  b\n   c\nD\n"),
        ("a\n", (" a", "+b", "+"), "a\nb\n"),
        ("a\n\n", ("-a", "+b", " "), "b\n\n"),
        ("a\n\nb\n", (" a", "", "-b", "+B"), "a\n\nB\n"),
    ],
)
def test_a_hunk_finds_its_place_as_an_edit_does_and_keeps_the_rest(
    call: Call, ctx: Bench, before: str, hunk: tuple[str, ...], after: str
) -> None:
    file = put(ctx, "a.txt", before.encode())
    outcome = call("apply_patch", input=patch("*** Update File: a.txt", *hunk))
    assert (outcome.status, file.read_bytes().decode()) == ("success", after), outcome.output


def test_a_file_that_nobody_read_is_changed_only_at_a_proven_place(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.py").write_text("a\nb\na\n")
    assert "has not been read" in call("apply_patch", input=patch("*** Update File: a.py", "@@", "-a", "+A")).output
    assert call("apply_patch", input=patch("*** Update File: a.py", "@@", "-b", "+B")).status == "success"
    assert call("apply_patch", input=patch("*** Add File: a.py", "+x")).status == "error"
    assert (ctx.cwd / "a.py").read_text() == "a\nB\na\n"


def test_a_patch_touches_only_the_paths_that_were_allowed(call: Call, ctx: Bench) -> None:
    put(ctx, "a.py", b"a\n")
    ctx.scope = CallScope((ctx.cwd / "a.py",))
    outcome = call("apply_patch", input=patch("*** Delete File: a.py", "*** Add File: b.py", "+b"))
    there = [(ctx.cwd / name).exists() for name in ("a.py", "b.py")]
    assert (outcome.status, there) == ("error", [True, False])


def test_a_title_names_the_first_files() -> None:
    text = patch(*(f"*** Delete File: {name}" for name in "abcde"))
    assert title({"input": text}) == "Edit a, b, c and 2 more"
