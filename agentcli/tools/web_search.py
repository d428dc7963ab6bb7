"""The web_search tool: web pages that answer a query, from the provider's own search or a search engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.model import Source
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry

LONGEST_QUERY = 400
"""Maximum characters of a query: the strictest engine accepts no more."""
SOURCES = 20
"""Maximum pages that a result lists."""
PASSAGE = 1_000
"""Maximum characters of a page's passage."""


@dataclass(frozen=True, slots=True)
class Found:
    """Pages that a search found, and the provider's answer if there is one. `spent` is metadata about the cost."""

    engine: str
    sources: tuple[Source, ...]
    answer: str = ""
    trouble: str = ""
    """The reason why there is nothing, if the search failed."""
    spent: Mapping[str, Any] = field(default_factory=dict)


class SearchEngine(Protocol):
    """The service that searches the web."""

    async def search(self, query: str) -> Found:
        """Search. Raises ToolError."""
        ...


async def web_search(ctx: ToolContext, call_id: str, query: str) -> ToolOutput:
    from agentcli.tools.lib.truncate import whole_or_cut

    engine = ctx.service(SearchEngine)
    if engine is None:
        raise ToolError("Web search is off here. Fetch an address that you know with web_fetch, or ask the user.")
    query = " ".join(query.split())
    if not query or len(query) > LONGEST_QUERY:
        raise ToolError(f"A query has 1 to {LONGEST_QUERY} characters, this one has {len(query)}.")
    found = await engine.search(query)
    if found.trouble:
        return ToolOutput(found.trouble, status="error", metadata=found.spent)
    metadata = {"engine": found.engine, "matches": len(found.sources), **found.spent}
    return whole_or_cut(ctx, call_id, _text(query, found), metadata)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Search the web for python 3.15`."""
    return f"Search the web for {given.get('query', '')}"


def _text(query: str, found: Found) -> str:
    """Write the result: first the pages, which are its sources, then the answer."""
    if not found.sources and not found.answer:
        return f"[{found.engine} found nothing for {query}]"
    lines = [f"[{found.engine} on {query}]"]
    for number, source in enumerate(found.sources[:SOURCES], 1):
        lines += [f"{number}. {safe_line(source.title) or 'untitled'}", f"   {safe_line(source.url)}"]
        passage = safe_line(source.passage)
        lines += [f"   {passage[:PASSAGE]}{'…' if len(passage) > PASSAGE else ''}"] if passage else []
    more = len(found.sources) - SOURCES
    lines += [f"[{more:,} more left out]"] if more > 0 else []
    return "\n".join([*lines, "", safe(found.answer)] if found.answer else lines)


WEB_SEARCH = Entry(
    "web_search", web_search, title, Traits("network", behaviour=Behaviour(for_people=True, dispensable=True))
)
