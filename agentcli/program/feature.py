"""A feature of the program as a class: what one package brings to every session, to the slash commands and to `doctor`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.parts import MakePart
from agentcli.agent.setup import MakeHooks, no_hooks
from agentcli.core.dataclass import dataclass
from agentcli.core.model import ModelSpec
from agentcli.core.tool import Tool, Traits
from agentcli.permissions.started import Started
from agentcli.program.front_end import FrontEnd
from agentcli.program.project import Project
from agentcli.tools.entry import Entry, tool_of

if TYPE_CHECKING:
    import asyncio

    from agentcli.agent.ports import RunTurn
    from agentcli.agent.project.instructions import InstructionSet
    from agentcli.agent.session import AgentSession
    from agentcli.agent.settings import AgentSettings
    from agentcli.core.event import Emit, TurnEnded
    from agentcli.core.mcp_servers import Servers
    from agentcli.program.command import Command
    from agentcli.program.definition import Definition
    from agentcli.providers.settings import ProviderSettings

    WrapTurn = Callable[[RunTurn, AgentSession, asyncio.Event, Emit], Awaitable[TurnEnded]]

Row = tuple[str, bool, str]
"""The result of a check: its subject, whether all is well, and the detail with a cure."""


class RunPart:
    """What a feature keeps for a whole run. Every method may be left out."""

    def start(self) -> None:
        """Begin in the background what the sessions of the run will need."""

    def servers(self) -> Servers | None:
        """Return the MCP servers that a session gets; None if none is configured."""
        return None

    def notes(self) -> Sequence[str]:
        """Return notes for the person when a session is opened."""
        return ()

    def unread(self) -> str:
        """Return a warning about what is not read because the folder is not trusted; empty if there is nothing to say."""
        return ""

    def close(self) -> None:
        """End what was started."""


P = TypeVar("P", bound=RunPart)


@dataclass(frozen=True, slots=True)
class FoundHooks:
    """The hooks in force: `make` makes those of a session; `notes` are about entries that were skipped."""

    make: MakeHooks = no_hooks
    notes: Sequence[str] = ()


class CheckedProgram(Project, ABC):
    """A project with the parts of the program that features may use."""

    features: Sequence[Feature]
    traits: Mapping[str, Traits]
    """The traits of all tools that there are."""
    front_end: FrontEnd
    parts: Sequence[RunPart]
    """What the features keep for the run."""

    def part(self, kind: type[P]) -> P | None:
        """Return the part of the run of this class; None without its feature."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    @property
    @abstractmethod
    def agent_settings(self) -> AgentSettings:
        """The settings of a turn."""

    @abstractmethod
    def instruction_files(self) -> InstructionSet:
        """Read the instruction files in force."""


class Feature:
    """What one package brings to a program. Every method may be left out; it imports what only some runs need when it is called."""

    name: str
    tools: Sequence[Entry] = ()

    def offers(self, program: CheckedProgram) -> bool:
        """Return whether new sessions get its tools."""
        return True

    def commands(self) -> Sequence[Command]:
        """Return its slash commands; called only if a slash command is typed or listed."""
        return ()

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        """Return its checks for `doctor`."""
        return ()

    def prompt(self, program: CheckedProgram, model: ModelSpec) -> str:
        """Return its part of the system prompt of a session that begins with a model."""
        return ""

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        """Return its part of a session, if the agent does not make it itself."""
        return None

    def part(self, program: CheckedProgram) -> RunPart | None:
        """Return what it keeps for the run."""
        return None

    def hooks(self, program: CheckedProgram) -> FoundHooks | None:
        """Return the hooks in force when a session is opened."""
        return None

    def definitions(self, program: CheckedProgram) -> Iterable[Definition]:
        """Return what the files of a trusted project would start: a person has to approve each."""
        return ()

    def started(self, program: CheckedProgram) -> Iterable[Started]:
        """Return the commands that it may start by itself: in mode auto, files that they run are protected."""
        return ()

    def keyed(self) -> Iterable[ProviderSettings]:
        """Return services whose keys a person may store, as providers without a wire format."""
        return ()

    def refuse(self, program: CheckedProgram, text: str, own: str) -> None:
        """Raise InputError for a prompt that cannot be sent without a person there; `own` is the part of it that was not piped in."""

    def wraps(self, program: CheckedProgram) -> Iterable[WrapTurn]:
        """Return what wraps the last turn of a run without a terminal, and each of the Python API. Raises InputError for an unusable option."""
        return ()


def tools_of(features: Sequence[Feature]) -> Sequence[Tool]:
    """Return the tools of features in the order that models see them."""
    return [tool_of(entry) for feature in features for entry in feature.tools]


def traits_of(features: Sequence[Feature]) -> Mapping[str, Traits]:
    """Return the traits of all tools of features, also of tools that a session lacks: former sessions may have used them."""
    return {entry.name: entry.traits for feature in features for entry in feature.tools}


def session_features(program: CheckedProgram) -> Sequence[MakePart]:
    """Return the makers of what the features of a program bring to each of its sessions."""
    return [partial(feature.session, program) for feature in program.features]


def wraps(program: CheckedProgram) -> Sequence[WrapTurn]:
    """Return what features wrap around the turns of a run. Raises InputError."""
    return [wrap for feature in program.features for wrap in feature.wraps(program)]
