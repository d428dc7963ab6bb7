"""Redaction of whole sessions: as quick as it is, it takes out the same as `redact`."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.text.secrets import POSSIBLE, redact
from agentcli.sessions.exporting.redactor import Redactor, search
from tests.core.text.test_secrets import BODY, SECRETS

SAMPLES = (
    *SECRETS,
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY} cut off",
    f"Proxy-Authorization:\x1c{BODY}",
    f"Bearer {BODY}",
    f"https://host/?sig={BODY}",
    "postgres://admin:pa55word@db/x",
    "credentials\u00bd\x1f= abcd1234",
    "Api_Key : 'abcd1234'",
    "jane.doe+x@example.co.uk",
    "4111 1111 1111 1111",
    "\u0664\u0661" + "\u0661" * 14,
)
NAMES = ("password", "SECRET", "api_key", "private-key", "-token", "_pass", "credentials", "Bearer", "basic", "Cookie")
ODD = ("ap\u0130_\u212aey", "credent\u0131als", "pa\u017f\u017fwd", "ba\u017f\u0131c", "\u0664", "\u00bd", "e\u0301")
BETWEEN = (
    "=",
    ":",
    "::",
    ": ",
    "?",
    "&",
    "token=",
    "://",
    "@",
    "u:",
    "h.org",
    "-",
    "_",
    '"',
    "'",
    "[redacted secret]",
    "{",
)
SPACES = (" ", "\n", "\t", "\x1c", "\x1f", "\x85", "\xa0", "\u2003", "")
REST = (
    "str",
    "hunter2!",
    "a1b2c3d4e5f6",
    "abcdefghijklmnop",
    "4111 1111 1111 1111",
    "5500-0055",
    "…",
    "\ud800",
    "\U0001f511",
)
ESCAPED = ("\\", '\\"', "\\n", "\\u003d", "\x00", "\x08", "\x0b", "\r", "\x7f", "\u2028")
PIECES = (*SAMPLES, *NAMES, *ODD, *BETWEEN, *SPACES, *REST, *ESCAPED)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


@pytest.mark.full
@settings(max_examples=150)
@given(TEXTS)
def test_nothing_is_missed_that_a_text_by_itself_would_lose(text: str) -> None:
    redactor = Redactor(("hunter2!",))
    for whole in (text, f"{'x ' * 60}{text}"):
        assert redactor(whole) == redact(whole, ("hunter2!",))


def test_without_the_engine_everything_is_searched_in_the_slow_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_core", None)
    assert search.__wrapped__(POSSIBLE, True)("harmless")
    assert not search.__wrapped__(POSSIBLE, False)("harmless")


def test_equal_texts_that_may_hold_a_secret_are_searched_by_each_pattern_once_and_counted_each_time() -> None:
    redactor = Redactor()
    text = f"{'x ' * 60}{SAMPLES[0]}"
    assert {redactor(text) for _ in range(5)} == {redact(text)}
    redactor(f"{text}{'x ' * 20_000}")
    assert (redactor.changed, redactor._suspects.cache_info().misses) == (6, 1)
