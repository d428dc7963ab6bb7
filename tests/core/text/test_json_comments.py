"""JSON with comments and commas at the end is read as its editors mean it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcli.core.text.json_comments import without_comments
from tests.tables import each_row


@each_row(
    ("text", "value"),
    [
        ('{"a": 1} // the end', {"a": 1}),
        ('{/* one\ntwo */"a": 1}', {"a": 1}),
        ('{"a": "http://x", "b": "/* no */"}', {"a": "http://x", "b": "/* no */"}),
        ('{"a": "\\"// no", "b": [1, 2,], }', {"a": '"// no', "b": [1, 2]}),
        ('{"a": ",]", }', {"a": ",]"}),
        ("[1, // one\n 2, // two\n]", [1, 2]),
        ("[1/**/,2]", [1, 2]),
    ],
)
def test_comments_and_last_commas_are_left_out_and_texts_stay(text: str, value: Any) -> None:
    assert json.loads(without_comments(text)) == value


def test_an_error_is_on_the_line_where_it_was() -> None:
    text = '{\n// one\n/* two\nthree */\n"a": 1,\n"b" 2\n}'
    plain = without_comments(text)
    assert plain.count("\n") == text.count("\n")
    with pytest.raises(json.JSONDecodeError) as error:
        json.loads(plain)
    assert error.value.lineno == 6


def test_a_comment_parts_what_stands_on_both_sides() -> None:
    assert without_comments("1/* */2") == "1 2"
