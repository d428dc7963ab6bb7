"""JSON Schema of a function's parameters, and a call's values in the function's types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

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
)
from agentcli.core.errors import ToolError, UsageError
from agentcli.core.schema import KNOWN, schema_of, wire_name

Json = dict[str, Any]


def slots_of(function: Callable[..., Any]) -> tuple[Slot, ...]:
    """Return the parameters of a function. Raise UsageError for a parameter that no model can supply."""
    try:
        slots = parameters_of(function)
    except (NameError, TypeError) as error:
        raise UsageError(f"{_name(function)}: can't read its annotations: {error}.") from error
    for slot, parameter in zip(slots, inspect.signature(function).parameters.values(), strict=True):
        where = _place(function, slot)
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"{where} can't be passed by name. Tools take neither * nor positional-only parameters.")
        if slot.hint is parameter.empty:
            raise UsageError(f"{where} has no type. {KNOWN}.")
    return slots


def parameters(function: Callable[..., Any], slots: Sequence[Slot]) -> Json:
    """Return the JSON Schema of a function's parameters.

    Raise UsageError, mentioning the parameter, for a type without a schema.
    """
    properties = {slot.name: schema_of(slot.kind, _place(function, slot)) for slot in slots}
    return {"type": "object", "properties": properties, "required": [slot.name for slot in slots if slot.required]}


def built(kind: Kind, value: Any, where: str) -> Any:
    """Return a JSON value that fits the schema in the parameter's type: as dataclass, tuple or set.

    Raise ToolError if it does not fit.
    """
    if value is None:
        return None
    match kind:
        case Noted(of) | Maybe(of):
            return built(of, value, where)
        case Choice(values):
            if value not in values:
                raise ToolError(f"{where} must be one of {', '.join(map(str, values))}.")
            return value
        case Items(of, container):
            items = [built(of, item, f"{where}[{n}]") for n, item in enumerate(value)] if of else list(value)
            return items if container is Sequence else container(items)
        case Table(of):
            return {name: built(of, item, f"{where}.{name}") for name, item in value.items()}
        case Fields(owner):
            return _made(owner, value, where)
        case Scalar.NUMBER:
            return float(value)
        case Scalar() | OneOf() | Unread():
            return value


def _made(owner: type, value: Any, where: str) -> Any:
    slots = {wire_name(slot): slot for slot in fields_of(owner)}
    try:
        values = {slots[name].name: built(slots[name].kind, each, f"{where}.{name}") for name, each in value.items()}
        return owner(**values)
    except (TypeError, ValueError) as error:
        raise ToolError(f"{where}: {error}") from error


def _place(function: Callable[..., Any], slot: Slot) -> str:
    return f"{_name(function)}: the parameter {slot.name}"


def _name(function: Callable[..., Any]) -> str:
    return f"The tool {getattr(function, '__name__', repr(function))}"
