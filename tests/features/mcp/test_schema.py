"""Parameters of servers' tools as providers take them."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from agentcli.features.mcp import schema


def test_schemas_up_front_are_mended_or_stay_behind_the_gate() -> None:
    given = {
        "$schema": "s",
        "title": "T",
        "type": "object",
        "properties": {"title": {"title": "x", "type": "string"}, "node": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "anyOf": [{"required": ["title"]}, {"required": ["node"]}],
    }
    found = schema.upfront(given)
    assert found is not None
    assert set(found) == {"type", "properties", "description"}
    assert found["properties"]["title"] == {"type": "string"}
    assert found["description"] == "Required: title or node."
    assert "$ref" not in json.dumps(found)
    assert schema.upfront({"allOf": [{"properties": {"a": {}}, "required": ["a"]}]}) == {
        "type": "object",
        "properties": {"a": {}},
        "required": ["a"],
    }
    assert schema.upfront({"type": "object"}) == {"type": "object", "properties": {}}
    for hopeless in (
        {"type": "array"},
        {"properties": {"a-b": {}}},
        {"description": "x" * 9_000},
        {"$ref": "https://a"},
    ):
        assert schema.upfront(hopeless) is None


def test_a_schema_that_refers_to_itself_many_times_over_costs_nothing() -> None:
    def tree(*names: str) -> Any:
        node = {"type": "object", "properties": {name: {"$ref": "#/$defs/Node"} for name in names}}
        return {"$ref": "#/$defs/Node", "$defs": {"Node": node}}

    assert schema.upfront(tree("left", "right")) == {"type": "object", "properties": {"left": {}, "right": {}}}
    assert schema.upfront(tree(*map("child{}".format, range(9)))) is not None
    chain = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(19)} | {"d19": {"type": "string"}}
    assert schema.upfront({"properties": {"all": {"$ref": "#/$defs/d0"}}, "$defs": chain}) is None


@pytest.mark.parametrize("long", [{"enum": ["x" * 500_000]}, {"description": "x" * 500_000}])
def test_a_long_text_that_a_schema_refers_to_many_times_over_is_not_put_together(long: Any) -> None:
    properties = {f"p{number}": {"$ref": "#/$defs/Long"} for number in range(2_000)}
    tracemalloc.start()
    try:
        assert schema.upfront({"type": "object", "properties": properties, "$defs": {"Long": long}}) is None
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_the_order_in_which_a_server_sends_a_schema_changes_no_byte() -> None:
    properties = {"b": {"type": "string", "description": "x"}, "a": {"description": "y", "type": "integer"}}
    one = {"type": "object", "properties": properties, "required": ["b"]}
    other = {"required": ["b"], "properties": dict(reversed(properties.items())), "type": "object"}
    assert json.dumps(schema.upfront(one)) == json.dumps(schema.upfront(other))


def test_no_combination_is_left_at_the_root_however_it_is_nested() -> None:
    inner = {"oneOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]}
    found = schema.upfront({"allOf": [{"allOf": [{"properties": {"c": {}}}]}, inner], "anyOf": [{"anyOf": [inner]}]})
    assert found is not None
    assert not {"allOf", "anyOf", "oneOf"} & found.keys()
    assert set(found["properties"]) == {"a", "b", "c"}
    assert "Required: a or b." in found["description"]
