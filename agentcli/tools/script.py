"""The script tool: Python of the model that calls the session's tools; only what it prints returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class Scripts:
    """The service that runs scripts."""

    run: Callable[[ToolContext, str, str], Awaitable[ToolOutput]]
    """Runs the code of a call, by the context and the id of the call."""


async def script(ctx: ToolContext, call_id: str, code: str) -> ToolOutput:
    scripts = ctx.service(Scripts)
    if scripts is None:
        raise ToolError("Scripts cannot run here. Make the calls one by one.")
    return await scripts.run(ctx, call_id, code)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Script: for path in glob(…)`, with the first line that does something."""
    lines = [line.strip() for line in str(given.get("code", "")).splitlines()]
    told = [line for line in lines if line and not line.startswith(("import ", "from ", "#"))]
    return f"Script: {told[0] if told else ''}{' …' if len(told) > 1 else ''}"


def preview(_: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the whole code."""
    return str(given["code"])


NAME = "script"
SCRIPT = Entry(NAME, script, title, Traits("none", behaviour=Behaviour(calls_tools=True, dispensable=True)), preview)
