"""What one package adds to a program, as a class.

Imports almost nothing at run time: each feature's package imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from agentcli.core.dataclass import dataclass

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.agent.hooks import Hooks
    from agentcli.agent.ports import RunTurn
    from agentcli.agent.session import AgentSession
    from agentcli.agent.setup import MakeHooks
    from agentcli.core.event import Emit, TurnEnded
    from agentcli.core.mcp_servers import Servers
    from agentcli.core.model import ModelSpec
    from agentcli.core.tool import Tool, Traits
    from agentcli.permissions.started import Started
    from agentcli.program.command import Command
    from agentcli.program.definition import Definition
    from agentcli.providers.settings import ProviderSettings
    from agentcli.tools.entry import Entry

    WrapTurn = Callable[[RunTurn, AgentSession, asyncio.Event, Emit], Awaitable[TurnEnded]]

Row = tuple[str, bool, str]
"""Result of a check: its subject, whether it is fine, and the detail with a solution."""


class RunPart:
    """What a feature keeps for a whole run. Every method may be omitted."""

    def start(self) -> None:
        """Begin in the background what the run's sessions will need."""

    def servers(self) -> Servers | None:
        """Return a session's MCP servers; None if none is configured."""
        return None

    def tools(self) -> Sequence[Tool]:
        """Return tools that it adds to those of the features."""
        return ()

    def commands(self) -> Sequence[Command]:
        """Return slash commands that it adds now to those of the features."""
        return ()

    def notes(self) -> Sequence[str]:
        """Return notes for the person when a session is opened."""
        return ()

    def unread(self) -> str:
        """Return a warning about what is not read because the folder is not trusted; empty if there is none."""
        return ""

    def close(self) -> None:
        """End what was started."""


@dataclass(frozen=True, slots=True)
class FoundHooks:
    """Hooks in force: `make` makes a session's; `notes` are about skipped entries.

    `around` adds to the hooks that other features make.
    """

    make: MakeHooks | None = None
    notes: Sequence[str] = ()
    around: Callable[[Hooks], Hooks] | None = None


P = TypeVar("P", contravariant=True)


class Feature(Generic[P]):
    """What one package adds to a program. Every method may be omitted; methods import what only some runs need.

    `P` is the part of the program that it uses: `Program`, whose module imports this one, or any object. If a feature
    is off, only `tools`, `commands`, `keyed`, and for `doctor` its `checks` are called.
    """

    name: str

    def on(self, program: P) -> bool:
        """Return whether the settings switch it on."""
        return True

    def tools(self) -> Sequence[Entry]:
        """Return its tools, in the order in which models see them."""
        return ()

    def offers(self, program: P) -> bool:
        """Return whether new sessions get its tools."""
        return True

    def commands(self) -> Sequence[Command]:
        """Return its slash commands; called only if a slash command is typed or listed."""
        return ()

    def checks(self, program: P) -> Iterable[Row]:
        """Return its checks for `doctor`."""
        return ()

    def prompt(self, program: P, model: ModelSpec) -> str:
        """Return its part of the system prompt of a session that begins with a model."""
        return ""

    def session(self, program: P, core: SessionCore) -> SessionPart | None:
        """Return its part of a session."""
        return None

    def part(self, program: P) -> RunPart | None:
        """Return what it keeps for the run."""
        return None

    def hooks(self, program: P) -> FoundHooks | None:
        """Return the hooks in force when a session is opened."""
        return None

    def definitions(self, program: P) -> Iterable[Definition]:
        """Return what the files of a trusted project would start: a person must approve each."""
        return ()

    def started(self, program: P) -> Iterable[Started]:
        """Return the commands that it may start by itself: in mode auto, files that they run are protected."""
        return ()

    def keyed(self) -> Iterable[ProviderSettings]:
        """Return services whose keys a person may store, as providers without a wire format."""
        return ()

    def refuse(self, program: P, text: str, own: str) -> None:
        """Refuse a prompt that cannot be sent in an unattended run.

        `own` is the part that was not piped in. Raises InputError.
        """

    def wraps(self, program: P) -> Iterable[WrapTurn]:
        """Return what wraps the last turn of a headless run, and each turn of the Python API. Raises InputError for an
        unusable option.
        """
        return ()


def tools_of(features: Sequence[Feature[P]]) -> Sequence[Tool]:
    """Return the tools of features in the order in which models see them."""
    from agentcli.tools.entry import tool_of

    return [tool_of(entry) for feature in features for entry in feature.tools()]


def traits_of(features: Sequence[Feature[P]]) -> Mapping[str, Traits]:
    """Return the traits of all tools of features, including tools that a session lacks: earlier sessions may have used
    them.
    """
    return {entry.name: entry.traits for feature in features for entry in feature.tools()}
