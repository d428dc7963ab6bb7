"""Web search: by the provider's own tool, or by a search engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.core.tool import ToolLimits
from agentcli.program.feature import Feature
from agentcli.tools.registry import WEB_SEARCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.program.feature import Row
    from agentcli.program.program import Program
    from agentcli.providers.settings import ProviderSettings
    from agentcli.tools.entry import Entry


class WebSearch(Feature["Program"]):
    name = "web search"

    def on(self, program: Program) -> bool:
        return program.config[ToolLimits].web_search != "off"

    def tools(self) -> Sequence[Entry]:
        return WEB_SEARCH

    def checks(self, program: Program) -> Iterable[Row]:
        if not self.on(program):
            return ()
        from agentcli.features.web_search.engines import rows

        return rows(program)

    def session(self, program: Program, core: SessionCore) -> SessionPart:
        from agentcli.features.web_search.session import WebSearchSession

        return WebSearchSession(program, core)

    def keyed(self) -> Iterable[ProviderSettings]:
        from agentcli.features.web_search.engines import keyed

        return keyed()
