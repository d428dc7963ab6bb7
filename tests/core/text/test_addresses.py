from __future__ import annotations

import pytest

from agentcli.core.text.addresses import BARE, honest, target, trimmed
from tests.tables import each_row


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
