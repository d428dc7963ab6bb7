"""The JSON Schema of a function's parameters, and the values of a call as the function wants them."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from agentcli.core.errors import ToolError, UsageError

_SIMPLE: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LISTS = (list, tuple, set, frozenset, Sequence)
_KNOWN = "Use str, int, float, bool, list[…], dict, Literal[…], X | None, a dataclass, or Annotated[X, 'description']"
Json = dict[str, Any]


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of a function's parameters by name. Raises UsageError for a parameter that no model can give."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(f"{_name(function)}: its annotations cannot be read: {error}.") from error
    for parameter in inspect.signature(function).parameters.values():
        where = f"{_name(function)}: the parameter {parameter.name}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"{where} cannot be given by name. Tools take neither * nor positional-only parameters.")
        if parameter.name not in hints:
            raise UsageError(f"{where} has no type. {_KNOWN}.")
    hints.pop("return", None)
    return hints


def schema_of(function: Callable[..., Any]) -> Json:
    """The JSON Schema of a function's parameters. Raises UsageError, naming the parameter, for a type that has none."""
    hints = hints_of(function)
    parameters = inspect.signature(function).parameters
    properties = {name: _of(hint, f"{_name(function)}: the parameter {name}") for name, hint in hints.items()}
    required = [name for name in hints if parameters[name].default is inspect.Parameter.empty]
    return {"type": "object", "properties": properties, "required": required}


def built(hint: Any, value: Any, where: str) -> Any:
    """A JSON value that fits the schema as the type wants it: dataclasses, tuples and sets are made. Raises ToolError for another one."""
    hint = _bare(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if value is None or hint is Any:
        return value
    if origin is Literal:
        if value not in inner:
            raise ToolError(f"{where} must be one of {', '.join(map(str, inner))}.")
    elif origin in _LISTS or hint in _LISTS:
        items = [built(_item(inner), item, f"{where}[{n}]") for n, item in enumerate(value)]
        return items if origin is Sequence else (origin or hint)(items)
    elif origin is dict and len(inner) == 2:
        return {name: built(inner[1], item, f"{where}.{name}") for name, item in value.items()}
    elif dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        try:
            return typing.cast("Any", hint)(**{k: built(hints[k], v, f"{where}.{k}") for k, v in value.items()})
        except (TypeError, ValueError) as error:
            raise ToolError(f"{where}: {error}") from error
    elif hint is float:
        return float(value)
    return value


def _of(hint: Any, where: str) -> Json:
    description = ""
    if get_origin(hint) is Annotated:
        description = next((note for note in get_args(hint)[1:] if isinstance(note, str)), "")
    schema = _plain(_bare(hint), where)
    return {**schema, "description": description} if description else schema


def _plain(hint: Any, where: str) -> Json:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if hint is Any:
        return {}
    if origin is Literal:
        kinds = {type(each) for each in inner}
        if len(kinds) == 1 and (kind := kinds.pop()) in _SIMPLE:
            return {"type": _SIMPLE[kind], "enum": list(inner)}
    elif origin in _LISTS or hint in _LISTS:
        if inner and _item(inner) is not None:
            return {"type": "array", "items": _of(_item(inner), where)}
        raise UsageError(f"{where} is a list of what? Write list[str], for example.")
    elif hint is dict or origin in (dict, Mapping):
        return {"type": "object"}
    elif dataclasses.is_dataclass(hint):
        return _dataclass(hint, where)
    raise UsageError(f"{where} has a type that cannot be described to a model: {hint!r}. {_KNOWN}.")


def _dataclass(kind: Any, where: str) -> Json:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    missing = dataclasses.MISSING
    return {
        "type": "object",
        "properties": {field.name: _of(hints[field.name], f"{where}.{field.name}") for field in fields},
        "required": [field.name for field in fields if field.default is missing and field.default_factory is missing],
    }


def _bare(hint: Any) -> Any:
    """The type without Annotated, and without None where it is optional."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        inner = [each for each in get_args(hint) if each is not type(None)]
        return _bare(inner[0]) if len(inner) == 1 else hint
    return hint


def _item(inner: tuple[Any, ...]) -> Any:
    """The type of the items of a list; None for a tuple of several types."""
    items = [each for each in inner if each is not Ellipsis]
    return items[0] if len(items) == 1 else None


def _name(function: Callable[..., Any]) -> str:
    return f"The tool {getattr(function, '__name__', repr(function))}"
