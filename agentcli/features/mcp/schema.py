"""Parameters of MCP tools as providers accept them: an object at the root, no references, no refused keywords."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

DEPTH = 20
"""Maximum depth of references to follow; a deeper recursive schema accepts anything."""
BYTES = 8_192
"""Maximum bytes of a schema sent with every request."""
_DROPPED = frozenset({"definitions", "title"})
_ROOTLESS = frozenset({"enum", "const", "not", "if", "then", "else", "items", "prefixItems"})
"""Keywords that OpenAI refuses at the root of a schema, or that mean nothing for an object."""
_PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_COMBINED = frozenset({"allOf", "anyOf", "oneOf"})
_PER_NAME = frozenset({"properties", "patternProperties", "dependentSchemas"})
_VALUES = ("enum", "const", "default", "examples")
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})


def _is_schema(value: Any) -> bool:
    return isinstance(value, Mapping | bool)


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_number(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and isfinite(value))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len({*value}) == len(value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and _are_names(names) and _TYPES.issuperset(names)


def _are_dependencies(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_schema(one) or _are_names(one) for one in value.values())


def _is_pattern(value: Any) -> bool:
    """Return True for a regular expression that Python compiles: most providers refuse what Python refuses."""
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except (re.error, RecursionError, OverflowError):
        return False


_FORMS: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "required": _are_names,
    "items": lambda value: _is_schema(value) or _are_schemas(value),
    **dict.fromkeys(("examples",), lambda value: isinstance(value, list)),
    **dict.fromkeys(_PER_NAME, lambda value: isinstance(value, Mapping)),
    "dependentRequired": lambda value: isinstance(value, Mapping) and all(map(_are_names, value.values())),
    **dict.fromkeys((*_COMBINED, "prefixItems"), _are_schemas),
    **dict.fromkeys(
        ("additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems"), _is_schema
    ),
    **dict.fromkeys(("not", "if", "then", "else", "contains", "propertyNames", "contentSchema"), _is_schema),
    **dict.fromkeys(
        ("description", "format", "contentEncoding", "contentMediaType"),
        lambda value: isinstance(value, str),
    ),
    "pattern": _is_pattern,
    "dependencies": _are_dependencies,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(
        ("uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"), lambda value: isinstance(value, bool)
    ),
}
"""Form of each keyword's value.

A value in another form, such as `null`, is meaningless, and a provider may refuse the request.
"""


def upfront(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema to send with every request; None if it cannot be repaired, or is too large.

    Its keys are sorted: a server may send them in another order each time, and a cache compares bytes.
    """
    try:
        whole = _accepted(_object(_Resolver(parameters).resolved(parameters)))
        text = json.dumps(whole, sort_keys=True, allow_nan=False)
        found: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None
    names = found.get("properties", {})
    if len(text) > BYTES or not all(isinstance(name, str) and _PROPERTY.fullmatch(name) for name in names):
        return None
    return found


def mends(parameters: Mapping[str, Any]) -> Sequence[str]:
    """Return the distinct keywords that `upfront` drops from a schema because their values are meaningless."""
    resolver = _Resolver(parameters)
    with contextlib.suppress(TypeError, ValueError, RecursionError, AttributeError):
        resolver.resolved(parameters)
    return sorted(resolver.refused)


