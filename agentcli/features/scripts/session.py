"""The scripts of a session: where the model sees the tool, and what runs its calls."""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.tool_context import offer
from agentcli.core.errors import ToolError
from agentcli.core.model import ToolSchema
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.features.scripts.bounds import Bounds
from agentcli.permissions.sandbox import Sandbox
from agentcli.tools.script import NAME, Scripts

MANY_TOOLS = 20
"""Tools of connected servers from which a session lists `script`."""

BOUNDS = Bounds()


class ScriptsSession(SessionPart):
    """The scripts of a session."""

    name = "scripts"

    def __init__(self, core: SessionCore, sandbox: Sandbox, bounds: Bounds = BOUNDS) -> None:
        self._core, self._sandbox, self._bounds = core, sandbox, bounds
        self.services = [offer(Scripts, Scripts(self._run))]

    def upfront(self) -> Sequence[ToolSchema]:
        setup = self._core.setup
        wanted = setup.settings.limits.scripts == "on" or self._many()
        if not wanted or setup.settings.agent.is_small(self._core.model.window) or not self._sandbox.closes:
            return ()
        return [tool.schema for tool in setup.tools.offered if tool.traits.behaviour.calls_tools]

    def _many(self) -> bool:
        """Return True if the connected servers bring many tools."""
        servers = self._core.setup.servers
        states = servers.states() if servers is not None else ()
        return sum(state.tools for state in states if state.status == "connected") >= MANY_TOOLS

    async def _run(self, ctx: ToolContext, call_id: str, code: str) -> ToolOutput:
        if NAME not in (raw["name"] for raw in self._core.journal.history.tools):
            raise ToolError("This session has no scripts. Make the calls one by one.")
        from agentcli.features.scripts.run import run_script

        return await run_script(self._core, self._sandbox, self._bounds, ctx, call_id, code)
