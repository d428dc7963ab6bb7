"""Reading the JSON of a record file: quicker than the standard library, and never otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.codec.encode import dumps, loads
from tests.tables import each_row

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def outcome(read: Callable[[bytes], Any], data: bytes) -> Any:
    """The value that is read, or the error in words."""
    try:
        return read(data)
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.full
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.binary(max_size=3), st.integers(0, 200))
def test_every_file_is_read_as_by_the_standard_library(value: dict[str, Any], noise: bytes, at: int) -> None:
    whole = (dumps(value) + "\n").encode("utf-8")
    assert loads(whole) == value
    for data in (whole[:at], whole[:at] + noise + whole[at:], whole + noise, noise + whole, whole[:at] + b"}\n"):
        assert outcome(loads, data) == outcome(json.loads, data)


@each_row(
    "data",
    [
        b'\xef\xbb\xbf{"a": 1}\n',
        '{"a": "\u00e9"}\n'.encode("utf-16-le"),
        '{"a": "\u00e9"}\n'.encode("utf-16"),
        b'{"a": 1}  \n}\n',
        b'{"a": 1}\n\n}\n',
        b'{"a": "\xed\xa0\x80"}\n',
        b'{"a": NaN, "a": 2}\n',
        b"{}\n",
        b"}\n",
        b"{" * 100_000 + b"}\n",
        b"",
    ],
)
def test_odd_files_are_read_as_by_the_standard_library(data: bytes) -> None:
    assert repr(outcome(loads, data)) == repr(outcome(json.loads, data))
