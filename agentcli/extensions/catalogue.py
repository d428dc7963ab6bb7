"""The skills, slash commands and kinds of agents that a session finds, and the reminder of additions and removals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentcli.agent.core import SessionCore
from agentcli.agent.nested_instructions import NestedSkills
from agentcli.core.tool import UNKNOWN
from agentcli.extensions.discover import Extensions, changes_since, with_nested


class Catalogue:
    """The extensions of one session, looked for at each prompt and in each folder of `skills` that its calls find."""

    def __init__(self, core: SessionCore, skills: NestedSkills) -> None:
        self._core, self._skills = core, skills
        self._found: Extensions | None = None
        self._nested = len(skills.folders)

    @property
    def found(self) -> Extensions:
        """The extensions found by the last search."""
        if self._found is None:
            self._found = self._search()
        return self._found

    async def refresh(self) -> str:
        """Look again; a reminder of the skills and agents that came and went since the session began, empty if none did."""
        self._found = await asyncio.to_thread(self._search)
        return self._changes(self._found)

    def touched(self) -> Sequence[str]:
        """Return the same reminder if calls have touched a folder with nested skills; nothing otherwise."""
        known, self._nested = self._nested, len(self._skills.folders)
        if self._nested == known:
            return ()
        before = self.found.skills
        self._found = found = self._search()
        return [*filter(None, [self._changes(found)])] if found.skills.keys() != before.keys() else ()

    def _search(self) -> Extensions:
        return with_nested(self._core.setup.extensions(), self._skills.folders, self._core.ctx.cwd)

    def _changes(self, found: Extensions) -> str:
        builder, setup = self._core.builder, self._core.setup
        delegates = any(setup.tools.traits.get(tool.name, UNKNOWN).delegates for tool in builder.tools)
        agents = found.agents if setup.settings.agent.subagents and delegates else {}
        loads = setup.parent.depth == 0 or any(tool.name == "skill" for tool in builder.tools)
        return changes_since(builder.system, found.skills if loads else {}, agents)
