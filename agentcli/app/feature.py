"""A feature of the program as a value: what one package brings to every session, to the slash commands and to `doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from agentcli.agent.feature import MakeFeature
from agentcli.core.dataclass import dataclass
from agentcli.core.model import ModelSpec
from agentcli.core.tool import Tool, Traits
from agentcli.project.opened import OpenedProject
from agentcli.tools.registry import Entry, tool_of

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.agent.settings import AgentSettings
    from agentcli.config import Config
    from agentcli.mcp.run_servers import RunServers
    from agentcli.project.extensions import Extensions
    from agentcli.project.instructions import InstructionSet
    from agentcli.sessions.store import Store
    from agentcli.ui.commands.definition import Command
    from agentcli.ui.commands.registry import SlashCommands

Row = tuple[str, bool, str]
"""The result of a check: its subject, whether all is well, and the detail with a cure."""


class CheckedProgram(OpenedProject, Protocol):
    """The program as checks and parts of the system prompt see it."""

    features: Sequence[Feature]
    traits: Mapping[str, Traits]
    """The traits of all tools that there are."""
    servers: RunServers

    @property
    def config(self) -> Config:
        """The settings in force."""
        ...

    @property
    def agent_settings(self) -> AgentSettings:
        """The settings of a turn."""
        ...

    @property
    def extensions(self) -> Extensions:
        """The skills, slash commands and kinds of agents."""
        ...

    @property
    def store(self) -> Store:
        """The session store."""
        ...

    @property
    def worktrees(self) -> Path:
        """The folder of the subagents' worktrees."""
        ...

    def instruction_files(self) -> InstructionSet:
        """Read the instruction files in force."""
        ...


def no_rows(_: CheckedProgram) -> Iterable[Row]:
    """Return no results of checks."""
    return ()


def no_part(_: CheckedProgram, model: ModelSpec) -> str:
    """Return no part of the system prompt."""
    return ""


def later(place: str) -> Callable[..., Any]:
    """Return a function that imports `module:name` of this package when it is called. If the name is a function, it is called; else returned."""

    def imported(*arguments: Any) -> Any:
        module, _, name = place.partition(":")
        found = getattr(import_module(f"agentcli.{module}"), name)
        return found(*arguments) if callable(found) else found

    return imported


@dataclass(frozen=True, slots=True)
class Feature:
    """Parts that one package brings; everything but the name may be empty. What only some runs need is imported `later`."""

    name: str
    tools: Sequence[Entry] = ()
    commands: Callable[[], Sequence[Command]] = tuple
    """Its slash commands; called only if a slash command is typed or listed."""
    checks: Callable[[CheckedProgram], Iterable[Row]] = no_rows
    """Its checks for `doctor`."""
    prompt: Callable[[CheckedProgram, ModelSpec], str] = no_part
    """Its part of the system prompt of a session that begins with a model."""
    session: MakeFeature | None = None
    """Makes its part of a session, if the agent does not make it itself."""


def tools_of(features: Sequence[Feature]) -> Sequence[Tool]:
    """Return the tools of features in the order that models see them."""
    return [tool_of(entry) for feature in features for entry in feature.tools]


def traits_of(features: Sequence[Feature]) -> Mapping[str, Traits]:
    """Return the traits of all tools of features, also of tools that a session lacks: former sessions may have used them."""
    return {entry.name: entry.traits for feature in features for entry in feature.tools}


def session_features(features: Sequence[Feature]) -> Sequence[MakeFeature]:
    """Return the makers of what features bring to each session."""
    return [feature.session for feature in features if feature.session is not None]


def slash_commands(features: Sequence[Feature]) -> SlashCommands:
    """Return the registry of the slash commands that features bring."""
    from agentcli.ui.commands.registry import SlashCommands

    return SlashCommands([command for feature in features for command in feature.commands()])
