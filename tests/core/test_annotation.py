"""Annotations are read once, into kinds of values; every reader of one takes the kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Optional, Union

from agentcli.core.annotation import (
    Choice,
    Fields,
    Items,
    Maybe,
    Noted,
    OneOf,
    Scalar,
    Slot,
    Table,
    Unread,
    bare,
    fields_of,
    parameters_of,
    read,
    unwrapped,
)
from tests.tables import each_row


@dataclasses.dataclass
class Node:
    """A class that names itself."""

    name: Annotated[str, "its name"]
    children: list[Node] = dataclasses.field(default_factory=list)
    depth: int = dataclasses.field(default=0, init=False)
    parent: Node | None = None


@each_row(
    ("hint", "kind"),
    [
        (str, Scalar.TEXT),
        (int, Scalar.WHOLE),
        (float, Scalar.NUMBER),
        (bool, Scalar.FLAG),
        (Any, Scalar.ANYTHING),
        (Literal["a", 1], Choice(("a", 1))),
        (Literal["a", "b"] | Literal["", "a"], Choice(("a", "b", ""))),
        (list[str], Items(Scalar.TEXT, list)),
        (tuple[int, ...], Items(Scalar.WHOLE, tuple)),
        (tuple[int, int], Items(None, tuple)),
        (set, Items(None, set)),
        (Sequence[Node], Items(Fields(Node), Sequence)),
        (dict, Table(Scalar.ANYTHING)),
        (Mapping[str, float], Table(Scalar.NUMBER)),
        (Node, Fields(Node)),
        (str | None, Maybe(Scalar.TEXT)),
        (Optional[list[int]], Maybe(Items(Scalar.WHOLE, list))),  # noqa: UP045
        (int | str, OneOf((Scalar.WHOLE, Scalar.TEXT), int | str)),
        (Union[int, None, str], Maybe(OneOf((Scalar.WHOLE, Scalar.TEXT), int | None | str))),  # noqa: UP007
        (Annotated[int, "of what", 5], Noted(Scalar.WHOLE, ("of what", 5))),
        (Annotated[str, "x"] | None, Maybe(Noted(Scalar.TEXT, ("x",)))),
        (bytes, Unread(bytes)),
        (None, Unread(None)),
    ],
)
def test_an_annotation_is_read_as_one_kind(hint: Any, kind: Any) -> None:
    assert read(hint) == kind


def test_a_kind_is_bare_without_its_notes_and_without_none() -> None:
    assert bare(read(Annotated[Annotated[list[str], 1] | None, 2])) == Items(Scalar.TEXT, list)


def test_an_annotation_is_unwrapped_of_its_notes_and_of_none() -> None:
    assert unwrapped(Annotated[Annotated[list[str], 1] | None, 2]) == (list[str], (2, 1))
    assert unwrapped(int | str | None) == (int | str | None, ())


def test_fields_and_parameters_are_the_same_to_their_readers() -> None:
    def function(name: Annotated[str, "its name"], children: list[Node] = [], parent: Node | None = None) -> None:  # noqa: B006
        """Take what Node has."""

    def shape(slots: Sequence[Slot]) -> list[Any]:
        return [(slot.name, slot.kind, slot.required) for slot in slots]

    assert shape(fields_of(Node)) == shape(parameters_of(function))
    assert [slot.required for slot in fields_of(Node)] == [True, False, False]


def test_a_parameter_without_an_annotation_is_read_as_nothing_known() -> None:
    def function(name) -> None:  # type: ignore[no-untyped-def]
        """Take anything."""

    [slot] = parameters_of(function)
    assert isinstance(slot.kind, Unread)
