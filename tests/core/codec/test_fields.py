"""A list of a record is of one kind throughout, or the record is damaged."""

import math
from dataclasses import dataclass, fields
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.codec.encode import body_from_json, body_to_json
from agentcli.core.codec.fields import is_declared, items, number, table, text, whole
from agentcli.core.message import File, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import KINDS
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


PARTS = (
    Text("words"),
    Text("words", True, "shell", {"anthropic": {"a": 1}}),
    Thinking("thought", "signature"),
    Image("image/png", "aGk=", "a.png"),
    File("text/plain", "a.txt", "words"),
    ToolCall("c1", "read", {"file_path": "a.py"}),
)
REPLY = Message("assistant", PARTS, 2, "anthropic", "m", Usage(1, 2, 3, 4, 5), 0.5, "tool_use", "")
RESULT = ToolResult("c1", "read", "success", "x", True, "o.txt", "t", 1, 2.5, {"path": "a"}, (PARTS[3],))  # type: ignore[arg-type]
ODD: tuple[Any, ...] = (None, True, 5, 1.5, float("nan"), float("inf"), "x", "", b"x", [], (5,), ((),), {}, ["x"])
WRONG: tuple[Any, ...] = (Usage(), Text("x"), Text(5), Usage(1.5), ToolCall("c", "n", []), Image("m", "d", meta=[]))  # type: ignore[arg-type]
ANY = st.sampled_from((*ODD, *WRONG))


def with_field(value: Any, name: str, odd: Any) -> Any:
    return type(value)(**{field.name: getattr(value, field.name) for field in fields(value)} | {name: odd})


@each_row("value", [REPLY, RESULT, Message("user", (Text("x"),)), ToolResult("c", "", "denied", "")])
def test_what_the_program_makes_is_as_declared(value: Any) -> None:
    assert is_declared(value)


@pytest.mark.full
@given(value=st.sampled_from([REPLY, RESULT]), data=st.data(), odd=ANY)
def test_no_value_is_as_declared_that_is_another_once_it_was_written(value: Any, data: st.DataObject, odd: Any) -> None:
    name = data.draw(st.sampled_from([field.name for field in fields(value) if field.name != "role"]))
    changed = with_field(value, name, (odd,) if name in ("parts", "images") else odd)
    if is_declared(changed):
        assert body_from_json({"kind": KINDS[type(changed)], **body_to_json(changed)}) == changed


@pytest.mark.full
@given(part=st.sampled_from(PARTS), data=st.data(), odd=ANY)
def test_that_holds_for_every_part_of_a_message(part: Any, data: st.DataObject, odd: Any) -> None:
    changed = Message("assistant", (with_field(part, data.draw(st.sampled_from(fields(part))).name, odd),))
    if is_declared(changed):
        assert body_from_json({"kind": "message", **body_to_json(changed)}) == changed


@each_row(
    "value",
    [
        Text(5),  # type: ignore[arg-type]
        Text("x", source="elsewhere"),  # type: ignore[arg-type]
        Usage(input=1.5),  # type: ignore[arg-type]
        Message("assistant", (Usage(),)),  # type: ignore[arg-type]
        Message("assistant", (Text(5),)),  # type: ignore[arg-type]
        Message("assistant", [Text("x")]),  # type: ignore[arg-type]
        ToolResult("c", "", "success", "", ended=float("nan")),
        ToolResult("c", "", "success", "", truncated=1),  # type: ignore[arg-type]
        ToolResult("c", "", "success", "", metadata=[]),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_value_anywhere_is_found(value: Any) -> None:
    assert not is_declared(value)


@dataclass
class Noted:
    """A class with a field of any type."""

    noted: Annotated[int, "note"] = 1
    anything: Any = None


@dataclass
class Listing:
    """A class with lists that no record has, and tuples of anything."""

    numbers: list[int] | None = None
    untyped: tuple | None = None  # type: ignore[type-arg]


@each_row(
    ("value", "declared"),
    [
        (Noted(), False),
        (Noted(anything=1), False),
        (Listing(), True),
        (Listing([1]), False),
        (Listing((1,)), False),  # type: ignore[arg-type]
        (Listing(untyped=(1,)), False),
        (Usage(), True),
        (Usage(True), False),
    ],
)
def test_what_has_no_declared_type_is_not_as_declared(value: Any, declared: bool) -> None:
    assert is_declared(value) is declared


@dataclass
class Either:
    """A class of the kinds that can be told."""

    noted: Annotated[int, "note"] = 1
    either: int | str | None = None
    numbers: tuple[float, ...] = ()


@dataclass
class Single:
    """A class of one field."""

    name: str = ""


@each_row(
    ("value", "declared"),
    [
        (Either(), True),
        (Either(5, "x", (1, 2.5)), True),
        (Either(either=5), True),
        (Either(noted="x"), False),  # type: ignore[arg-type]
        (Either(noted=None), False),  # type: ignore[arg-type]
        (Either(either=1.5), False),  # type: ignore[arg-type]
        (Either(numbers=(1.0, float("inf"))), False),
        (Either(numbers=(1.0, "x")), False),  # type: ignore[arg-type]
        (Single("name"), True),
        (Single(5), False),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_one_of_several_types_is_as_declared(value: Any, declared: bool) -> None:
    assert is_declared(value) is declared
