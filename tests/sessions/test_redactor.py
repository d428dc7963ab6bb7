"""Redaction of whole sessions: as quick as it is, it takes out the same as `redact`."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.codec.encode import dumps
from agentcli.core.message import Message, Text, ToolCall
from agentcli.core.text.secrets import POSSIBLE, redact
from agentcli.sessions.exporting import collect, export
from agentcli.sessions.exporting.redactor import Redactor, search
from agentcli.sessions.memory import MemorySession
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


@settings(max_examples=150)
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
    assert not search(POSSIBLE, True)(
        "def area(width: float) -> float:\n    return width**2  # see https://host/page?id=1\n"
    )


KNOWN = ("hunter2!", 'quoted "\u00e9\\', "two\nlines")


@settings(max_examples=150)
@given(TEXTS)
def test_json_passes_only_where_no_text_in_it_loses_anything(text: str) -> None:
    for whole in (text, f"{text}{KNOWN[1]}{text}", f"{KNOWN[2]}{text}"):
        written = json.dumps({"a": [whole], "b": "\u4e2d"}, ensure_ascii=False)
        assert redact(whole, KNOWN) == whole or not Redactor(KNOWN).passes(written)


@settings(max_examples=100)
@given(TEXTS)
def test_a_json_export_loses_the_same_as_each_text_by_itself(text: str) -> None:
    journal = MemorySession()
    for whole in (text, f"{text}{KNOWN[1]}{text}", f"{KNOWN[2]}{text}"):
        journal.append(Message("user", (Text(whole),), 1))
    records = json.loads(export(collect(journal), "json", secrets=KNOWN))["records"]
    found = [record["parts"][0]["text"] for record in records]
    assert found == [redact(record.body.parts[0].text, KNOWN) for record in journal.records()]


def cleaned(value: Any) -> Any:
    """The value with each of its texts redacted by itself; names stay."""
    if isinstance(value, str):
        return redact(value, KNOWN)
    if isinstance(value, list):
        return [cleaned(inner) for inner in value]
    return {name: cleaned(inner) for name, inner in value.items()}


@settings(max_examples=100)
@given(
    st.dictionaries(
        TEXTS.map(lambda name: f"-{name}"),
        st.recursive(
            TEXTS | st.sampled_from(KNOWN),
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(TEXTS.map(lambda name: f"-{name}"), inner, max_size=2)
            ),
            max_leaves=4,
        ),
        max_size=2,
    )
)
def test_texts_deep_in_the_input_of_a_call_lose_the_same(given: dict[str, Any]) -> None:
    journal = MemorySession()
    journal.append(Message("assistant", (ToolCall("c1", "write", given),), 1))
    records = json.loads(export(collect(journal), "json", secrets=KNOWN))["records"]
    assert records[0]["parts"][0]["input"] == cleaned(given)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("around", ["{}", "\n{}\n", '"{}"', "\u00e9\u0301{}"])
def test_json_with_a_secret_in_it_does_not_pass(sample: str, around: str) -> None:
    text = around.format(sample)
    assert redact(text) == text or not Redactor().passes(dumps([text]))


@pytest.mark.parametrize("text", ['"password"\n=\t"abcdefgh"', "Bearer\x1ca1b2c3d4e5f6", "api_key\x0b: abcd1234"])
def test_escapes_in_json_hide_no_secret(text: str) -> None:
    assert redact(text) != text
    assert not Redactor().passes(dumps([text]))


def test_ordinary_json_passes() -> None:
    assert Redactor(("hunter2!",)).passes(
        dumps({"text": 'def area():\n    return "\u00e9"  # see https://host/page?id=1\n'})
    )


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
