"""HTML as plain markup: the same to read, and in one pass, whatever is never closed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.tools.lib.pages import markdown_of, plain_markup
from tests.growth import growth
from tests.sampling import sampled

PIECES = (
    "<!--", "<!--x-", "<a ", "<a b=", "<a href='", '<a "', "<a /", "<a a=a ", "<", "</", "<?", "<!", "<![", "<![CDATA[", "<scr", "<b>", "<div>",
    "<ul><li>", "<table><tr><td>", "<pre> ", "<blockquote>", "&am", "<pre>\n", "<textarea>", "'", '"', "=", ">", " ", "\n", "x", "</a>", "-->",
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("piece", sampled(PIECES, 3))
def test_the_time_grows_with_the_page_and_not_faster(piece: str) -> None:
    assert growth(markdown_of, lambda size: piece * (size // len(piece)), 12_000) < 3.2


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_page_is_converted(page: str) -> None:
    assert isinstance(markdown_of(page), str)
    assert plain_markup(plain_markup(page)) == plain_markup(page)


def test_a_page_reads_as_before() -> None:
    page = (
        "<h1 class='x'>A</h1><p>1 < 2 <a href='/x?a=1&amp;b=\"2\"' title=\"a > b\">this</a><!-- <b>no</b> --> <br/>z"
        "<ol start=3><li>k</ol><table><tr><td colspan='2'>q</td></tr></table><?php no ?><![CDATA[no]]><p>end"
    )
    text = markdown_of(page)
    assert text.startswith('# A\n\n1 < 2 [this](/x?a=1&b="2" "a > b")')
    assert "3. k" in text
    assert text.endswith("end")
    assert "no" not in text


def test_what_is_never_closed_takes_the_rest_with_it() -> None:
    assert markdown_of("<p>before</p><!-- rest <p>x") == "before"
    assert markdown_of("<p>before</p><a href='x") == "before"
