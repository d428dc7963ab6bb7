"""Whatever schema a server gives its tool, requests with it go out on every wire."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from agentcli.core.model import ToolSchema
from agentcli.features.mcp.schema import upfront
from agentcli.providers.catalog import spec
from agentcli.providers.scripted.model import say
from tests.loopback import Loopback
from tests.providers.hearing import ALL, connected, hear, request
from tests.sampling import sampled

KEYWORDS = (
    "type", "enum", "const", "default", "examples", "properties", "required", "items", "prefixItems", "additionalProperties", "allOf",
    "anyOf", "oneOf", "not", "if", "description", "title", "format", "pattern", "minimum", "exclusiveMinimum", "maxLength", "minItems",
    "uniqueItems", "multipleOf", "patternProperties", "dependentRequired", "dependentSchemas", "nullable", "$ref", "$defs", "x-own",
)  # fmt: skip
ODD: list[Any] = [None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "object", "string", "half \ud800", [], {}, [None], ["a", "a"], [1], {"a": None}]  # fmt: skip
NAMES = st.sampled_from(["a", "title", "enum", "properties", "ü", "a-b", ""])
RIGHT = st.sampled_from(
    [
        {"type": "string"}, {"type": "string", "enum": ["a", "b"]}, {"type": ["string", "null"]}, {"type": "integer", "minimum": 0},
        {"type": "array", "items": {"type": "number"}}, {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
    ]
)  # fmt: skip
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.sampled_from(ODD), RIGHT),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
        st.dictionaries(NAMES, inner, max_size=3),
        st.builds(lambda of, **_: {"type": "object", "properties": of}, st.dictionaries(NAMES, inner, max_size=3)),
        st.lists(inner, max_size=2),
    ),
    max_leaves=12,
)
ROOTS = st.builds(
    lambda properties, more: {"type": "object", "properties": properties, **more},
    st.one_of(st.dictionaries(st.sampled_from(["a", "b", "title"]), SCHEMAS, max_size=3), st.sampled_from(ODD)),
    st.dictionaries(st.sampled_from(KEYWORDS), SCHEMAS, max_size=2),
)
NULL = {"type": "object", "properties": {"a": {"type": "string", "enum": None}}}


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        found = {"type": "object", "properties": {"a": found}}
    return found


@settings(max_examples=120)
@example(NULL)
@example({"type": "object", "properties": {"a": {"type": "number", "default": float("nan")}}})
@given(ROOTS)
def test_a_schema_that_goes_out_follows_the_standard(given: dict[str, Any]) -> None:
    found = upfront(given)
    if found is not None:
        json.dumps(found, allow_nan=False)
        Draft7Validator.check_schema(found, format_checker=None)
        assert found["type"] == "object"


def test_what_a_broken_keyword_leaves_is_kept() -> None:
    given = {
        "type": "object",
        "required": None,
        "properties": {"a": {"type": "string", "enum": None}, "b": None, "c": {"default": None}},
    }
    assert upfront(given) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {}, "c": {"default": None}},
    }


@pytest.mark.full
@pytest.mark.parametrize("name", sampled(ALL, 2))
def test_a_request_with_a_tool_of_any_schema_is_accepted(name: str) -> None:
    """A schema as servers' tools have it, and raw, as a stored session may hold it."""
    model = spec(name)
    with Loopback(lambda _: say("fine")) as server, asyncio.Runner() as runner:
        connection = connected(server, name)

        @settings(max_examples=60)
        @example(NULL)
        @example(deep(90))
        @example({"type": "object", "properties": {"a": {"type": "array", "items": None}}})
        @example({"type": "object", "properties": {"a": {"type": "number", "maximum": float("inf")}}})
        @given(ROOTS)
        def check(given: dict[str, Any]) -> None:
            sent = upfront(given)
            for parameters in filter(None, (sent, {**given, "type": "object"})):
                tool = ToolSchema("mcp__a__b", "Does it.", parameters)
                heard = runner.run(hear(connection, request(model, "hello", tools=(tool,))))
                # Of a raw schema the API judges; that it went out as JSON is all that can be said.
                refused = heard.error is not None and parameters is sent
                assert not refused, server.asked[-1].body.decode()
                # What is no JSON would pass here and be refused by every real server.
                json.loads(server.asked[-1].body, parse_constant=pytest.fail)

        check()
        runner.run(connection.close())  # type: ignore[attr-defined]
