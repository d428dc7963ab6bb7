"""Functions of a program as tools of the agent: the signature is the schema, the docstring the description."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, Literal, Protocol, overload

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
from agentcli.core.model import ToolSchema
from agentcli.core.schema import KNOWN, schema_of, wire_name
from agentcli.core.text.truncate import clip
from agentcli.core.tool import Tool, ToolContext, ToolOutput, Traits
from agentcli.tools.lib.truncate import whole_or_cut
from agentcli.tools.registry import TRAITS

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


Effect = Literal["none", "read", "write", "run", "network", "unknown"]
"""Effect of a call. `none` and `read` need no permission and may run in parallel; the others ask.

`unknown` is treated like `run`.
"""
Call = Callable[[Callable[..., Any], dict[str, Any]], Awaitable[Any]]
"""Calls a function with values, and returns its result."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_TITLE = 100
"""Length of the line that describes a call, in characters."""
FROM_ELSEWHERE = (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)
"""Exceptions with which other code ends a call in the event loop."""
_log = logging.getLogger(__name__)


class Provided(Protocol):
    """Base of the types of parameters that the agent fills in, and that no model sees."""


class Contexts(Protocol):
    """Service of a session: contexts for the tools of extensions."""

    def of(self, owner: str) -> Provided:
        """Return the context of an extension; the owner of a tool of the Python API is empty."""
        ...

    def keep(self, owner: str) -> None:
        """Record the state of an extension after a call."""
        ...


class FunctionTool:
    """A function as a tool; calling it calls the function.

    `owner` is the extension that defines it, and `call` runs it, if one does.
    """

    owner: str = ""
    call: Call | None = None

    def __init__(self, function: Callable[..., Any], name: str, description: str, effect: Effect) -> None:
        functools.update_wrapper(self, function)
        self.function, self.effect = function, effect
        self.name = name or getattr(function, "__name__", "")
        self.description = inspect.cleandoc(description or getattr(function, "__doc__", None) or "")
        slots = slots_of(function)
        self._provided = tuple(slot.name for slot in slots if is_provided(slot))
        asked = [slot for slot in slots if slot.name not in self._provided]
        self.parameters = parameters(function, asked)
        self._kinds = {slot.name: slot.kind for slot in asked}
        _check(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def tool(self) -> Tool:
        """Return the tool in the agent's form."""
        schema = ToolSchema(self.name, self.description, self.parameters)
        return Tool(schema, self._run, Traits("run" if self.effect == "unknown" else self.effect), self._title)

    def _title(self, given: Any) -> str:
        text = ", ".join(f"{name}={value!r}" for name, value in dict(given).items())
        return clip(f"{self.name}({text})", _TITLE)

    async def _run(self, ctx: ToolContext, call_id: str, **given: Any) -> ToolOutput:
        values = {name: built(self._kinds[name], value, name) for name, value in given.items()}
        contexts = ctx.service(Contexts) if self._provided else None
        if self._provided:
            if contexts is None:
                raise ToolError(f"{self.name} needs a context, which this session does not have.")
            values |= dict.fromkeys(self._provided, contexts.of(self.owner))
        try:
            text = _text(await (self.call or _called)(self.function, values))
        except ToolError:
            raise
        except BaseException as error:
            if is_from_elsewhere(error):
                raise
            _log.warning("the tool %s failed", self.name, exc_info=True)
            raise ToolError(f"{type(error).__name__}: {error}") from error
        finally:
            if contexts is not None:
                contexts.keep(self.owner)
        return whole_or_cut(ctx, call_id, text, {})


async def _called(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Return the function's result. Run a synchronous function in a thread, so that it does not block the loop."""
    if inspect.iscoroutinefunction(function):
        return await function(**values)
    result = await asyncio.to_thread(_guarded, function, values)
    return await result if inspect.isawaitable(result) else result


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *, name: str = "", description: str = "", effect: Effect = "none"
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", description: str = "", effect: Effect = "none"
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a function a tool, as a decorator or by a call.

    `name` and `description` replace its own name and docstring. A plain function may be passed as a tool without this.

    Raises UsageError for a function without a docstring, or with a parameter that cannot be described to a model.
    """
    if function is not None:
        return FunctionTool(function, name, description, effect)
    return lambda given: FunctionTool(given, name, description, effect)


def as_tools(given: Iterable[Callable[..., Any] | FunctionTool]) -> tuple[Tool, ...]:
    """Return the tools of a run. Raise UsageError for an invalid one, and for a duplicate name."""
    found: dict[str, Tool] = {}
    for each in given:
        if not callable(each):
            raise UsageError(f"{each!r} is not a tool. Give functions.")
        made = (each if isinstance(each, FunctionTool) else tool(each)).tool()
        if made.name in found:
            raise UsageError(f"There are two tools named {made.name}. Give one another name: tool(name=…).")
        found[made.name] = made
    return tuple(found.values())


def is_from_elsewhere(error: BaseException) -> bool:
    """Return True if other code ends the call with this exception, False if the function itself has raised it."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, FROM_ELSEWHERE)


def is_provided(slot: Slot) -> bool:
    """Return True for a parameter that the program fills in, not the caller."""
    return Provided in getattr(slot.hint, "__mro__", ())


def _check(made: FunctionTool) -> None:
    if not _NAME.fullmatch(made.name) or "__" in made.name:
        raise UsageError(
            f"{made.name!r} cannot be the name of a tool: use letters, digits and single `_`. Another one: tool(name=…)."
        )
    if made.name in TRAITS:
        raise UsageError(f"The agent has a tool named {made.name} already. Give yours another name: tool(name=…).")
    if not made.description:
        raise UsageError(f"The tool {made.name} has no docstring. Write one: it tells the model what the tool is for.")


def _guarded(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Call a function in a thread and wrap exceptions that would be misread outside it: StopIteration cannot pass a future."""
    try:
        return function(**values)
    except (StopIteration, *FROM_ELSEWHERE) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _text(result: Any) -> str:
    """Return the result for the model: a text unchanged, anything else as JSON."""
    if isinstance(result, str):
        return result
    if result is None:
        return "(done, no result)"
    return json.dumps(result, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
