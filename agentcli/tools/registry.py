"""List of tools by feature, in the order in which models see them, and the execution of a call."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from agentcli.core.dataclass import replace
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.schema import check, wire_names
from agentcli.core.tool import Run, Tool, ToolContext, ToolOutput, Traits
from agentcli.resources import pages
from agentcli.tools import (
    apply_patch,
    ask_user,
    bash,
    compress,
    edit,
    exit_plan,
    glob,
    grep,
    jobs,
    list,
    lsp,
    mcp,
    read,
    recall,
    script,
    skill,
    task,
    todo,
    web_fetch,
    web_search,
    write,
)
from agentcli.tools.entry import Entry, tool_of

SHELL = (bash.BASH, jobs.BASH_OUTPUT, jobs.BASH_STOP)
TODO = (todo.TODO,)
RECALL = (recall.RECALL,)
COMPRESS = (compress.COMPRESS,)
QUESTIONS = (ask_user.ASK_USER,)
PLAN = (exit_plan.EXIT_PLAN,)
WEB = (web_fetch.WEB_FETCH,)
WEB_SEARCH = (web_search.WEB_SEARCH,)
SUBAGENTS = (task.TASK,)
SKILLS = (skill.SKILL,)
MCP = (mcp.MCP_SEARCH, mcp.MCP_CALL)
SCRIPTS = (script.SCRIPT,)
LSP = (lsp.LSP,)
_FIRST = (read.READ, write.WRITE, edit.EDIT, edit.MULTI_EDIT, apply_patch.APPLY_PATCH, glob.GLOB, grep.GREP, list.LIST)
_PLACED = (
    *_FIRST,
    *SHELL,
    *TODO,
    *RECALL,
    *COMPRESS,
    *QUESTIONS,
    *PLAN,
    *WEB,
    *WEB_SEARCH,
    *SUBAGENTS,
    *SKILLS,
    *MCP,
    *SCRIPTS,
    *LSP,
)


def _others() -> Iterator[Entry]:
    """Yield the entries of tools without a place above. A page has the name of its tool, and of the tool's module."""
    names = {entry.name for entry in _PLACED}
    for name in pages("tools"):
        if name not in names:
            module = import_module(f"agentcli.tools.{name}")
            yield from (each for each in vars(module).values() if isinstance(each, Entry))


OTHERS = tuple(_others())
"""Tools that are offered in every session because no feature names them."""
FILES = (*_FIRST, *OTHERS)
_TABLE = (*_PLACED, *OTHERS)
TRAITS: Mapping[str, Traits] = {entry.name: entry.traits for entry in _TABLE}
"""Traits of all built-in tools, including those that this session lacks: earlier sessions may have used them."""


def tools(names: Collection[str] | None = None) -> tuple[Tool, ...]:
    """Return the built-in tools in the order in which models see them, all or the requested ones."""
    return tuple(tool for tool in _tools() if names is None or tool.name in names)


@cache
def _tools() -> tuple[Tool, ...]:
    """Return all built-in tools, one set for all sessions of the process."""
    return tuple(map(tool_of, _TABLE))


async def run(tool: Tool, ctx: ToolContext, call_id: str, given: Mapping[str, Any]) -> ToolOutput:
    """Run a call: check and repair its input, turn its failure into an output, fill in its title."""
    from agentcli.tools.mending import Mended, mended, with_ignored

    title = tool.name
    meant = Mended(dict(given)) if tool.foreign else mended(tool, given, ctx.cwd)
    try:
        checked = meant.input if tool.foreign else check(tool.takes, meant.input)
        title = tool.title(checked)
        outcome = await tool.run(ctx, call_id, **_python_names(tool.run, checked))
    except ToolError as error:
        outcome = ToolOutput(str(error), status="error")
    except OSError as error:
        outcome = ToolOutput(f"{tool.name} failed: {error.strerror or error}.", status="error")
    if meant.ignored:
        outcome = with_ignored(outcome, meant.ignored)
    return replace(
        outcome,
        output=replace_surrogates(outcome.output),
        title=replace_surrogates(outcome.title or title),
        metadata={
            key: replace_surrogates(value) if isinstance(value, str) else value
            for key, value in outcome.metadata.items()
        },
    )


def _python_names(run: Run, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input by the names of the function's parameters; unchanged for a function that accepts any keyword."""
    names = _names(run)
    return {names.get(name, name): value for name, value in given.items()}


@lru_cache(maxsize=256)
def _names(run: Run) -> Mapping[str, str]:
    """Return the parameters' names by their wire names, if these differ."""
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(run).parameters.values())
    return {} if takes_any else wire_names(run)
