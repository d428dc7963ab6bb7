"""A tool's JSON Schema, read off the signature of its function; and the check of a call's input against it."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from agentcli.core.errors import ToolError

_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
}


def parameters(function: Callable[..., Any], skip: int = 2) -> dict[str, Any]:
    """JSON Schema of a function's parameters after the first `skip`.

    A parameter may be `Annotated[type, "description"]` or `Annotated[type, "description", "-i"]`, the last being the name on
    the wire where Python cannot spell it. Lists of dataclasses become arrays of objects.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        schema, wire = _of(hints[parameter.name])
        name = wire or parameter.name
        properties[name] = schema
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return _object(properties, required)


def wire_names(function: Callable[..., Any], skip: int = 2) -> dict[str, str]:
    """Wire name → Python name for the parameters whose names differ."""
    hints = typing.get_type_hints(function, include_extras=True)
    names = {}
    for name in list(inspect.signature(function).parameters)[skip:]:
        _, wire = _of(hints[name])
        if wire:
            names[wire] = name
    return names


def check(schema: Mapping[str, Any], value: Any, where: str = "") -> Any:
    """The input with values of another type mended (`"5"` for 5, null for an absent option); raises ToolError otherwise."""
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


def _of(hint: Any) -> tuple[dict[str, Any], str]:
    notes: Sequence[Any] = ()
    if get_origin(hint) is typing.Annotated:
        hint, *notes = get_args(hint)
    schema = _plain(hint)
    if notes and notes[0]:
        schema = {**schema, "description": notes[0]}
    return schema, notes[1] if len(notes) > 1 else ""


def _plain(hint: Any) -> dict[str, Any]:
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    origin = get_origin(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if origin in (Union, types.UnionType):
        inner = [arm for arm in get_args(hint) if arm is not type(None)]
        return _of(inner[0])[0]
    if origin in (list, Sequence, tuple):
        return {"type": "array", "items": _of(get_args(hint)[0])[0]}
    if dataclasses.is_dataclass(hint):
        return _dataclass(hint)
    if hint is dict or origin is dict:
        return {"type": "object"}
    raise TypeError(f"No JSON Schema for {hint!r}")


def _dataclass(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    properties, required = {}, []
    for field in dataclasses.fields(kind):
        schema, wire = _of(hints[field.name])
        name = wire or field.name
        properties[name] = schema
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(name)
    return _object(properties, required)


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}
