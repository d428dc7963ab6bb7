"""The tables of tools by the feature that brings them, one line each, and the execution of a call."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import ToolError
from agentcli.core.model import ToolSchema
from agentcli.core.sanitise import replace_surrogates, safe_line
from agentcli.core.schema import check, parameters, unlisted, wire_names
from agentcli.core.text.patch import GRAMMAR
from agentcli.core.tool import Preview, Run, Title, Tool, ToolContext, ToolOutput, Traits, as_json
from agentcli.resources import prompt
from agentcli.tools import (
    apply_patch,
    ask_user,
    bash,
    edit,
    exit_plan,
    glob,
    grep,
    jobs,
    list,
    mcp,
    read,
    recall,
    skill,
    task,
    todo,
    web_fetch,
    write,
)
from agentcli.tools.mending import Mended, mended, with_ignored


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of one tool; its schema is its function's signature. A function named `module:name` of this package is imported with the tool."""

    name: str
    run: Run | str
    title: Title | str
    traits: Traits
    preview: Preview = as_json
    description: str = ""
    """Its description for models, if that is not the page of its name in prompts/tools."""
    grammar: str = ""
    """The Lark grammar of its one text, for models that write it without JSON."""

    def tool(self) -> Tool:
        """Make the tool."""
        run, title = _imported(self.run), _imported(self.title)
        schema = ToolSchema(
            self.name, self.description or prompt(f"tools/{self.name}.md"), parameters(run), self.grammar
        )
        return Tool(schema, run, self.traits, partial(_one_line, title), self.preview, unlisted=unlisted(run))


def _imported(function: Any) -> Any:
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    return getattr(import_module(f"agentcli.tools.{module}"), name)


def _one_line(title: Title, given: Mapping[str, Any]) -> str:
    # Paths that differ in a newline or a blank have different titles.
    return safe_line(replace_surrogates(title(given))).strip()


_EDITS = Traits("write", "file_path", edits_files=True)
_SEARCHES = Traits("read", "path", searches=True)
_ASKS = Traits("ask", needs_person=True, for_people=True)
FILES = (
    Entry("read", read.read, read.title, Traits("read", "file_path", reads_files=True)),
    Entry("write", write.write, write.title, replace(_EDITS, content="content"), write.preview),
    Entry("edit", edit.edit, edit.title, _EDITS, edit.preview),
    Entry(
        "multi_edit",
        edit.multi_edit,
        edit.multi_title,
        replace(_EDITS, allowed_as="edit", dispensable=True),
        edit.multi_preview,
    ),
    Entry(
        "apply_patch",
        apply_patch.apply_patch,
        apply_patch.title,
        Traits("write", "input", edits_files=True, patches=True),
        apply_patch.preview,
        grammar=GRAMMAR,
    ),
    Entry("glob", glob.glob, glob.title, replace(_SEARCHES, pattern="pattern")),
    Entry("grep", grep.grep, grep.title, replace(_SEARCHES, name_filter="glob")),
    Entry("list", list.listing, list.title, replace(_SEARCHES, dispensable=True)),
)
SHELL = (
    Entry("bash", bash.bash, bash.title, Traits("run", "command", background="run_in_background"), bash.preview),
    Entry("bash_output", jobs.bash_output, jobs.output_title, Traits("none", polls=True)),
    Entry("bash_stop", jobs.bash_stop, jobs.stop_title, Traits("none")),
)
TODO = (Entry("todo", todo.todo, todo.title, Traits("none", for_people=True, dispensable=True)),)
RECALL = (Entry("recall", recall.recall, recall.title, Traits("none", recalls=True)),)
QUESTIONS = (Entry("ask_user", ask_user.ask_user, ask_user.title, replace(_ASKS, dispensable=True)),)
PLAN = (
    Entry("exit_plan", exit_plan.exit_plan, exit_plan.title, replace(_ASKS, presents_plan=True), exit_plan.preview),
)
WEB = (
    Entry(
        "web_fetch",
        web_fetch.web_fetch,
        web_fetch.title,
        Traits("network", "url", dispensable=True),
        web_fetch.preview,
    ),
)
WEB_SEARCH = (
    Entry(
        "web_search", "web_search:web_search", "web_search:title", Traits("network", for_people=True, dispensable=True)
    ),
)
SUBAGENTS = (Entry("task", task.task, task.title, Traits("none", delegates=True, dispensable=True)),)
SKILLS = (Entry("skill", skill.skill, skill.title, Traits("none")),)
MCP = (
    Entry("mcp_search", mcp.mcp_search, mcp.search_title, Traits("none", gate=True)),
    Entry("mcp_call", mcp.mcp_call, mcp.call_title, Traits("run", gate=True)),
)
LSP = (Entry("lsp", "lsp:lsp", "lsp:title", Traits("read", "file_path", reads_files=True, dispensable=True)),)
_TABLE = (*FILES, *SHELL, *TODO, *RECALL, *QUESTIONS, *PLAN, *WEB, *WEB_SEARCH, *SUBAGENTS, *SKILLS, *MCP, *LSP)
TRAITS: Mapping[str, Traits] = {entry.name: entry.traits for entry in _TABLE}
"""The traits of all built-in tools, also of tools that this session lacks: former sessions may have used them."""


def tools(names: Collection[str] | None = None) -> tuple[Tool, ...]:
    """Return the built-in tools in the order that models see them, all or the named ones."""
    return tuple(tool for tool in _tools() if names is None or tool.name in names)


@cache
def _tools() -> tuple[Tool, ...]:
    """Return all built-in tools, one set for all sessions of the process."""
    return tuple(map(tool_of, _TABLE))


@cache
def tool_of(entry: Entry) -> Tool:
    """Return the tool of an entry, the same for all sessions of the process."""
    return entry.tool()


async def run(tool: Tool, ctx: ToolContext, call_id: str, given: Mapping[str, Any]) -> ToolOutput:
    """Run a call: check and correct its input, return its failure as an output, fill in its title."""
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
    """Return the input by the names of the function's parameters; unchanged for a function that takes any keyword."""
    names = _names(run)
    return {names.get(name, name): value for name, value in given.items()}


@lru_cache(maxsize=256)
def _names(run: Run) -> Mapping[str, str]:
    """Return the parameters' names by their names on the wire, if these differ."""
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(run).parameters.values())
    return {} if takes_any else wire_names(run)
