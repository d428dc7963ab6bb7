"""Options of the Python API: those of the command line under the names of its flags, and what only a program can give."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agentcli.app.options import LAST, Options
from agentcli.config.toml_text import toml_value
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.text.near import did_you_mean, near_names

if TYPE_CHECKING:
    from agentcli.api.asking import OnAsk
    from agentcli.api.tools import FunctionTool
    from agentcli.app.program import Program
    from agentcli.core.record import Mode
    from agentcli.core.tool import Tool

Texts = Sequence[str] | str
"""One value of a flag that may be repeated, or several."""


class RunOptions(TypedDict, total=False):
    """Options of `query`, `run` and `Session`. All have the meaning of the flag of their name but the last five."""

    cwd: str | Path
    model: str
    mode: Mode
    allow: Texts
    deny: Texts
    add_dir: Sequence[str | Path]
    mcp_config: Texts
    max_turns: int | None
    max_cost: float | None
    max_tokens: int | None
    max_time: float | None
    system_prompt: str | None
    append_system_prompt: str
    agent: str
    set: Mapping[str, Any]
    no_session: bool
    session_id: str
    fork: bool
    trust: bool
    resume: str | Literal[True]
    """The session to continue: its id, a unique beginning of it, or its name; True for the newest of the project."""
    env: Mapping[str, str]
    """The environment of the run instead of the process's: keys, settings, commands and hooks read it."""
    tools: Sequence[Callable[..., Any] | FunctionTool]
    """Functions that the model may call."""
    on_ask: OnAsk
    """Answers the agent's questions and requests for approval; without it nobody does."""


_LISTS = {"allow": "allow", "deny": "deny", "add_dir": "add_dirs", "mcp_config": "mcp_config"}
"""Repeatable flags, and what they are called in Options."""
_LIMITS = ("max_turns", "max_cost", "max_tokens", "max_time")
_APART = ("set", "resume", "env", "tools", "on_ask")


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
        """The program around a session with these options. Raises AgentError for a folder or configuration that is wrong."""
        from agentcli.api.asking import answering, approving
        from agentcli.app.program import Program

        # Without a handler, Python prints warnings to stderr, which belongs to the program around us.
        for name in ("agentcli", "mcp"):
            if not logging.getLogger(name).handlers:
                logging.getLogger(name).addHandler(logging.NullHandler())
        program = Program(self.options, self.env)
        program.own_tools, program.one_turn = self.tools, self.one_turn
        if self.on_ask is not None:
            program.approve, program.ask = approving(self.on_ask), answering(self.on_ask)
        return program


def checked(given: Mapping[str, Any]) -> Given:
    """The options of a call. Raises UsageError for one that does not exist or makes no sense, and for a tool that is none."""
    known = RunOptions.__annotations__
    for name in given:
        if name not in known:
            raise UsageError(f"There is no option {name!r}.{did_you_mean(near_names(name, known))}")
    for name in _LIMITS:
        limit = given.get(name)
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0):
            raise UsageError(f"{name} must be a number from 0 on, not {limit!r}.")
    flags = {name: value for name, value in given.items() if name not in _APART and value is not None}
    flags |= {to: repeated(flags.pop(name)) for name, to in _LISTS.items() if name in flags}
    session = given.get("resume")
    if flags.get("session_id") and session is not None:
        raise UsageError("session_id is for a new session; resume names one that exists.")
    if flags.get("fork") and session is None:
        raise UsageError("fork needs a session to copy: name it with resume.")
    options = Options(
        **{**flags, "cwd": os.fspath(given.get("cwd") or "")},
        settings=set_options(given.get("set") or {}),
        session=LAST if session is True else session,
        print=True,
    )
    env = given.get("env")
    return Given(options, dict(os.environ if env is None else env), _tools(given), given.get("on_ask"))


def _tools(given: Mapping[str, Any]) -> tuple[Tool, ...]:
    if not given.get("tools"):
        return ()
    from agentcli.api.tools import as_tools

    return as_tools(given["tools"])


def repeated(value: Texts | Sequence[Path] | None) -> tuple[str, ...]:
    """The values of a flag that may be repeated."""
    return (value,) if isinstance(value, str) else tuple(map(os.fspath, value or ()))


def set_options(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings as `--set` takes them."""
    return tuple(f"{key}={value if isinstance(value, str) else toml_value(value)}" for key, value in values.items())
