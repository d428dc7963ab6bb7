"""How a call's input is checked against a tool's schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import pytest

from agentcli.core.annotation import parameters_of, read
from agentcli.core.errors import ToolError, UsageError
from agentcli.core.schema import KNOWN, Unlisted, WireName, check, parameters, schema_of, unlisted, wire_names
from tests.counted import counted
from tests.tables import each_row


@each_row(("given", "number"), [(5, 5), ("5", 5), (" -5 ", -5), (5.0, 5), ("5.0", 5), ("-5.0", -5), ("1.", 1)])
def test_a_whole_number_is_taken_however_a_model_writes_it(given: object, number: int) -> None:
    assert check({"type": "integer"}, given, "limit") == number


@each_row("given", ["²", "--5", "five", "", "9" * 5_000, 1.5, "1.5", ".", True, None, []])
def test_what_is_no_whole_number_is_told_to_the_model(given: object) -> None:
    with pytest.raises(ToolError, match="limit must be a whole number"):
        check({"type": "integer"}, given, "limit")


EDIT = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "where"}, "all": {"type": "boolean"}},
    "required": ["path"],
}


@each_row(
    ("schema", "given", "taken"),
    [
        ({"type": "number"}, 1.5, 1.5),
        ({"type": "number"}, 2, 2),
        ({"type": "boolean"}, True, True),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "string"}, "", ""),
        ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2.0], [1, 2]),
        ({"type": "object"}, {"x": 1}, {"x": 1}),
        (EDIT, {"path": "x", "all": None}, {"path": "x"}),
        (EDIT, {"path": "x", "all": "true"}, {"path": "x", "all": True}),
        ({"type": "array", "items": EDIT}, [{"path": "x"}], [{"path": "x"}]),
        ({}, 5, 5),
    ],
)
def test_input_is_taken_with_its_types_mended(schema: dict[str, object], given: object, taken: object) -> None:
    found = check(schema, given, "x")
    assert (found, type(found)) == (taken, type(taken))


@each_row(
    ("schema", "given", "where", "why"),
    [
        ({"type": "number"}, True, "size", "size must be a number."),
        ({"type": "number"}, "1.5", "size", "size must be a number."),
        ({"type": "boolean"}, "yes", "all", "all must be true or false."),
        ({"type": "boolean"}, 1, "all", "all must be true or false."),
        ({"type": "string"}, 1, "path", "path must be a string."),
        ({"type": "string", "enum": ["a", "b"]}, "c", "kind", "kind must be one of a, b."),
        ({"type": "array", "items": {}}, "x", "", "input must be a list."),
        ({"type": "array", "items": {}}, {}, "edits", "edits must be a list."),
        ({"type": "array", "items": {"type": "string"}}, ["a", 1], "edits", "edits[1] must be a string."),
        (EDIT, [], "", "input must be an object."),
        (EDIT, "x", "edit", "edit must be an object."),
        (EDIT, {}, "", "Missing path (where). This tool takes path, all."),
        (EDIT, {"path": None}, "", "Missing path (where). This tool takes path, all."),
        (EDIT, {"path": "x", "b": 1, "c": 2}, "", "Unknown parameter b, c. This tool takes path, all."),
        (EDIT, {"path": 1}, "", "path must be a string."),
        (EDIT, {"path": 1}, "edit", "edit.path must be a string."),
        ({"type": "array", "items": EDIT}, [{"path": 1}], "edits", "edits[0].path must be a string."),
    ],
)
def test_input_of_another_type_is_refused_by_its_place(
    schema: dict[str, object], given: object, where: str, why: str
) -> None:
    with pytest.raises(ToolError) as refused:
        check(schema, given, where)
    assert str(refused.value) == why


def test_only_parameters_with_another_name_on_the_wire_are_told() -> None:
    def search(
        self: object, context: object, pattern: str, ignore_case: Annotated[bool, WireName("-i")] = False
    ) -> None:
        """Search."""

    assert wire_names(search) == {"-i": "ignore_case"}
    assert list(parameters(search)["properties"]) == ["pattern", "-i"]
    assert parameters(search)["required"] == ["pattern"]
    assert "required" not in parameters(search, skip=3)
    assert wire_names(search, skip=4) == {}


@dataclasses.dataclass
class Edit:
    """One edit of a list."""

    old: Annotated[str, "the text"]
    new: str = ""
    every: Annotated[bool, WireName("all"), "", "each of them"] = False


TEXT = {"type": "string"}
OF_EDIT = {
    "type": "object",
    "properties": {
        "old": {"type": "string", "description": "the text"},
        "new": TEXT,
        "all": {"type": "boolean", "description": "each of them"},
    },
    "required": ["old"],
}


@each_row(
    ("hint", "schema"),
    [
        (str, TEXT),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (str | None, TEXT),
        (Annotated[str, "a path"], {"type": "string", "description": "a path"}),
        (Annotated[int, WireName("n")], {"type": "integer"}),
        (Annotated[str | None, "a path"], {"type": "string", "description": "a path"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str | None], {"type": "array", "items": TEXT}),
        (dict[str, int], {"type": "object"}),
        (Mapping[str, Any], {"type": "object"}),
        (Edit, OF_EDIT),
        (list[Edit], {"type": "array", "items": OF_EDIT}),
    ],
)
def test_each_annotation_has_its_schema(hint: Any, schema: Mapping[str, Any]) -> None:
    assert schema_of(read(hint), "f.x") == schema


@each_row(
    ("hint", "why"),
    [
        (list, "f.x is a list without an item type. Write list[str], for example."),
        (tuple[int, int], "f.x is a list without an item type. Write list[str], for example."),
        (int | str, f"f.x has a type that can't be described to a model: int | str. {KNOWN}."),
        (Literal["a", 1], f"f.x has a type that can't be described to a model: typing.Literal['a', 1]. {KNOWN}."),
        (list[complex], f"f.x has a type that can't be described to a model: <class 'complex'>. {KNOWN}."),
    ],
)
def test_a_type_that_no_model_can_be_told_is_named_with_its_place(hint: Any, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        schema_of(read(hint), "f.x")
    assert str(refused.value) == why


def test_a_parameter_that_no_schema_lists_has_one_of_its_own() -> None:
    def read(
        self: object,
        context: object,
        path: str,
        whole: Annotated[bool, Unlisted(), "all of it"] = False,
        *,
        deep: int = 0,
    ) -> None:
        """Read."""

    assert list(parameters(read)["properties"]) == ["path", "deep"]
    assert unlisted(read) == {"whole": {"type": "boolean", "description": "all of it"}}
    assert unlisted(read, skip=4) == {}


def test_every_parameter_that_is_missing_is_told_with_its_description() -> None:
    schema = {
        "type": "object",
        "properties": {"a": TEXT, "b": {**TEXT, "description": "of it"}},
        "required": ["a", "b", "c"],
    }
    with pytest.raises(ToolError) as refused:
        check(schema, {})
    assert str(refused.value) == "Missing a, b (of it), c. This tool takes a, b."
    assert check({"type": "array", "items": {}}, [], "x") == []


def test_the_annotations_of_a_tool_are_read_once_for_its_schema_its_unlisted_parameters_and_its_names() -> None:
    def run(ctx: Any, call_id: str, path: str, deep: Annotated[bool, WireName("-d")] = False) -> None:
        """Nothing."""

    with counted(parameters_of) as calls:
        assert set(parameters(run)["properties"]) == {"path", "-d"}
        assert unlisted(run) == {}
        assert wire_names(run) == {"-d": "deep"}
    assert calls[parameters_of] == 1
