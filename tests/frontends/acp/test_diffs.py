"""Whole texts for the protocol's diffs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.frontends.acp.diffs import TEXT_CHARACTERS, FileText, patched, text_of
from agentcli.frontends.acp.tool_calls import diff_content, proposed_content
from agentcli.tools.lib.diff import unified

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "- d", "@@ -1 +1 @@", "\\ e"]), max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])])
)


@given(TEXTS, TEXTS)
def test_a_text_with_its_diff_applied_is_the_other_text(before: str, after: str) -> None:
    diff = unified(before, after, "f").text
    assert patched(before, diff) == after if diff else before == after


@pytest.mark.parametrize(
    "diff", ["--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "--- a\n+++ b\n@@ -9 +9 @@\n-a\n", "a\nb\nc\n"]
)
def test_a_diff_of_another_text_does_not_fit(diff: str) -> None:
    assert patched("a\n", diff) is None


def test_what_is_no_text_or_too_long_is_not_sent_whole(tmp_path: Path) -> None:
    long, binary = tmp_path / "long", tmp_path / "binary"
    long.write_text("x" * (TEXT_CHARACTERS + 1))
    binary.write_bytes(b"\xff\xfe\x00")
    assert not text_of(long).usable
    assert not text_of(binary).usable
    assert text_of(tmp_path / "none") == FileText()
    assert diff_content(long, text_of(long), FileText("y")) is None
    assert proposed_content(long, text_of(long), "+y").type == "content"


def test_a_new_file_has_no_old_text() -> None:
    content = proposed_content(Path("/f"), FileText(), unified("", "new\n", "f", created=True).text)
    assert (content.type, content.old_text, content.new_text) == ("diff", None, "new\n")  # type: ignore[union-attr]
