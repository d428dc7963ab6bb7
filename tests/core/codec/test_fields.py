"""A list of a record is of one kind throughout, or the record is damaged."""

import math
from typing import Any

import pytest

from agentcli.core.codec.fields import items, number, table, text, whole
from tests.tables import each_row


@each_row(
    ("value", "kind"),
    [([1, True], int), ([1, 2.0], int), ([1, None], int), (["a", 1], str), ([{}, []], dict), ("ab", str)],
)
def test_a_list_with_anything_of_another_kind_is_refused(value: Any, kind: type) -> None:
    with pytest.raises(TypeError, match="names is"):
        items({"names": value}, "names", kind)


@each_row(("value", "kind"), [([1, 2], int), (["a"], str), ([{}], dict), ([], dict)])
def test_a_list_of_one_kind_is_taken(value: Any, kind: type) -> None:
    assert items({"names": value}, "names", kind) == tuple(value)


def test_a_list_that_is_missing_is_the_default_or_refused() -> None:
    assert items({}, "names", str) == items({"names": None}, "names", str) == ()
    with pytest.raises(KeyError, match="names"):
        items({}, "names", str, None)
    with pytest.raises(TypeError, match="names is None"):
        items({"names": None}, "names", str, None)


def test_a_field_of_the_right_type_is_taken_and_a_missing_one_is_the_default() -> None:
    raw = {"name": "x", "none": None, "count": 3, "share": 4.0}
    assert (text(raw, "name"), text(raw, "none"), text(raw, "gone"), text(raw, "gone", "y")) == ("x", "", "", "y")
    assert (whole(raw, "count"), whole(raw, "share"), whole(raw, "none"), whole(raw, "gone", 7)) == (3, 4, 0, 7)
    assert (number(raw, "count"), number(raw, "share"), number(raw, "gone")) == (3, 4.0, None)


@each_row("value", [True, "3", math.nan, math.inf, [], {}])
def test_what_is_no_number_is_refused_by_its_name(value: object) -> None:
    for read in (whole, number):
        with pytest.raises(TypeError, match="count is "):
            read({"count": value}, "count")


def test_a_field_without_default_must_be_there() -> None:
    for read in (text, whole):
        with pytest.raises(KeyError, match="gone"):
            read({}, "gone", None)
        with pytest.raises(TypeError, match="none is None"):
            read({"none": None}, "none", None)
    with pytest.raises(TypeError, match="name is 5"):
        text({"name": 5}, "name")


def test_an_object_is_taken_and_a_missing_one_is_empty() -> None:
    raw = {"full": {"a": 1}, "none": None, "list": [], "zero": 0}
    assert (table(raw, "full"), table(raw, "none"), table(raw, "gone")) == ({"a": 1}, {}, {})
    for name, why in (("list", r"list is \[\]"), ("zero", "zero is 0")):
        with pytest.raises(TypeError, match=why):
            table(raw, name)


def test_an_odd_value_is_told_in_forty_characters() -> None:
    long = ["x" * 60]
    for read in (text, whole, number, table):
        with pytest.raises(TypeError) as refused:
            read({"name": long}, "name")
        assert str(refused.value) == f"name is {repr(long)[:40]}"