def _object(root: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with an object at its root: `allOf`, `anyOf` and `oneOf` merged, with each branch's
    requirements as text.
    """
    root = _flat(root)
    kinds = root.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        raise ValueError("the root is not an object")
    kept = {key: value for key, value in root.items() if key not in _ROOTLESS}
    return {**kept, "type": "object", "properties": root.get("properties", {})}


def _flat(schema: Any) -> dict[str, Any]:
    """Return the schema without its own `allOf`, `anyOf` and `oneOf`, which may be nested; a boolean one means nothing."""
    if not isinstance(schema, Mapping):
        return {}
    root = {key: value for key, value in schema.items() if key not in _COMBINED}
    for part in schema.get("allOf", ()):
        _merge(root, _flat(part))
    branches = [_flat(branch) for key in ("anyOf", "oneOf") for branch in schema.get(key, ())]
    branches = [branch for branch in branches if branch.get("type") != "null"]
    wanted = [branch["required"] for branch in branches if branch.get("required")]
    for branch in branches:
        _merge(root, {key: value for key, value in branch.items() if key != "required"})
    if wanted:
        groups = " or ".join(", ".join(map(str, names)) for names in wanted)
        root["description"] = f"{root.get('description', '')} Required: {groups}.".strip()
    return root


def _accepted(schema: Any) -> Any:
    """Return a schema in the form that every provider accepts.

    An array describes its items (OpenAI). A list of schemas for its places becomes a choice, because JSON Schema
    2020-12 has no list there. Only described properties are required (Gemini).
    """
    if not isinstance(schema, Mapping):
        return schema
    made = {key: _accepted_in(key, value) for key, value in schema.items()}
    places = [one for key in ("items", "prefixItems") if isinstance(made.get(key), list) for one in made.pop(key)]
    kinds = made.get("type", ())
    if places:
        made.pop("additionalItems", None)
        made.setdefault("items", {"anyOf": places} if len(places) > 1 else places[0])
    elif "array" in (kinds if isinstance(kinds, list) else [kinds]) and "items" not in made:
        made["items"] = {}
    if isinstance(known := made.get("properties"), Mapping) and "required" in made:
        made["required"] = [name for name in made["required"] if name in known]
    return made


def _accepted_in(key: str, value: Any) -> Any:
    """Return a keyword's value with the schemas in it accepted."""
    if key in (*_VALUES, "dependentRequired", "dependencies"):
        return value
    if key in _PER_NAME and isinstance(value, Mapping):
        return {name: _accepted(inner) for name, inner in value.items()}
    return [_accepted(inner) for inner in value] if isinstance(value, list) else _accepted(value)


def _merge(root: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if key == "properties":
            root["properties"] = {**root.get("properties", {}), **value}
        elif key == "required":
            root["required"] = [*dict.fromkeys([*root.get("required", []), *value])]
        else:
            root.setdefault(key, value)


class _Resolver:
    """Replaces local references by their targets, without keywords that mean nothing for values. A recursive one
    accepts anything.

    Raises ValueError for a schema that grows excessively by its references.
    """

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        self._left, self._characters = BYTES, 10 * BYTES
        self.refused: set[str] = set()
        """Keywords that were dropped since their values are meaningless."""

    def resolved(self, value: Any, inside: tuple[str, ...] = ()) -> Any:
        """Return the value with references replaced; it is inside the targets of the references in `inside`."""
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
        told = {key: inner for key, inner in value.items() if key not in _DROPPED and not key.startswith("$")}
        kept = {key: inner for key, inner in told.items() if _says_something(key, inner)}
        self.refused |= told.keys() - kept.keys()
        return {key: self._inner(key, inner, inside) for key, inner in kept.items()}

    def _inner(self, key: str, value: Any, inside: tuple[str, ...]) -> Any:
        if key in _PER_NAME and isinstance(value, Mapping):
            # The keys here are the server's names: one may be called title.
            return {name: self.resolved(schema if _is_schema(schema) else {}, inside) for name, schema in value.items()}
        if key in (*_VALUES, "dependentRequired"):
            self._count(len(json.dumps(value)))
            return value
        return self.resolved(value, inside)

    def _count(self, characters: int) -> None:
        """Count one more value of so many characters: references may repeat it any number of times."""
        self._left, self._characters = self._left - 1, self._characters - characters
        if self._left < 0 or self._characters < 0:
            raise ValueError("too large")


def _says_something(key: str, value: Any) -> bool:
    """Return False for a keyword whose value has a meaningless form, or a number that JSON cannot express."""
    if key in _VALUES or isinstance(value, float):
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            return False
    known = _FORMS.get(key)
    return known(value) if known else value is not None or key in _VALUES


def _target(reference: str, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that a local reference leads to. Raise ValueError if it leads elsewhere."""
    if not reference.startswith("#"):
        raise ValueError(reference)
    found: Any = whole
    for step in filter(None, reference[1:].split("/")):
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or step not in found:
            raise ValueError(reference)
        found = found[step]
    return found if isinstance(found, Mapping) else {}
