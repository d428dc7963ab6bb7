"""Options of the Python API: the command line's flags under their names, and options that only a program can give."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.text.words import instead
from agentcli.frontends.opening import program_of
from agentcli.frontends.python.asking import answering, approving
from agentcli.program.config.toml import toml_value
from agentcli.program.front_end import FrontEnd
from agentcli.program.options import LAST, Flag, FlagOptions, Options, Texts, flags
from agentcli.tools.function_tool import as_tools

if TYPE_CHECKING:
    from agentcli.core.tool import Tool
    from agentcli.frontends.python.asking import OnAsk
    from agentcli.program.program import Program
    from agentcli.tools.function_tool import FunctionTool


class RunOptions(FlagOptions, total=False):
    """Options of `query`, `run` and `Session`. Fields of `FlagOptions` mean the same as the flags of the same name."""

    resume: str | Literal[True]
    """Session to continue: its id, a unique id prefix, or its name; True for the newest of the project."""
    env: Mapping[str, str]
    """Environment of the run instead of the process's: keys, settings, commands and hooks read it."""
    tools: Sequence[Callable[..., Any] | FunctionTool]
    """Functions that the model may call."""
    on_ask: OnAsk
    """Answers the agent's questions and requests for approval; without it they stay unanswered."""


_FLAGS = {flag.name: flag for flag in flags() if flag.name in FlagOptions.__annotations__}


@dataclass(frozen=True, slots=True)
class Given:
    """Checked options. `env` is a copy."""

    options: Options
    env: Mapping[str, str]
    tools: tuple[Tool, ...] = ()
    on_ask: OnAsk | None = None
    one_turn: bool = False
    """True if the first turn is the last: then it waits for its subagents in the background."""

    def program(self) -> Program:
        """Return the program around a session with these options.

        Raise AgentError for an invalid folder or configuration.
        """
        # Without a handler, Python prints warnings to stderr, which belongs to the embedding program.
        for name in ("agentcli", "mcp"):
            if not logging.getLogger(name).handlers:
                logging.getLogger(name).addHandler(logging.NullHandler())
        front_end = FrontEnd(tools=self.tools, one_turn=self.one_turn)
        if self.on_ask is not None:
            front_end = replace(front_end, approve=approving(self.on_ask), ask=answering(self.on_ask))
        return program_of(self.options, self.env, front_end)


def checked(given: Mapping[str, Any]) -> Given:
    """Check the options of a call. Raise UsageError for an unknown or invalid option, and for an invalid tool."""
    known = RunOptions.__annotations__
    for name in given:
        if name not in known:
            raise UsageError(f"Unknown option {name!r}.{instead(name, known)}")
    values = {}
    for name, flag in _FLAGS.items():
        if (value := given.get(name)) is not None:
            values[flag.field] = _value(flag, value)
    session = given.get("resume")
    if values.get("session_id") and session is not None:
        raise UsageError("session_id is for a new session; resume names one that exists.")
    if values.get("fork") and session is None:
        raise UsageError("fork needs a session to copy: name it with resume.")
    options = Options(**values, session=LAST if session is True else session, print=True)
    env = given.get("env")
    return Given(options, dict(os.environ if env is None else env), _tools(given), given.get("on_ask"))


def _value(flag: Flag, value: Any) -> Any:
    """Return the value of an option in the form of `Options`. Raise UsageError for an invalid limit."""
    if isinstance(value, Mapping):
        return set_options(value) if flag.kind == "list" else json.dumps(value)
    match flag.kind:
        case "list":
            return repeated(value)
        case "whole" | "decimal":
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise UsageError(f"{flag.name} must be a number from 0 on, not {value!r}.")
        case _:
            return os.fspath(value) if isinstance(value, os.PathLike) else value
    return value


def _tools(given: Mapping[str, Any]) -> tuple[Tool, ...]:
    if not given.get("tools"):
        return ()
    return as_tools(given["tools"])


def repeated(value: Texts | Sequence[Path] | None) -> tuple[str, ...]:
    """Return the values of a flag that may be repeated."""
    return (value,) if isinstance(value, str) else tuple(map(os.fspath, value or ()))


def set_options(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return settings in the form of `--set`."""
    return tuple(f"{key}={value if isinstance(value, str) else toml_value(value)}" for key, value in values.items())
