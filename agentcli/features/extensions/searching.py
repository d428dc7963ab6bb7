"""Functions of extensions as the engine of the tool `web_search`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentcli.core.errors import AgentError, ToolError
from agentcli.core.model import Source
from agentcli.tools.web_search import Found

if TYPE_CHECKING:
    from agentcli.features.extensions.session import SessionHost

SECONDS = 60.0
"""Seconds that a search may take, not counting requests."""


class ExtensionSearch:
    """The first function marked with `search_engine` among the extensions of a host."""

    def __init__(self, host: Callable[[], SessionHost], title: str = "") -> None:
        self._host, self._title = host, title

    async def search(self, query: str) -> Found:
        """Return the pages. Raises ToolError."""
        host = self._host()
        extension = next((one for one in host.run.active() if one.engine is not None), None)
        if extension is None:
            raise ToolError("No extension searches the web. Tell the user: tools.web_search is `extension`.")
        title = self._title or extension.name
        try:
            found = await host.call(extension, extension.engine, SECONDS, "search", query, raises=True)
        except AgentError as error:
            raise ToolError(str(error)) from error
        if not isinstance(found, list | tuple) or not all(isinstance(one, Source) for one in found):
            extension.fault("a search engine returns a list of Source.", "search")
            raise ToolError(f"The search by {title} failed.")
        return Found(title, tuple(found))
