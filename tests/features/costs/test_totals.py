"""Print totals over sessions: per model and day, or exact sums of a group."""

from __future__ import annotations

from agentcli.features.costs.totals import as_text
from tests.tables import each_row


@each_row("name", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
def test_no_name_becomes_a_formula(name: str) -> None:
    assert as_text(name) == f"'{name}"
    assert as_text("(replies)") == "(replies)"
    assert "\n" not in as_text("a\nb")
