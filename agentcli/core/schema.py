"""JSON Schemas from type annotations, and the check of a call's input against a schema."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from agentcli.core.annotation import (
    Choice,
    Fields,
    Items,
    Kind,
    Maybe,
    Noted,
    OneOf,
    Scalar,
    Slot,
    Table,
    Unread,
    fields_of,
    parameters_of,
    read,
)
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError, UsageError

KNOWN = "Use str, int, float, bool, list[…], dict, Literal[…], X | None, a dataclass, or Annotated[X, 'description']"
"""Annotations that have a JSON Schema, for authors of tools."""
_TYPES: Mapping[Scalar, str] = {
    Scalar.TEXT: "string",
    Scalar.WHOLE: "integer",
    Scalar.NUMBER: "number",
    Scalar.FLAG: "boolean",
}


@dataclass(frozen=True, slots=True)
class WireName:
    """Metadata for a parameter whose wire name Python cannot spell: `Annotated[bool, WireName("-i")]`."""

    name: str


@dataclass(frozen=True, slots=True)
class Unlisted:
    """Metadata for a parameter that no schema lists. It costs no tokens; results for which it is useful mention it."""


def parameters(function: Callable[..., Any], skip: int = 2) -> dict[str, Any]:
    """Return the JSON Schema of a function's parameters after the first `skip`.

    A parameter may be `Annotated[type, "description"]`, with a `WireName` too. Lists of dataclasses become arrays of objects.
    """
    listed = [slot for slot in _asked(function, skip) if not _is_unlisted(slot)]
    schema = object_schema(listed, function.__qualname__)
    return schema if schema["required"] else {name: value for name, value in schema.items() if name != "required"}


def unlisted(function: Callable[..., Any], skip: int = 2) -> dict[str, Any]:
    """Return the JSON Schemas of a function's parameters that `parameters` leaves out, by name."""
    slots = [slot for slot in _asked(function, skip) if _is_unlisted(slot)]
    found: dict[str, Any] = object_schema(slots, function.__qualname__)["properties"]
    return found


@cache
def _asked(function: Callable[..., Any], skip: int) -> Sequence[Slot]:
    """Return the parameters of a built-in tool's function, which are asked for three times."""
    return parameters_of(function)[skip:]


def _is_unlisted(slot: Slot) -> bool:
    kind = slot.kind
    return isinstance(kind, Noted) and Unlisted() in kind.notes


def wire_names(function: Callable[..., Any], skip: int = 2) -> dict[str, str]:
    """Wire name → Python name for the parameters whose names differ."""
    slots = _asked(function, skip)
    return {wire: slot.name for slot in slots if (wire := wire_name(slot)) != slot.name}


def wire_name(slot: Slot) -> str:
    """Return the name of a field or parameter on the wire."""
    notes = slot.kind.notes if isinstance(slot.kind, Noted) else ()
    return next((note.name for note in notes if isinstance(note, WireName)), slot.name)


def object_schema(slots: Sequence[Slot], where: str) -> dict[str, Any]:
    """Return the JSON Schema of an object with these fields. Raises UsageError, with the field, if a type has none."""
    return {
        "type": "object",
        "properties": {wire_name(slot): schema_of(slot.kind, f"{where}.{slot.name}") for slot in slots},
        "required": [wire_name(slot) for slot in slots if slot.required],
    }


def schema_of(kind: Kind, where: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of values. Raises UsageError, beginning with `where`, if the kind has none."""
    match kind:
        case Noted(of, notes):
            description = next((note for note in notes if isinstance(note, str) and note), "")
            return schema_of(of, where) | ({"description": description} if description else {})
        case Maybe(of):
            return schema_of(of, where)
        case Scalar.ANYTHING:
            return {}
        case Scalar():
            return {"type": _TYPES[kind]}
        case Choice(values):
            return _choice(values, where)
        case Items(of):
            if of is None:
                raise UsageError(f"{where} is a list without an item type. Write list[str], for example.")
            return {"type": "array", "items": schema_of(of, where)}
        case Table():
            return {"type": "object"}
        case Fields(owner):
            return object_schema(fields_of(owner), where)
        case OneOf(_, hint) | Unread(hint):
            raise _indescribable(hint, where)


def _choice(values: tuple[Any, ...], where: str) -> dict[str, Any]:
    kinds = {read(type(value)) for value in values}
    kind = kinds.pop()
    if kinds or not isinstance(kind, Scalar):
        raise _indescribable(Literal[values], where)
    return {"type": _TYPES[kind], "enum": list(values)}


def _indescribable(hint: Any, where: str) -> UsageError:
    return UsageError(f"{where} has a type that can't be described to a model: {hint!r}. {KNOWN}.")


def check(schema: Mapping[str, Any], value: Any, where: str = "") -> Any:
    """Return the input with values of a wrong type repaired. Raises ToolError if that fails.

    `"5"` becomes 5, and null stands for an absent option.
    """
    match schema.get("type"):
        case "object":
            return _check_object(schema, value, where)
        case "array":
            if not isinstance(value, list):
                raise ToolError(f"{where or 'input'} must be a list.")
            return [check(schema["items"], item, f"{where}[{n}]") for n, item in enumerate(value)]
        case "integer":
            return _check_integer(value, where)
        case "number":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ToolError(f"{where} must be a number.")
        case "boolean":
            if isinstance(value, str) and value.lower() in ("true", "false"):
                return value.lower() == "true"
            if not isinstance(value, bool):
                raise ToolError(f"{where} must be true or false.")
        case "string":
            if not isinstance(value, str):
                raise ToolError(f"{where} must be a string.")
            if "enum" in schema and value not in schema["enum"]:
                raise ToolError(f"{where} must be one of {', '.join(schema['enum'])}.")
        case _:
            pass
    return value


def _check_object(schema: Mapping[str, Any], value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ToolError(f"{where or 'input'} must be an object.")
    if "properties" not in schema:
        return dict(value)
    properties = schema["properties"]
    missing = [name for name in schema.get("required", []) if value.get(name) is None]
    if missing:
        described = ", ".join(_described(name, properties) for name in missing)
        raise ToolError(f"Missing {described}. This tool takes {', '.join(properties)}.")
    unknown = [name for name in value if name not in properties]
    if unknown:
        raise ToolError(f"Unknown parameter {', '.join(unknown)}. This tool takes {', '.join(properties)}.")
    inside = f"{where}." if where else ""
    return {name: check(properties[name], item, inside + name) for name, item in value.items() if item is not None}


def _described(name: str, properties: Mapping[str, Any]) -> str:
    description = properties.get(name, {}).get("description")
    return f"{name} ({description})" if description else name


def _check_integer(value: Any, where: str) -> int:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value) if "." in value else int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ToolError(f"{where} must be a whole number.")
    return value
