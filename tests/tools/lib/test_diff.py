"""Diffs say exactly what changed: `patch` would agree."""

from __future__ import annotations

import shutil
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentcli.tools.lib.diff import unified

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-", "+ x"]), max_size=25)


# Equal lines on both sides of the change, which another alignment would find elsewhere; the last line has no newline.
MOVED = (list("aaaaaaab"), list("aaabaaab"), (False, False))


@pytest.mark.skipif(not shutil.which("patch"), reason="patch is not installed")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(*MOVED)
@given(before=LINES, after=LINES, ends=st.tuples(st.booleans(), st.booleans()))
def test_a_diff_applied_gives_the_new_text(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], ends: tuple[bool, bool]
) -> None:
    old, new = (
        "\n".join(lines) + "\n" * (end and bool(lines)) for lines, end in zip((before, after), ends, strict=True)
    )
    diff = unified(old, new, "file")
    if old == new:
        assert diff.text == ""
        return
    file = tmp_path_factory.mktemp("patch") / "file"
    file.write_text(old)
    done = subprocess.run(
        ["patch", "-p1", "--no-backup-if-mismatch", "-f"],
        cwd=file.parent,
        input=diff.text,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + diff.text
    assert (file.read_text() if file.exists() else "") == new


def test_lines_are_counted_and_a_new_file_comes_from_nothing() -> None:
    diff = unified("", "a\nb", "x/new.py", created=True)
    assert diff.text == "--- /dev/null\n+++ b/x/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    assert (diff.additions, diff.deletions) == (2, 0)


def test_a_huge_change_gives_a_bounded_diff_with_true_counts(tmp_path: Path) -> None:
    old = "".join(f"old {n}\n" for n in range(100_000))
    new = "".join(f"new {n}\n" for n in range(120_000))
    diff = unified(old, new, "big")
    assert (diff.additions, diff.deletions) == (120_000, 100_000)
    assert len(diff.text) < 201_000
    assert diff.text.endswith("more lines of this diff are left out\n")
    one = unified(old, old.replace("old 50000\n", "changed\n"), "big")
    assert one.text.count("\n") == 11
    assert (one.additions, one.deletions) == (1, 1)


@pytest.mark.parametrize("text", ["a line of the file\n" * 200_000, "word " * 800_000], ids=["lines", "one line"])
def test_the_diff_of_a_huge_new_file_takes_little_memory(text: str) -> None:
    tracemalloc.start()
    diff = unified("", text, "huge", created=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (diff.additions, diff.deletions) == (text.count("\n") or 1, 0)
    assert diff.text.endswith("more lines of this diff are left out\n")
    assert most < len(text)


def test_a_name_with_a_newline_forges_no_line_of_the_diff() -> None:
    diff = unified("old\n", "new\n", "a\n-old\n+mild")
    assert diff.text.split("\n")[:3] == [r"--- a/a\n-old\n+mild", r"+++ b/a\n-old\n+mild", "@@ -1 +1 @@"]
