"""What the APIs refuse in the schema of a tool, whoever wrote it.

Anthropic: JSON Schema 2020-12 by its own meta-schema, no combination at the root, names of parameters of 1 to 64 letters, digits, `_.-`.
OpenAI: no combination, choice or negation at the root, an array says what its items are, types by their names. Gemini: what is
required is described, no empty choice in the plain form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema

KINDS = {"array", "boolean", "integer", "null", "number", "object", "string"}
INNER = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def anthropic(schema: Any) -> str:
    """What is wrong with an `input_schema`, or nothing."""
    if not isinstance(schema, Mapping):
        return "Input should be a valid dictionary"
    if schema.get("type") != "object":
        return "type: Input should be 'object'"
    if {"oneOf", "allOf", "anyOf"} & set(schema):
        return "input_schema does not support oneOf, allOf, or anyOf at the top level"
    if fault(schema):
        return (
            "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). "
            "Learn more about tool use at https://docs.claude.com/en/docs/tool-use."
        )
    if not all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in schema.get("properties", ())):
        return "properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
    return ""


def openai(schema: Any) -> str:
    """What is wrong with the `parameters` of a function, or nothing."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    if found := {"oneOf", "anyOf", "allOf", "enum", "not"} & set(schema):
        return f"schema must have type 'object' and not have {sorted(found)} at the top level."
    if why := fault(schema):
        return f"{why}."
    for where, inner in _schemas(schema, ()):
        kinds = inner.get("type", [])
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if not isinstance(kind, str) or kind not in KINDS:
                return f"In context={where}, {kind!r} is not valid under any of the given schemas."
            if kind == "array" and not isinstance(inner.get("items"), Mapping | bool):
                return f"In context={where}, array schema missing items."
        if not isinstance(inner.get("properties", {}), Mapping):
            return f"In context={where}, properties is not of type 'object'."
    return ""


def gemini(schema: Any) -> str:
    """What is wrong with `parameters` or `parameters_json_schema`, or nothing."""
    if not isinstance(schema, Mapping) or str(schema.get("type", "")).lower() != "object":
        return "only allowed for OBJECT type"
    if str(schema["type"]).islower() and (why := fault(schema)):
        return f"parameters_json_schema ({why})"
    for where, inner in _schemas(schema, ()):
        known, needed = inner.get("properties"), inner.get("required")
        if isinstance(known, Mapping) and isinstance(needed, list):
            for number, name in enumerate(needed):
                if name not in known:
                    return f"parameters{where}.required[{number}]: property is not defined"
        if str(inner.get("type", "")).isupper() and "" in (inner.get("enum") or ()):
            return f"parameters{where}.enum: cannot be empty"
    return ""


def _schemas(schema: Any, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """A schema and all within it, each with its place."""
    if not isinstance(schema, Mapping):
        return
    yield where, schema
    for key in ("properties", "patternProperties", "$defs", "definitions"):
        inside = schema.get(key)
        for name, inner in inside.items() if isinstance(inside, Mapping) else ():
            yield from _schemas(inner, (*where, key, name))
    for key in INNER:
        yield from _schemas(schema.get(key), (*where, key))
    for key in LISTED:
        inside = schema.get(key)
        for number, inner in enumerate(inside if isinstance(inside, list) else ()):
            yield from _schemas(inner, (*where, key, str(number)))


def fault(schema: Mapping[str, Any]) -> str:
    """What is wrong with a schema by the newest draft; empty if it is one."""
    return _fault(json.dumps(schema, sort_keys=True))


@lru_cache(maxsize=4096)
def _fault(text: str) -> str:
    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(text))
    except jsonschema.SchemaError as error:
        return str(error.message)
    return ""
