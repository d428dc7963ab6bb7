"""Web search in a session."""

from __future__ import annotations

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.tool_context import offer
from agentcli.features.web_search.asking import AskedEngine
from agentcli.features.web_search.engines import chosen
from agentcli.features.web_search.provider import ProviderSearch
from agentcli.program.project import Project
from agentcli.tools.web_search import SearchEngine


class WebSearchSession(SessionPart):
    """The web search of a session."""

    name = "web search"

    def __init__(self, program: Project, core: SessionCore) -> None:
        """Raise ConfigError for a setting that makes no sense."""
        limits = core.setup.settings.limits
        found = chosen(limits.web_search)
        engine = found.engine
        service: SearchEngine = (
            ProviderSearch(core) if engine is None else AskedEngine(found, engine, program.env, limits)
        )
        self.services = [offer(SearchEngine, service)]
