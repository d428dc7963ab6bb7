"""Record files in this program's own form: whatever is recognised is encoded to the very same text again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.codec.encode import dumps, encode
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Record
from agentcli.sessions.exporting.own_form import body_in_own_form

BODIES = (
    Message("user", (Text('"quoted" \\ back\tslash\n \x1b[31m \x00 \x7f é \U0001f511'),), 1),
    Message(
        "assistant", (ToolCall("c", "t", {"a": [1, -2, True, None, {}], "b": 0.5}),), 1, "p", "m", Usage(1, 2), 0.000125
    ),
    ToolResult("c", "t", "success", "out", started=1763851234.1234567, ended=1763851235.0, metadata={"n": 1.25}),
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
NUMBERS = st.text(st.sampled_from("0123456789.-eE+"), min_size=1, max_size=22)


def stored(body: Body) -> str:
    return encode(Record(1, "id-1", "2026-01-01T00:00:00.000Z", "ab" * 32, body)).decode()


def with_field(written: str) -> str:
    return f'{stored(BODIES[0])[:-2]},"more":{written}}}\n'


def is_encoded_alike(text: str) -> bool:
    return dumps(json.loads(text)) + "\n" == text


@pytest.mark.parametrize("body", BODIES)
def test_what_this_program_writes_is_recognised(body: Body) -> None:
    text = stored(body)
    found = body_in_own_form(text)
    assert text.endswith(found)
    assert text.removesuffix(found).endswith(f'"prev":"{"ab" * 32}",')


@settings(max_examples=100)
@given(JSON, st.booleans(), st.booleans())
def test_what_is_recognised_is_encoded_to_the_same_text(value: Any, ascii_only: bool, spaced: bool) -> None:
    text = with_field(json.dumps(value, ensure_ascii=ascii_only, separators=(", ", ": ") if spaced else (",", ":")))
    assert not body_in_own_form(text) or is_encoded_alike(text)


@settings(max_examples=150)
@given(NUMBERS)
def test_a_number_that_could_be_written_in_another_way_is_refused(number: str) -> None:
    text = with_field(number)
    try:
        json.loads(text)
    except ValueError:
        return
    assert not body_in_own_form(text) or is_encoded_alike(text)


@pytest.mark.parametrize(
    "written",
    [
        *("-0", "1.50", "1e5", "1E5", "0.00001", "123456789.1234567", "1.00", "NaN", "10000000000000000000"),
        *(r'"\/"', r'"\u00e9"', r'"\u0041"', r'"\u001B"', r'"\u000a"', r'"\ud800"', '" "\n', "[1, 2]"),
    ],
)
def test_another_form_is_refused(written: str) -> None:
    assert not body_in_own_form(with_field(written))


@pytest.mark.parametrize("start", ["1763851234.12345678901", "1763851234.10", "01.5"])
def test_the_times_of_a_result_are_looked_at_too(start: str) -> None:
    assert not body_in_own_form(stored(BODIES[2]).replace("1763851234.1234567", start))


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-1], lambda text: f" {text}", lambda text: text.replace('"id"', '"no"')]
)
def test_a_text_that_is_no_record_file_is_refused(damage: Any) -> None:
    assert not body_in_own_form(damage(stored(BODIES[0])))
