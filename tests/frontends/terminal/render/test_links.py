from __future__ import annotations

from collections.abc import Mapping

import pytest

from agentcli.frontends.terminal.render.links import BARE, honest, known, target, trimmed
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


@each_row(
    ("environment", "expected"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4200"}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "VTE_VERSION": "7600"}, False),
        ({"TERM_PROGRAM": "iTerm.app", "NO_COLOR": "1"}, False),
    ],
)
def test_links_are_written_where_they_are_known_to_be_followed(environment: Mapping[str, str], expected: bool) -> None:
    assert known("auto", environment) is expected


def test_links_can_be_switched_on_and_off_but_not_past_no_color() -> None:
    assert known("always", {"TMUX": "x"})
    assert not known("never", {"TERM": "xterm-kitty"})
    assert not known("always", {"NO_COLOR": "1"})
