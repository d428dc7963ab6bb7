"""All tools, one line each; and how one of them is run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from agentcli.core.errors import ToolError
from agentcli.core.model import ToolSchema
from agentcli.core.schema import check, parameters, wire_names
from agentcli.core.tool import Effect, Outcome, Run, Tool, Workplace
from agentcli.resources import prompt
from agentcli.tools import (
    ask_user,
    bash,
    edit,
    exit_plan,
    glob,
    grep,
    jobs,
    listing,
    read,
    recall,
    task,
    todo,
    web_fetch,
    write,
)
from agentcli.tools._text import shown

Title = Callable[[Mapping[str, Any]], str]


def tools(names: Collection[str] | None = None) -> tuple[Tool, ...]:
    """The built-in tools in the order that models see them, or those of them that are named."""
    table = (
        _tool("read", "read", read.read, read.title, "file_path"),
        _tool("write", "write", write.write, write.title, "file_path"),
        _tool("edit", "write", edit.edit, edit.title, "file_path"),
        _tool("multi_edit", "write", edit.multi_edit, edit.multi_title, "file_path"),
        _tool("glob", "read", glob.glob, glob.title, "path"),
        _tool("grep", "read", grep.grep, grep.title, "path"),
        _tool("list", "read", listing.listing, listing.title, "path"),
        _tool("bash", "run", bash.bash, bash.title, "command"),
        _tool("bash_output", "none", jobs.bash_output, jobs.output_title),
        _tool("bash_stop", "none", jobs.bash_stop, jobs.stop_title),
        _tool("todo", "none", todo.todo, todo.title),
        _tool("recall", "none", recall.recall, recall.title),
        _tool("ask_user", "ask", ask_user.ask_user, ask_user.title),
        _tool("exit_plan", "ask", exit_plan.exit_plan, exit_plan.title),
        _tool("web_fetch", "network", web_fetch.web_fetch, web_fetch.title, "url"),
        _tool("task", "none", task.task, task.title),
    )
    return tuple(tool for tool in table if names is None or tool.name in names)


async def run(tool: Tool, work: Workplace, call_id: str, given: Mapping[str, Any]) -> Outcome:
    """Run a call: its input checked and mended, its failure told as an outcome, its title filled in."""
    title = tool.name
    try:
        checked = check(tool.schema.parameters, given)
        title = tool.title(checked)
        outcome = await tool.run(work, call_id, **_python_names(tool.run, checked))
    except ToolError as error:
        outcome = Outcome(str(error), status="error")
    except OSError as error:
        outcome = Outcome(f"{tool.name} failed: {error.strerror or error}.", status="error")
    return replace(
        outcome,
        output=shown(outcome.output),
        title=shown(outcome.title or title),
        metadata={key: shown(value) if isinstance(value, str) else value for key, value in outcome.metadata.items()},
    )


def _tool(name: str, effect: Effect, run: Run, title: Title, subject: str = "") -> Tool:
    schema = ToolSchema(name, prompt(f"tools/{name}.md"), parameters(run))

    def one_line(given: Mapping[str, Any]) -> str:
        return shown(" ".join(title(given).split()))

    return Tool(name, effect, run, schema, subject, one_line)


def _python_names(run: Run, given: Mapping[str, Any]) -> dict[str, Any]:
    """The input by the names of the function's parameters; a function that takes any keyword gets it as it is."""
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(run).parameters.values()):
        return dict(given)
    names = wire_names(run)
    return {names.get(name, name): value for name, value in given.items()}
