"""Flags of sessions and runs, and those that several commands share, as typer sees them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import typer


def taking(options: type, name: str = "asked") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a parameter for each field of a dataclass; it gets them as one value, its argument `name`."""
    return functools.partial(_Taking, options, name)


class _Taking:
    """A command with the fields of a dataclass as parameters, which are read off it when the command is asked for."""

    __name__: str

    def __init__(self, options: type, name: str, command: Callable[..., Any]) -> None:
        functools.update_wrapper(self, command, ("__module__", "__name__", "__qualname__", "__doc__"))
        self._options, self._name, self._command = options, name, command

    def __call__(self, **given: Any) -> Any:
        asked = self._options(**{each.name: given.pop(each.name) for each in fields(self._options)})
        return self._command(**given, **{self._name: asked})

    # Typer reads a command's parameters off its signature and annotations.
    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        hints = get_type_hints(self._command, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in inspect.signature(self._command).parameters.values()
            if parameter.name != self._name
        ]
        return inspect.Signature([*own, *_parameters(self._options)])

    @functools.cached_property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {name: each.annotation for name, each in self.__signature__.parameters.items()}


def by_option(flags: Any) -> dict[str, Any]:
    """The values of flags by the names of `Options`, repeatable ones as tuples."""
    values = {each.name: getattr(flags, each.name) for each in fields(flags)}
    lists = {to: tuple(values.pop(name) or ()) for name, to in _LISTS.items() if name in values}
    return values | lists


_LISTS = {name: name for name in ("allow", "deny", "mcp_config", "settings")} | {"add_dir": "add_dirs"}
"""Repeatable flags, and what they are called in Options."""


def _parameters(options: type) -> list[inspect.Parameter]:
    hints = get_type_hints(options, include_extras=True)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [
        inspect.Parameter(each.name, kind, default=each.default, annotation=hints[each.name])
        for each in fields(options)
    ]


class Format(StrEnum):
    """Output format of a run without a REPL."""

    text = "text"
    json = "json"
    stream_json = "stream-json"


Model = Annotated[
    str, typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias, see `agentcli models`")
]
Mode = Annotated[str, typer.Option(metavar="MODE", help="ask, auto-edit, plan, yolo or auto")]
Allow = Annotated[
    list[str] | None, typer.Option(metavar="RULE", help="TOOL(pattern) to run without asking; repeatable")
]
Deny = Annotated[list[str] | None, typer.Option(metavar="RULE", help="TOOL(pattern) to never run; repeatable")]
Cwd = Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="work in this folder")]
AddDir = Annotated[list[str] | None, typer.Option(metavar="DIR", help="add a folder to the workspace; repeatable")]
McpConfig = Annotated[
    list[str] | None, typer.Option(metavar="FILE|JSON", help="also use the MCP servers defined there; repeatable")
]
Output = Annotated[
    Format, typer.Option("-o", "--output-format", metavar="FORMAT", help="output of -p: text, json or stream-json")
]
MaxTurns = Annotated[int | None, typer.Option(min=0, metavar="N", help="stop after N requests to the model")]
MaxCost = Annotated[float | None, typer.Option(min=0, metavar="USD", help="stop at this cost in USD")]
MaxTokens = Annotated[int | None, typer.Option(min=0, metavar="N", help="stop after N tokens, input and output")]
MaxTime = Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="stop after this time")]
SystemPrompt = Annotated[str | None, typer.Option(metavar="TEXT", help="replace the system prompt")]
SystemPromptFile = Annotated[str | None, typer.Option(metavar="FILE", help="replace it with the text of a file")]
AppendPrompt = Annotated[str, typer.Option("--append-system-prompt", metavar="TEXT", help="add to the system prompt")]
AppendPromptFile = Annotated[
    str | None, typer.Option("--append-system-prompt-file", metavar="FILE", help="add the text of a file to it")
]
AgentName = Annotated[str, typer.Option("--agent", metavar="NAME", help="use this agent, see `agentcli agents list`")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="change a setting for this run; repeatable")
]
NoSession = Annotated[bool, typer.Option("--no-session", help="do not store the session")]
SessionId = Annotated[
    str, typer.Option("--session-id", metavar="ID", help="give the new session this id, such as a UUID")
]
Fork = Annotated[bool, typer.Option("--fork", help="resume a copy of the session")]
Handoff = Annotated[
    str | None,
    typer.Option(
        "--handoff", metavar="TEXT", help="with -p: hand the session off to a new one; TEXT says what comes next"
    ),
]
Trust = Annotated[bool, typer.Option("--trust", help="trust this folder for this run")]
Plain = Annotated[bool, typer.Option("--plain", help="print plain lines: no colours, no cursor movement")]
Print = Annotated[bool, typer.Option("--print", hidden=True)]
PromptText = Annotated[
    str | None,
    typer.Option("-p", "--prompt", metavar="PROMPT", help="answer one prompt and exit; - reads it from stdin"),
]

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
InFolder = Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="use this folder instead of the current one")]
InProject = Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="use the project of this folder")]
AllProjects = Annotated[bool, typer.Option("--all", help="include all projects")]
