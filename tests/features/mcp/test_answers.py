"""Odd answers of servers, through the real SDK: an item that cannot be used costs nothing but itself, and is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentcli.features.mcp.schema import upfront
from tests.features.mcp.running import call, fake, servers, settled, text
from tests.guards import server_answers
from tests.tables import each_row

FINE = {"name": "fine", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
SCHEMAS: dict[str, Any] = {
    "choice": {"anyOf": [{"required": ["a"]}, {"type": "null"}], "properties": {"a": {"type": "string"}}},
    "null": None,
    "either": {"type": ["object", "null"], "properties": {"a": {}}},
    "list": {"type": "object", "properties": []},
    "places": {"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]}}},
    "flag": True,
    "untyped": {"properties": {"a": {"type": "any", "required": True}}},
    "names": {"type": "object", "properties": {"a": None}, "required": "a"},
    "dialect": {"type": "object", "$schema": 7, "properties": {"a": {"type": "array"}}},
}  # fmt: skip


def test_a_tool_with_an_odd_schema_costs_no_other_tool(tmp_path: Path) -> None:
    odd = [{"name": name, "inputSchema": schema} for name, schema in SCHEMAS.items()]
    more = [
        {"inputSchema": {}},
        {"name": 5},
        "text",
        None,
        {"name": "bare", "description": 5, "annotations": "x", "_meta": 1},
    ]
    (tmp_path / "tools.json").write_text(json.dumps([*odd, FINE, *more]))
    with servers(tmp_path, {"fake": fake()}) as made:
        (state,) = settled(made)
        found = {tool.tool: tool for tool in made.tools()}
        assert state.status == "connected"
        assert set(found) == {*SCHEMAS, "fine", "bare"}
        for tool in found.values():
            assert upfront(tool.parameters) is not None, tool.tool
            assert text(call(made, tool.name, text="ran")) == "ran"
        assert state.odd[0] == "tool null: its schema is missing, so it takes any arguments"
        assert "tool flag: its schema is not an object, so it takes any arguments" in state.odd
        assert [line for line in state.odd if line.endswith("has no name, and was left out")] == [
            f"tool {place} of its list has no name, and was left out" for place in (11, 12, 13, 14)
        ]


def test_a_schema_goes_out_in_a_form_that_every_provider_takes() -> None:
    assert upfront(SCHEMAS["places"]) == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}}},
    }
    assert upfront(
        {"type": ["object", "null"], "enum": [{}], "required": ["b"], "properties": {"a": {"type": "array"}}}
    ) == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {}}},
        "required": [],
    }
    assert upfront({"type": "object", "properties": {"a": {"pattern": "(", "$anchor": "x", "type": "string"}}}) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }


@each_row(
    ("block", "shown"),
    [
        ({"type": "text"}, '[block 1 does not have the form of the protocol] {"type": "text"}'),
        ({"type": "text", "text": None}, '[block 1 does not have the form of the protocol] {"type": "text", "text": null}'),
        ({"type": "text", "text": {"a": 1}}, '{"a": 1}'),
        ({"type": "text", "text": "kept", "annotations": "loud", "_meta": 5}, "kept"),
        ({"type": "image", "mimeType": "image/png"}, '[block 1 does not have the form of the protocol] {"type": "image", "mimeType": "image/png"}'),
        ({"type": "resource", "resource": {"text": "held"}}, "held"),
        ({"text": "no kind"}, '[block 1 does not have the form of the protocol] {"text": "no kind"}'),
        ("bare", "bare"),
        (None, "[block 1 does not have the form of the protocol] null"),
    ],
)  # fmt: skip
def test_an_odd_block_costs_no_result_of_a_call_that_has_run(tmp_path: Path, block: Any, shown: str) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "blocks", "inputSchema": {"type": "object"}}]')
    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        assert (
            text(call(made, "mcp__fake__blocks", blocks=[block, {"type": "text", "text": "after"}]))
            == f"{shown}\nafter"
        )
        assert text(call(made, "mcp__fake__blocks", blocks=block)) == ("" if block is None else shown)


def test_a_result_is_kept_that_does_not_match_the_schema_of_its_tools_results(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    (tmp_path / "tools.json").write_text(json.dumps([{**FINE, "outputSchema": schema}]))
    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        assert text(call(made, "mcp__fake__fine", text="ran")) == "ran"


def test_no_words_of_a_validation_library_reach_anybody(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "empty", "inputSchema": {"type": "object"}}]')
    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        answer = call(made, "mcp__fake__empty")
    assert answer.failed
    assert text(answer).startswith("The call has run, but the server's answer does not have the form of the protocol.")
    assert not re.search(r"pydantic|validation error|Field required|type=", text(answer))


@pytest.mark.slow
def test_ten_thousand_broken_schemas_cost_nothing_but_themselves() -> None:
    for row in server_answers.figures(seeds=100):
        assert (row.stopped, row.hindered) == (row.bad, 0), row.guard
