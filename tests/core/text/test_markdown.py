from __future__ import annotations

from collections.abc import Iterator

import pytest
from markdown_it.token import Token

from agentcli.core.text.markdown import ADDRESS, BARE, honest, parser, target, trimmed, words
from tests.tables import each_row


def inline(text: str) -> Iterator[Token]:
    return (child for token in parser().parse(text) for child in token.children or ())


def links(text: str) -> list[tuple[str, str]]:
    return [(str(each.attrs["href"]), each.markup) for each in inline(text) if each.type == "link_open"]


def test_a_bare_address_is_a_link_without_the_marks_of_its_sentence() -> None:
    assert links("See (https://x.org/a_(b)), **https://y.org**.") == [
        ("https://x.org/a_(b)", ADDRESS),
        ("https://y.org", ADDRESS),
    ]


def test_an_address_in_a_link_or_in_code_is_none_of_its_own() -> None:
    assert links("[at https://x.org](https://y.org) `https://z.org`") == [("https://y.org", "")]


def test_an_item_of_a_task_list_has_its_state_instead_of_a_box() -> None:
    tokens = parser().parse("- [x] read\n- [ ] *run*\n- [y] other\n")
    assert [each.meta.get("done") for each in tokens if each.type == "list_item_open"] == [True, False, None]
    assert [each.content for each in inline("- [x] read\n")] == ["read"]


def test_a_break_written_as_a_tag_is_a_break() -> None:
    assert [each.type for each in inline("| a<br/>b |\n|---|\n| c |")] == ["text", "hardbreak", "text", "text"]


def test_words_have_no_markup() -> None:
    text = "# Fixed\n\nI **changed** `app.py`, see [the docs](https://x.org).\n\n- [x] done\n\n```py\nx = 1\n```\n"
    assert words(text) == "Fixed I changed app.py , see the docs . done x = 1"


@pytest.mark.parametrize("url", ["https://example.org/a?b=c#d", "http://[::1]:80/", "file:///tmp/a%20b.py"])
def test_web_and_file_addresses_may_be_links(url: str) -> None:
    assert target(url) == url


@each_row(
    "url",
    ["javascript:alert(1)", "https://x.org/\x1b\\", "https://x.org/\x07", "https://x.org/ü", "ssh://x", "https://", "file://host/x", "a.py",
     "https://x.org/" + "a" * 3000, "https://x.org/a b"],
)  # fmt: skip
def test_nothing_else_may(url: str) -> None:
    assert target(url) == ""


def test_marks_of_the_sentence_do_not_belong_to_the_address() -> None:
    text = "(see https://x.org/a_(b), or https://y.org/c?d=e!)."
    assert [trimmed(match[0]) for match in BARE.finditer(text)] == ["https://x.org/a_(b)", "https://y.org/c?d=e"]


def test_words_that_name_another_host_are_not_honest() -> None:
    assert honest("the docs", "https://example.org/")
    assert honest("example.org/docs", "https://example.org/docs")
    assert not honest("https://bank.example", "https://evil.example/")
    assert not honest("bank.example", "file:///tmp/x")
