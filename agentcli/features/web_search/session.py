"""Web search in a session: by the provider of its model, or by the configured search engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.tool_context import offer
from agentcli.core.errors import ToolError, in_words, innermost
from agentcli.core.tool import ToolLimits
from agentcli.features.web_search.engines import Chosen, Engine, chosen
from agentcli.features.web_search.provider import ProviderSearch
from agentcli.program.project import Project
from agentcli.system.network import EVERYWHERE, target
from agentcli.tools.lib.web_request import Page, client_for, exchanged
from agentcli.tools.web_search import Found, SearchEngine

LARGEST = 2_000_000
"""Maximum bytes of an answer."""
_REFUSED = (401, 403)


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


class AskedEngine:
    """A search engine of the user's choice."""

    def __init__(self, chosen: Chosen, engine: Engine, env: Mapping[str, str], limits: ToolLimits) -> None:
        self._engine, self._address, self._limits = engine, chosen.address, limits
        self._key = env.get(engine.key_variable, "").strip() if engine.key_variable else ""
        # The user's own engine may be at a private address. No redirect is followed, so nothing else is reached by it.
        self._allowed = EVERYWHERE if chosen.own else limits.fetch_addresses

    async def search(self, query: str) -> Found:
        """Return the pages. Raises ToolError."""
        engine, seconds = self._engine, self._limits.fetch_seconds
        if engine.key_variable and not self._key:
            raise ToolError(f"{engine.title} needs a key, and {engine.key_variable} is not set. Tell the user.")
        try:
            async with asyncio.timeout(seconds):
                page = await self._page(query)
        except TimeoutError as error:
            raise ToolError(f"{engine.title} took longer than {seconds:g} s.") from error
        if page.status in _REFUSED:
            cure = engine.refused or f"The key in {engine.key_variable} may be wrong."
            raise ToolError(f"{engine.title} refuses the search ({page.status}). {cure}")
        if page.status != 200:
            raise ToolError(f"{engine.title} answers {page.status}.")
        try:
            return Found(engine.title, tuple(engine.pages(json.loads(page.body))))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            kind = page.kind.partition(";")[0] or "no content type"
            raise ToolError(f"{engine.title} answered with {kind:.60}, not with search results.") from error

    async def _page(self, query: str) -> Page:
        import httpx2

        title = self._engine.title
        url, request = self._engine.request(self._address, query, self._key)
        try:
            async with client_for(self._limits.fetch_seconds) as client:
                page = await exchanged(client, await target(url, self._allowed), request, LARGEST)
        except httpx2.HTTPError as error:
            cause = innermost(error) if isinstance(error, httpx2.ConnectError) else error
            raise ToolError(f"Can't reach {title} at {self._address}: {in_words(cause)}.") from error
        except (httpx2.InvalidURL, ValueError) as error:
            raise ToolError(f"Can't ask {title} at {self._address}: {error}.") from error
        except ToolError as error:
            raise ToolError(f"{title}: {error}") from error
        if isinstance(page, str):
            raise ToolError(f"{title} redirects to {page:.200}, which is not followed. Correct tools.web_search.")
        return page
