"""Extensions: Python files of the user, of a project and of packages that add tools, commands and handlers of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from agentcli.agent.feature import SessionPart
from agentcli.program.feature import Feature
from agentcli.system import probe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from types import ModuleType

    from agentcli.agent.core import SessionCore
    from agentcli.core.event import Event, TurnEnded
    from agentcli.extension import Status
    from agentcli.extension.events import EventName
    from agentcli.features.extensions.run import LoadedRun
    from agentcli.features.extensions.session import SessionHost
    from agentcli.program.command import Command, Group
    from agentcli.program.definition import Definition
    from agentcli.program.feature import FoundHooks, RunPart, WrapTurn
    from agentcli.program.program import Program


class BuiltIn(Feature["Program"]):
    """A feature written as an extension: its code knows nothing of ours but `agentcli.extension`.

    The module is imported once a slash command is looked for, or one of its events happens.
    """

    group: Group = "Work"
    """Group of its slash commands in /help."""
    events: Collection[str] = ()
    """Events that it handles."""
    wraps_turns: bool = False
    """True if a function of it is called around turns."""
    prompts: ClassVar[Mapping[str, str]] = {}
    """Settings of its slash commands that are prompts of the program: names of files."""
    from_turn: int = 0
    """Number of the first turn of a session in which its handlers do anything."""

    def module(self) -> ModuleType:
        """Import and return its module."""
        raise NotImplementedError

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        return BuiltInPart(self, program, core) if self.events and not core.setup.parent.depth else None

    def settings(self, program: Program) -> Mapping[str, Any]:
        """Return the values of its settings. Raises AgentError."""
        return {}

    def wraps(self, program: Program) -> Iterable[WrapTurn]:
        if not self.wraps_turns:
            return ()
        from agentcli.features.extensions.built_in import extension_of, wraps_of

        return wraps_of(extension_of(self.name, self.module()), self.settings(program))

    def host(self, program: Program, core: SessionCore) -> SessionHost:
        """Return the extension's host in a session."""
        from agentcli.features.extensions.built_in import extension_of, host_of

        return host_of(extension_of(self.name, self.module()), self.settings(program), core)

    def commands(self) -> Sequence[Command]:
        from agentcli.features.extensions.built_in import commands_of, extension_of
        from agentcli.resources import prompt

        texts = {name: prompt(file) for name, file in self.prompts.items()}
        return commands_of(extension_of(self.name, self.module()), self.group, texts)


class BuiltInPart(SessionPart):
    """A built-in extension in a session."""

    def __init__(self, feature: BuiltIn, program: Program, core: SessionCore) -> None:
        self.name, self.reads_status = feature.name, "status" in feature.events
        self._feature, self._program, self._core = feature, program, core
        self._made: SessionHost | None = None

    @property
    def status(self) -> str:  # type: ignore[override]
        """Its text for the status line."""
        return self._made.status.get(self.name, "") if self._made is not None else ""

    async def refresh_status(self, now: Status) -> bool:
        host = self._host("status")
        return await host.refresh_status(now) if host is not None else False

    def notices(self) -> Iterable[Event]:
        return self._made.take_events() if self._made is not None else ()

    async def ended(self, ended: TurnEnded) -> Iterable[Event]:
        if (host := self._host("turn_end")) is None:
            return ()
        from agentcli.extension import TurnEnd

        await host.each("turn_end", lambda: TurnEnd(ended.text, ended.ending))
        return host.take_events()

    def host(self) -> SessionHost:
        """Return its host."""
        if self._made is None:
            self._made = self._feature.host(self._program, self._core)
        return self._made

    def _host(self, event: EventName) -> SessionHost | None:
        """Return the host if the extension handles the event in this session."""
        if event not in self._feature.events or len(self._core.spending.turns) < self._feature.from_turn:
            return None
        return self.host()


class PythonExtensions(Feature["Program"]):
    name = "extensions"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.extensions.commands import COMMANDS

        return COMMANDS

    def part(self, program: Program) -> RunPart | None:
        return _loaded(program)

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        loaded = _loaded(program)
        if loaded is None:
            return None
        from agentcli.features.extensions.part import ExtensionsSession

        return ExtensionsSession(loaded, core)

    def hooks(self, program: Program) -> FoundHooks | None:
        if _loaded(program) is None:
            return None
        from agentcli.features.extensions.hooks import ExtensionHooks
        from agentcli.program.feature import FoundHooks

        return FoundHooks(around=ExtensionHooks)

    def wraps(self, program: Program) -> Iterable[WrapTurn]:
        loaded = _loaded(program)
        return loaded.wraps() if loaded is not None else ()

    def definitions(self, program: Program) -> Iterable[Definition]:
        loaded = _loaded(program)
        return loaded.definitions() if loaded is not None else ()


def _loaded(program: Program) -> LoadedRun | None:
    """Return the extensions of a run; None if no folder and no flag may hold one. Then nothing is imported."""
    if program.options.no_extensions:
        return None
    if not program.options.extensions and not probe.is_dir(program.dirs.config / "extensions"):
        from agentcli.program.files import project_files

        with_plugins = any(probe.is_dir(one.folder / "extensions") for one in program.plugins[0])
        if not with_plugins and not project_files(program.cwd, [".agentcli/extensions"]).paths:
            return None
    from agentcli.features.extensions.run import run_of

    return run_of(program)
