"""Arguments with slips: mended if they have one reading, else kept word for word."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentcli.providers.arguments import call_of
from tests.tables import each_row

WHOLE = {"file_path": "a.py", "offset": 180, "limit": 220}


@each_row(
    ("text", "value", "slip"),
    [
        ('{"a": 1,}', {"a": 1}, "a comma before the end"),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}, "a comma before the end"),
        ('{"a": {"b": "c"}', {"a": {"b": "c"}}, "a missing bracket at the end"),
        ('{"a": [1', {"a": [1]}, "a missing bracket at the end"),
        ('{"a": 1,', {"a": 1}, "a missing bracket at the end"),
        ('{"a": "x\ny"}', {"a": "x\ny"}, "line breaks in strings"),
        ('{"file_path": "a.py", "offset": 180, 260, "limit": 220}', WHOLE, "a second number, 260, was left out"),
        ('{"a": 1}}', {"a": 1}, "a bracket too many"),
    ],
)
def test_a_slip_with_one_reading_is_mended_and_told(text: str, value: dict[str, Any], slip: str) -> None:
    call = call_of("c", "read", text)
    assert call is not None
    assert (dict(call.input), call.unreadable) == (value, "")
    assert len(call.remarks) == 1
    assert slip in call.remarks[0]


@each_row(
    ("text", "why"),
    [
        ('{"a": "cut off', "unterminated string starting at at character 7"),
        ('{"a" 1}', "expected ':' at character 6"),
        ('{"a": 1 "b": 2}', "expected ',' at character 9"),
        ('{"a": 1, , "b": 2}', "expected property name enclosed in double quotes"),
        ('{"a": }', "expected value at character 7"),
        ('{"a": [1, 2}', "expected ','"),
        ("{'a': 1}", "expected property name"),
        ("[1]", "not an object"),
        ("ls -a", "expected value at character 1"),
    ],
)
def test_anything_else_is_kept_with_the_place_and_the_text(text: str, why: str) -> None:
    call = call_of("c", "read", text)
    assert call is not None
    assert (dict(call.input), call.remarks) == ({"arguments": text}, ())
    assert why in call.unreadable
    assert call.unreadable.endswith(f"You sent: {text}")


def test_only_the_beginning_of_long_arguments_is_said_again() -> None:
    text = '{"content": "' + "x" * 9_000
    call = call_of("c", "write", text)
    assert call is not None
    assert f"You sent: {text[:200]}…" in call.unreadable
    assert "written in parts" in call.unreadable


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)))
def test_whole_arguments_are_read_as_they_are(value: dict[str, Any]) -> None:
    call = call_of("c", "read", json.dumps(value))
    assert call is not None
    assert (dict(call.input), call.remarks, call.unreadable) == (value, (), "")


@given(st.text())
def test_no_text_is_lost_or_raises(text: str) -> None:
    call = call_of("c", "read", text)
    assert call is not None
    assert call.unreadable == "" or dict(call.input) == {"arguments": text}
