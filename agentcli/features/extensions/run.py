"""Extensions of a run: found, approved, imported, and loaded again if a file has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import AgentError
from agentcli.features.extensions.loading import Extension, Loaded, forget, load, settings_of
from agentcli.features.extensions.sources import Source, found, stamp
from agentcli.features.extensions.worker import Worker
from agentcli.program.feature import RunPart
from agentcli.tools.function_tool import Contexts, as_tools

if TYPE_CHECKING:
    from agentcli.agent.ports import RunTurn
    from agentcli.agent.session import AgentSession
    from agentcli.core.event import Emit, TurnEnded
    from agentcli.core.tool import Tool
    from agentcli.program.command import Command
    from agentcli.program.definition import Definition
    from agentcli.program.feature import WrapTurn
    from agentcli.program.program import Program


class LoadedRun(Loaded, RunPart):
    """The extensions of a run that files and packages define.

    Files are read when tools are first asked for, and again before each session is opened.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.worker = Worker()
        self.all: list[Extension] = []
        self.left_out: Sequence[str] = ()
        self._stamp: tuple[object, ...] = ()
        self._allowed: frozenset[str] = frozenset()
        self._commands: tuple[Command, ...] | None = None
        self._tools: Sequence[Tool] | None = None
        self._defined: tuple[object, Sequence[Definition]] | None = None

    def refresh(self, force: bool = False) -> bool:
        """Load what is new or has changed; return True if something was loaded again.

        Raise InputError for a file of `-e` that cannot be read.
        """
        before = self._stamp
        self._stamp = stamp(self._program, self._program.options.extensions)
        allowed = frozenset(one.digest for one in self.definitions() if self._program.approvals.allows(one))
        if not force and before == self._stamp and allowed == self._allowed:
            return False
        self._allowed = allowed
        there = found(self._program, self._program.options.extensions)
        self.left_out = there.notes
        sources = [one for one in there.sources if self._may_run(one)]
        known = {one.source.digest + one.name: one for one in self.all if one.source.files and not force}
        former, self.all = self.all, []
        for source in sources:
            self.all.append(known.get(source.digest + source.name) or self._loaded(source))
        for gone in {one.name for one in former} - {one.name for one in self.all}:
            forget(gone)
        self._commands = self._tools = None
        return bool(former) and [*former] != self.all

    def _may_run(self, source: Source) -> bool:
        return source.place != "project" or self._program.approvals.allows(source.definition)

    def _loaded(self, source: Source) -> Extension:
        made = load(source, self.worker, self._program.dirs.cache)
        taken = {tool.name for one in self.all for tool in one.tools}
        for tool in made.tools:
            tool.call = self._caller(made)
            if tool.name in taken:
                made.fault(f"another extension has a tool named {tool.name}.", "import")
        made.tools = tuple(tool for tool in made.tools if tool.name not in taken)
        return made

    def _caller(self, extension: Extension) -> Any:
        async def called(function: Any, values: dict[str, Any]) -> Any:
            began = time.monotonic()
            try:
                return await asyncio.wrap_future(self.worker.begin(extension.name, function, **values))
            finally:
                extension.calls += 1
                extension.seconds += time.monotonic() - began

        return called

    def definitions(self) -> Sequence[Definition]:
        """Return the project's extensions, which a person must approve. Files are read again once they have changed."""
        program = self._program
        if not program.trusted:
            return ()
        now = stamp(program, ())
        if self._defined is None or self._defined[0] != now:
            there = found(program, ())
            self._defined = now, [one.definition for one in there.sources if one.place == "project"]
        return self._defined[1]

    def waiting(self) -> Sequence[Definition]:
        return [one for one in self.definitions() if not self._program.approvals.allows(one)]

    def tools(self) -> Sequence[Tool]:
        self.refresh()
        return self.present_tools()

    def present_tools(self) -> Sequence[Tool]:
        """Return the tools of the extensions that are loaded."""
        if self._tools is None:
            self._tools = as_tools([tool for one in self.all for tool in one.tools])
        return self._tools

    def wraps(self) -> Sequence[WrapTurn]:
        """Return what the extensions wrap around turns."""
        return [self._wrapping] if any(one.around for one in self.active()) else ()

    async def _wrapping(self, turn: RunTurn, session: AgentSession, interrupt: asyncio.Event, emit: Emit) -> TurnEnded:
        """Run a turn within the functions of all extensions, the first one outermost."""
        from agentcli.features.extensions.session import SessionHost
        from agentcli.features.extensions.turns import run_around

        host = session.core.ctx.service(Contexts)
        if isinstance(host, SessionHost):
            for extension in reversed(self.active()):
                for function in reversed(extension.around):
                    turn = partial(run_around, host, extension, function, turn, session)
        return await turn(interrupt, emit)

    def commands(self) -> Sequence[Command]:
        if self._commands is None:
            from agentcli.features.extensions.slash import commands_of

            taken = {one.name for feature in self._program.features for one in feature.commands()} | {"help"}
            self._commands = commands_of(self, taken)
        return self._commands

    def settings_of(self, extension: Extension) -> Any:
        """Return the settings of an extension; its defaults, with a fault, if they have a wrong type."""
        given = self._program.config.extensions.get(extension.name)
        try:
            return settings_of(extension, given)
        except AgentError as error:
            extension.fault(error, "settings")
            return settings_of(extension, None)

    def notes(self) -> Sequence[str]:
        return (*self.left_out, *(text for one in self.all for text in one.take_untold()))

    def close(self) -> None:
        self.worker.close()


def run_of(program: Program) -> LoadedRun:
    """Return the extensions of a run, from now on."""
    parts = getattr(program, "parts", None)
    found = program.part(LoadedRun) if parts is not None else None
    if found is None:
        found = LoadedRun(program)
        if parts is not None:
            parts.append(found)
    return found
