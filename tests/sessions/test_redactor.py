"""Redaction of whole sessions: as quick as it is, it takes out the same as `redact`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.text.secrets import redact
from agentcli.sessions.exporting.redactor import Redactor, _matches
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
PIECES = (*SAMPLES, *NAMES, *ODD, *BETWEEN, *SPACES, *REST)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_nothing_is_missed_that_a_text_by_itself_would_lose(text: str) -> None:
    redactor = Redactor(("hunter2!",))
    for whole in (text, f"{'x ' * 60}{text}"):
        assert redactor(whole) == redact(whole, ("hunter2!",))


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("around", ["{}", "\n{}\n", "\ud800 {}", "\u00e9\u0301{}", "\u4e2d{}\u4e2d"])
def test_each_kind_of_secret_is_taken_out_wherever_it_stands(sample: str, around: str) -> None:
    text = around.format(sample)
    redactor = Redactor()
    assert redactor(text) == redact(text)
    assert redactor.changed == (redact(text) != text)


def test_an_ordinary_text_is_not_searched_by_each_pattern() -> None:
    assert not _matches()("def area(width: float) -> float:\n    return width**2  # see https://host/page?id=1\n")
