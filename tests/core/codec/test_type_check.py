"""A value that passes the check against its class's types is the same after it was written and read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.codec.encode import body_from_json, body_to_json
from agentcli.core.codec.type_check import is_declared
from agentcli.core.message import File, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import KINDS
from tests.tables import each_row

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
