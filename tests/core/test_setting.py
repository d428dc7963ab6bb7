"""The declaration of a setting, and how a project tightens it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, get_args

import pytest

from agentcli.core import setting as ranges
from agentcli.core.setting import (
    ADDED,
    ENTRIES_ADDED,
    LIMIT,
    LOWER,
    NEVER,
    NOT_NEGATIVE,
    Access,
    Range,
    Tighter,
    access,
    setting,
    towards,
)
from tests.tables import each_row


@dataclass
class Declared:
    """Settings of each kind, and a constant."""

    free: int = setting(1, project="free")
    table: dict[str, int] = setting({"a": 1}, project="never")  # noqa: RUF009 - it returns a field
    tight: int = setting(3, project="tighten", tighter=LOWER)
    constant: int = 4


@each_row(
    ("tighter", "own", "given", "effective"),
    [
        (LOWER, 5, 3, 3), (LOWER, 3, 5, 3), (LOWER, 3, 0, 0),
        (LIMIT, 5, 3, 3), (LIMIT, 3, 5, 3), (LIMIT, 3, 0, 3), (LIMIT, 0, 3, 3), (LIMIT, 0, 0, 0),
        (ADDED, ("a", "b"), ("b", "c"), ("a", "b", "c")), (ADDED, (), ("a",), ("a",)), (ADDED, ("a",), (), ("a",)),
        (ENTRIES_ADDED, {"a": 1}, {"a": 2, "b": 3}, {"b": 3}), (ENTRIES_ADDED, {}, {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_a_project_makes_a_setting_stricter_and_never_looser(
    tighter: Tighter, own: Any, given: Any, effective: Any
) -> None:
    assert tighter.combine(own, given) == effective


@each_row(
    ("tighter", "words"),
    [(LOWER, "lower it"), (LIMIT, "lower it"), (ADDED, "add to it"), (ENTRIES_ADDED, "add to it")],
)
def test_the_permitted_change_is_told_in_words(tighter: Tighter, words: str) -> None:
    assert tighter.allowed == words


@each_row(
    ("steps", "own", "given", "effective", "words"),
    [
        (("off", "auto", "on"), "auto", "on", "on", 'change it towards "on"'),
        (("off", "auto", "on"), "auto", "off", "auto", 'change it towards "on"'),
        (("off", "auto", "on"), "off", "off", "off", 'change it towards "on"'),
        ((True, False), True, False, False, "change it towards false"),
        ((False, True), True, False, True, "change it towards true"),
        ((1, False), 1, 1, 1, "change it towards false"),
        ((False, 1), False, 1, 1, 'change it towards "1"'),
    ],
)
def test_a_setting_with_few_values_has_the_strictest_last(
    steps: tuple[Any, ...], own: Any, given: Any, effective: Any, words: str
) -> None:
    tighter = towards(*steps)
    assert (tighter.combine(own, given), tighter.allowed) == (effective, words)


def test_a_field_knows_what_a_project_may_do_with_it_and_a_constant_is_no_setting() -> None:
    found = {each.name: access(each) for each in fields(Declared)}
    assert found == {"free": Access("free"), "table": NEVER, "tight": Access("tighten", LOWER), "constant": None}


def test_every_instance_has_its_own_table() -> None:
    one, other = Declared(), Declared()
    assert (one.free, one.table, one.tight) == (1, {"a": 1}, 3)
    assert one.table is not other.table
    assert [each.default is MISSING for each in fields(Declared)] == [False, True, False, False]


@pytest.mark.parametrize(("project", "tighter"), [("free", LOWER), ("never", LOWER), ("tighten", None)])
def test_a_direction_stands_beside_a_setting_that_a_project_tightens_and_only_there(
    project: Any, tighter: Tighter | None
) -> None:
    with pytest.raises(TypeError, match="only then"):
        Access(project, tighter)


@each_row(
    ("allowed", "inside", "outside", "words"),
    [
        (NOT_NEGATIVE, (0, 1, 1e9), (-1, -0.1), "0 or more"),
        (Range(1), (1, 2), (0, 0.5), "1 or more"),
        (Range(0, 1), (0, 0.5, 1), (-0.01, 1.01), "from 0 to 1"),
        (Range(0, 1, between=True), (0.01, 0.99), (0, 1, -1, 2), "between 0 and 1"),
    ],
)
def test_a_number_is_allowed_in_its_range_alone(
    allowed: Range, inside: tuple[float, ...], outside: tuple[float, ...], words: str
) -> None:
    assert all(number in allowed for number in inside)
    assert not any(number in allowed for number in outside)
    assert str(allowed) == words


@each_row(
    ("name", "of", "words", "unit"),
    [
        ("Share", float, "from 0 to 1", ""),
        ("Part", float, "between 0 and 1", ""),
        ("Positive", int, "1 or more", ""),
        ("Tokens", int, "0 or more", "tokens"),
        ("Bytes", int, "0 or more", "bytes"),
        ("Lines", int, "0 or more", "lines"),
        ("Messages", int, "0 or more", "messages"),
        ("Calls", int, "0 or more", "calls"),
        ("Requests", int, "0 or more", "requests"),
        ("Turns", int, "0 or more", "turns"),
        ("Sessions", int, "0 or more", "sessions"),
        ("Seconds", float, "from 0 to 1e+09", "seconds"),
        ("Days", float, "from 0 to 1e+06", "days"),
        ("Dollars", float, "0 or more", "USD"),
    ],
)
def test_each_kind_of_number_has_its_range_and_unit(name: str, of: Any, words: str, unit: str) -> None:
    kind, allowed = get_args(getattr(ranges, name))
    assert (kind, str(allowed), allowed.unit) == (of, words, unit)
