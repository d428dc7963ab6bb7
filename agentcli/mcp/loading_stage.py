"""Stage of the search for MCP tools: a model that loads tools itself gets the definitions of the tools found."""

from __future__ import annotations

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.setup import SessionSetup
from agentcli.core.dataclass import replace
from agentcli.core.mcp_servers import SEARCH
from agentcli.mcp.server_tools import ServerTools


class LoadingStage(Stage):
    """Adds definitions of tools to the output of a search."""

    def __init__(self, setup: SessionSetup, server_tools: ServerTools, builder: RequestBuilder) -> None:
        self._setup, self._server_tools, self._builder = setup, server_tools, builder

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            call = await run(call)
            if (
                call.output is None
                or call.call.name != SEARCH
                or not self._setup.models.defers(self._builder.model.spec)
            ):
                return call
            return replace(call, output=self._server_tools.loading(call.output, self._builder.journal.history))

        return ran
