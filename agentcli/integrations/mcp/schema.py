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
_COMBINED = frozenset({"allOf", "anyOf", "oneOf"})
_PER_NAME = frozenset({"properties", "patternProperties", "dependentSchemas"})


def upfront(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema to send with every request; None where it cannot be mended, or is too large for that.

    Its keys are sorted: a server may send them in another order each time, and a cache compares bytes.
    """
    try:
        text = json.dumps(_object(_Resolver(parameters).resolved(parameters)), sort_keys=True)
        found: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None
    names = found.get("properties", {})
    if len(text) > BYTES or not all(isinstance(name, str) and _PROPERTY.fullmatch(name) for name in names):
        return None
    return found


def _object(root: dict[str, Any]) -> dict[str, Any]:
    """The schema with an object at its root: `allOf` merged; the branches of `anyOf` and `oneOf` merged, what each requires said in words."""
    root = _flat(root)
    if root.get("type", "object") != "object":
        raise ValueError("the root is not an object")
    return {**root, "type": "object", "properties": root.get("properties", {})}


def _flat(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without `allOf`, `anyOf` and `oneOf` of its own, which may be nested."""
    root = {key: value for key, value in schema.items() if key not in _COMBINED}
    for part in schema.get("allOf", ()):
        _merge(root, _flat(part))
    branches = [_flat(branch) for key in ("anyOf", "oneOf") for branch in schema.get(key, ())]
    wanted = [branch["required"] for branch in branches if branch.get("required")]
    for branch in branches:
        _merge(root, {key: value for key, value in branch.items() if key != "required"})
    if wanted:
        groups = " or ".join(", ".join(map(str, names)) for names in wanted)
        root["description"] = f"{root.get('description', '')} Required: {groups}.".strip()
    return root


def _merge(root: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if key == "properties":
            root["properties"] = {**root.get("properties", {}), **value}
        elif key == "required":
            root["required"] = [*dict.fromkeys([*root.get("required", []), *value])]
        else:
            root.setdefault(key, value)


class _Resolver:
    """Puts local references in and drops what says nothing about values. What recurs may be anything.

    Raises ValueError for a schema that grows out of all proportion by its references.
    """

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        self._left, self._characters = BYTES, 10 * BYTES

    def resolved(self, value: Any, inside: tuple[str, ...] = ()) -> Any:
        """The value, which stands inside the targets of these references."""
        self._count(len(value) if isinstance(value, str) else 0)
        if isinstance(value, list):
            return [self.resolved(item, inside) for item in value]
        if not isinstance(value, Mapping):
            return value
        if "$ref" in value:
            reference = str(value["$ref"])
            if reference in inside or len(inside) >= DEPTH:
                return {}
            rest = {key: inner for key, inner in value.items() if key != "$ref"}
            return self.resolved({**_target(reference, self._whole), **rest}, (*inside, reference))
        return {key: self._inner(key, inner, inside) for key, inner in value.items() if key not in _DROPPED}

    def _inner(self, key: str, value: Any, inside: tuple[str, ...]) -> Any:
        if key in _PER_NAME and isinstance(value, Mapping):
            # The keys are names of the server's here: one may well be called title.
            return {name: self.resolved(schema, inside) for name, schema in value.items()}
        if key in ("enum", "const", "default", "examples"):
            self._count(len(json.dumps(value)))
            return value
        return self.resolved(value, inside)

    def _count(self, characters: int) -> None:
        """Count one more value of so many characters: references may put it in any number of times."""
        self._left, self._characters = self._left - 1, self._characters - characters
        if self._left < 0 or self._characters < 0:
            raise ValueError("too large")


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
