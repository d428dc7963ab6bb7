"""A list of a record is of one kind throughout, or the record is damaged."""

from typing import Any

import pytest

from agentcli.core.codec.fields import items


@pytest.mark.parametrize(
    ("value", "kind"),
    [([1, True], int), ([1, 2.0], int), ([1, None], int), (["a", 1], str), ([{}, []], dict), ("ab", str)],
)
def test_a_list_with_anything_of_another_kind_is_refused(value: Any, kind: type) -> None:
    with pytest.raises(TypeError, match="names is"):
        items({"names": value}, "names", kind)


@pytest.mark.parametrize(("value", "kind"), [([1, 2], int), (["a"], str), ([{}], dict), ([], dict)])
def test_a_list_of_one_kind_is_taken(value: Any, kind: type) -> None:
    assert items({"names": value}, "names", kind) == tuple(value)


def test_a_list_that_is_missing_is_the_default_or_refused() -> None:
    assert items({}, "names", str) == items({"names": None}, "names", str) == ()
    with pytest.raises(KeyError, match="names"):
        items({}, "names", str, None)
    with pytest.raises(TypeError, match="names is None"):
        items({"names": None}, "names", str, None)
