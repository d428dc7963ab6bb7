"""Parameters of servers' tools as providers take them: an object at the root, no references, no keywords that they refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

DEPTH = 20
"""Levels of references that are followed; what recurs beyond them may be anything."""
BYTES = 8_192
"""Size of a schema that stands up front at most."""
_DROPPED = frozenset({"$schema", "$id", "$defs", "definitions", "$comment", "title"})
_PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_PER_NAME = frozenset({"properties", "patternProperties", "dependentSchemas"})


def upfront(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema to send with every request; None where it cannot be mended, or is too large for that."""
    try:
        root = _resolved(dict(parameters), parameters, 0)
        found = _object(root)
        size = len(json.dumps(found))
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None
    names = found.get("properties", {})
    if size > BYTES or not all(isinstance(name, str) and _PROPERTY.fullmatch(name) for name in names):
        return None
    return found


def _object(root: dict[str, Any]) -> dict[str, Any]:
    """The schema with an object at its root: `allOf` merged; the branches of `anyOf` and `oneOf` merged, what each requires said in words."""
    for part in root.pop("allOf", ()):
        _merge(root, part)
    branches = [*root.pop("anyOf", ()), *root.pop("oneOf", ())]
    wanted = [branch.get("required") for branch in branches if branch.get("required")]
    for branch in branches:
        _merge(root, {key: value for key, value in branch.items() if key != "required"})
    if wanted:
        groups = " or ".join(", ".join(map(str, names)) for names in wanted)
        root["description"] = f"{root.get('description', '')} Required: {groups}.".strip()
    if root.get("type", "object") != "object":
        raise ValueError("the root is not an object")
    return {**root, "type": "object", "properties": root.get("properties", {})}


def _merge(root: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if key == "properties":
            root["properties"] = {**root.get("properties", {}), **value}
        elif key == "required":
            root["required"] = [*dict.fromkeys([*root.get("required", []), *value])]
        else:
            root.setdefault(key, value)


def _resolved(value: Any, whole: Mapping[str, Any], depth: int) -> Any:
    """The value with local references put in and what says nothing about values dropped."""
    if isinstance(value, list):
        return [_resolved(item, whole, depth) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "$ref" in value:
        if depth >= DEPTH:
            return {}
        rest = {key: inner for key, inner in value.items() if key != "$ref"}
        return _resolved({**_target(str(value["$ref"]), whole), **rest}, whole, depth + 1)
    return {key: _inner(key, inner, whole, depth) for key, inner in value.items() if key not in _DROPPED}


def _inner(key: str, value: Any, whole: Mapping[str, Any], depth: int) -> Any:
    if key in _PER_NAME and isinstance(value, Mapping):
        # The keys are names of the server's here: one may well be called title.
        return {name: _resolved(schema, whole, depth) for name, schema in value.items()}
    return value if key in ("enum", "const", "default", "examples") else _resolved(value, whole, depth)


def _target(reference: str, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a local reference leads to. Raises ValueError for one that leads elsewhere."""
    if not reference.startswith("#"):
        raise ValueError(reference)
    found: Any = whole
    for step in filter(None, reference[1:].split("/")):
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or step not in found:
            raise ValueError(reference)
        found = found[step]
    return found if isinstance(found, Mapping) else {}
