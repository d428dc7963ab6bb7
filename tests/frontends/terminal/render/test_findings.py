"""Findings of a review as a list."""

from __future__ import annotations

from dataclasses import replace

from agentcli.frontends.run.findings import Finding
from agentcli.frontends.terminal.render.findings import rows
from agentcli.frontends.terminal.style import DARK, MUTE, Look
from agentcli.system.cells import width

FOUND = (Finding("high", "src/cart.py", 42, "The total ignores the count."), Finding("low", "a.py", 7, "A name."))


def test_findings_are_a_numbered_list_with_their_places() -> None:
    assert rows(FOUND, 80, Look(MUTE)) == [
        "",
        "2 findings: 1 high, 1 low · /review findings opens one",
        "1 high src/cart.py:42  The total ignores the count.",
        "2 low  a.py:7  A name.",
    ]


def test_in_a_narrow_window_the_text_stands_below_its_place() -> None:
    lines = rows(FOUND, 36, Look(MUTE))
    assert lines[1:4] == ["2 findings: 1 high, 1 low", "1 high src/cart.py:42", "  The total ignores the count."]
    assert all(width(line) <= 20 for line in rows(FOUND, 20, Look(DARK)))


def test_a_place_is_a_link_where_links_are_on() -> None:
    look = replace(Look(DARK), links=True, folder="/work shop")
    assert ";file:///work%20shop/src/cart.py#42\x1b\\" in rows(FOUND, 80, look)[2]
    assert "file:" not in rows(FOUND, 80, replace(look, links=False))[2]


def test_what_the_model_writes_reaches_no_terminal_as_a_sequence() -> None:
    assert "\x1b" not in "".join(rows([Finding("", "a\x1b]0;x\x07.py", 1, "b\x1b[2J")], 80, Look(MUTE)))
