"""Search engines of the tool `web_search`: for each, the request for a query, and the pages in its response."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from agentcli.extension import AgentError, Context, Source, search_engine, settings

RESULTS = 10
"""Pages that an engine is asked for."""
_JSON = {"Accept": "application/json"}
_REFUSED = (401, 403)


@dataclass(frozen=True)
class Request:
    """A request to an engine; with a body it is a POST."""

    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: _JSON)
    body: str = ""


@dataclass(frozen=True)
class Engine:
    """A search engine: `request` returns the request for an address, a query and a key."""

    name: str
    title: str
    request: Callable[[str, str, str], Request]
    pages: Callable[[Mapping[str, Any]], Iterator[Source]]
    """Yields a response's pages; raises TypeError and similar errors for another form."""
    address: str = ""
    """Its public address; empty if each has its own."""
    key_variable: str = ""
    """Environment variable of its key; empty if it takes none."""
    refused: str = ""
    """The cure if it refuses a request."""


@settings
@dataclass
class Choice:
    """The engine, its address and its key. `own`: the person gave the address, which may be private."""

    engine: str
    address: str
    own: bool = False
    key: str = ""


@search_engine
async def search(query: str, ctx: Context) -> Sequence[Source]:
    """Return the pages that the engine finds."""
    given: Choice = ctx.settings
    engine = ENGINES[given.engine]
    if engine.key_variable and not given.key:
        raise AgentError(f"{engine.title} needs a key, and {engine.key_variable} is not set. Tell the user.")
    asked = engine.request(given.address, query, given.key)
    try:
        page = await ctx.fetch(asked.url, headers=asked.headers, body=asked.body, private=given.own)
    except AgentError as error:
        raise AgentError(f"{engine.title}: {error} See tools.web_search.") from error
    if page.status in _REFUSED:
        cure = engine.refused or f"The key in {engine.key_variable} may be wrong."
        raise AgentError(f"{engine.title} refuses the search ({page.status}). {cure}")
    if page.status != 200:
        raise AgentError(f"{engine.title} answers {page.status}.")
    try:
        return tuple(engine.pages(json.loads(page.body)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        kind = page.kind.partition(";")[0] or "no content type"
        raise AgentError(f"{engine.title} answered with {kind:.60}, not with search results.") from error


def _searxng(address: str, query: str, _: str) -> Request:
    return Request(f"{address}/search?{urlencode({'q': query, 'format': 'json'})}")


def _brave(address: str, query: str, key: str) -> Request:
    url = f"{address}/res/v1/web/search?{urlencode({'q': query, 'count': RESULTS})}"
    return Request(url, {**_JSON, "X-Subscription-Token": key})


def _tavily(address: str, query: str, key: str) -> Request:
    headers = {**_JSON, "Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    return Request(f"{address}/search", headers, json.dumps({"query": query, "max_results": RESULTS}))


def _pages(passage: str) -> Callable[[Mapping[str, Any]], Iterator[Source]]:
    def read(answer: Mapping[str, Any]) -> Iterator[Source]:
        for each in list(answer["results"])[:RESULTS]:
            yield Source(_text(each["url"]), _plain(each.get("title")), _plain(each.get(passage)))

    return read


def _brave_pages(answer: Mapping[str, Any]) -> Iterator[Source]:
    return _pages("description")(answer["web"]) if "web" in answer else iter(())


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text that is none")
    return value


def _plain(value: Any) -> str:
    """Return a text without the marks that engines put around query words."""
    return html.unescape(re.sub(r"</?\w+>", "", _text(value or "")))


ENGINES: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "searxng",
            "SearXNG",
            _searxng,
            _pages("content"),
            refused="Add json to search.formats in its settings.yml.",
        ),
        Engine("brave", "Brave", _brave, _brave_pages, "https://api.search.brave.com", "BRAVE_API_KEY"),
        Engine("tavily", "Tavily", _tavily, _pages("content"), "https://api.tavily.com", "TAVILY_API_KEY"),
    )
}
