"""Functions of a program as tools of the agent: the signature is the schema, the docstring the description."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, is_dataclass
from typing import Any, Literal, overload

from agentcli.api.signature import built, hints_of, schema_of
from agentcli.core.errors import ToolError, UsageError
from agentcli.core.model import ToolSchema
from agentcli.core.tool import Tool, ToolContext, ToolOutput, Traits
from agentcli.tools.lib.text import clip
from agentcli.tools.lib.truncate import whole_or_cut
from agentcli.tools.registry import TRAITS

Effect = Literal["none", "read", "write", "run", "network"]
"""The effect of a call on the world. `none` and `read` are allowed unasked and may run side by side; the others are asked about."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_TITLE = 100
"""Characters of the line that describes a call."""
_log = logging.getLogger(__name__)


class FunctionTool:
    """A function as a tool; calling it calls the function."""

    def __init__(self, function: Callable[..., Any], name: str, description: str, effect: Effect) -> None:
        functools.update_wrapper(self, function)
        self.function, self.effect = function, effect
        self.name = name or getattr(function, "__name__", "")
        self.description = inspect.cleandoc(description or getattr(function, "__doc__", None) or "")
        self.parameters = schema_of(function)
        self._hints = hints_of(function)
        _check(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def tool(self) -> Tool:
        """The tool as the agent has it."""
        schema = ToolSchema(self.name, self.description, self.parameters)
        return Tool(schema, self._run, Traits(self.effect), self._title)

    def _title(self, given: Any) -> str:
        text = ", ".join(f"{name}={value!r}" for name, value in dict(given).items())
        return clip(f"{self.name}({text})", _TITLE)

    async def _run(self, ctx: ToolContext, call_id: str, **given: Any) -> ToolOutput:
        values = {name: built(self._hints[name], value, name) for name, value in given.items()}
        try:
            text = _text(await self._called(values))
        except ToolError:
            raise
        except (Exception, SystemExit) as error:  # the caller's own code may raise anything; the model hears of it
            _log.warning("the tool %s failed", self.name, exc_info=True)
            raise ToolError(f"{type(error).__name__}: {error}") from error
        return whole_or_cut(ctx, call_id, text, {})

    async def _called(self, values: dict[str, Any]) -> Any:
        """The result of the function. One that is not async runs in a thread, where it holds nobody up."""
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**values)
        result = await asyncio.to_thread(_guarded, self.function, values)
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
    """Make a function a tool, as a decorator or called; what is given here replaces its own name and docstring.

    A plain function may be given as a tool without this. Raises UsageError for one that has no docstring, or a parameter that
    cannot be described to a model.
    """
    if function is not None:
        return FunctionTool(function, name, description, effect)
    return lambda given: FunctionTool(given, name, description, effect)


def as_tools(given: Iterable[Callable[..., Any] | FunctionTool]) -> tuple[Tool, ...]:
    """The tools of a run. Raises UsageError for what is none, and for a name that is taken."""
    found: dict[str, Tool] = {}
    for each in given:
        if not callable(each):
            raise UsageError(f"{each!r} is no tool. Give functions.")
        made = (each if isinstance(each, FunctionTool) else tool(each)).tool()
        if made.name in found:
            raise UsageError(f"There are two tools named {made.name}. Give one another name: tool(name=…).")
        found[made.name] = made
    return tuple(found.values())


def _check(made: FunctionTool) -> None:
    if not _NAME.fullmatch(made.name) or "__" in made.name:
        raise UsageError(
            f"{made.name!r} cannot be the name of a tool: use letters, digits and single `_`. Another one: tool(name=…)."
        )
    if made.name in TRAITS:
        raise UsageError(f"The agent has a tool named {made.name} already. Give yours another name: tool(name=…).")
    if not made.description:
        raise UsageError(f"The tool {made.name} has no docstring, which tells the model what it is for.")


def _guarded(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Call a function in a thread. StopIteration cannot pass a future."""
    try:
        return function(**values)
    except StopIteration as error:
        raise RuntimeError(f"StopIteration: {error}") from error


def _text(result: Any) -> str:
    """The result for the model: a text as it is, anything else as JSON."""
    if isinstance(result, str):
        return result
    if result is None:
        return "(done, no result)"
    return json.dumps(result, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
