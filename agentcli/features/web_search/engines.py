"""Search engines in one table: for each, the request for a query, and the pages in its response."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.model import Source
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import instead
from agentcli.core.tool import ToolLimits
from agentcli.program.feature import Row
from agentcli.program.project import Project
from agentcli.providers.settings import ProviderSettings
from agentcli.tools.lib.web_request import WebRequest

VENDOR = "vendor"
RESULTS = 10
"""Pages that an engine is asked for."""
_JSON = {"Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Engine:
    """A search engine: `request` returns the URL and the request for an address, a query and a key."""

    name: str
    title: str
    request: Callable[[str, str, str], tuple[str, WebRequest]]
    pages: Callable[[Mapping[str, Any]], Iterator[Source]]
    """Yields a response's pages; raises TypeError and similar errors for another form."""
    address: str = ""
    """Its public address; empty if each has its own."""
    key_variable: str = ""
    """Environment variable of its key; empty if it takes none."""
    refused: str = ""
    """The cure if it refuses a request."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The setting `tools.web_search`, parsed: `engine` is None for the provider's own search; `own` if the user gave
    the address.
    """

    engine: Engine | None = None
    address: str = ""
    own: bool = False


def chosen(value: str) -> Chosen:
    """Read the setting. Raises ConfigError."""
    name, _, address = value.strip().partition(" ")
    address = address.strip().rstrip("/")
    if name == VENDOR and not address:
        return Chosen()
    engine = ENGINES.get(name)
    if engine is None:
        kinds = ["off", VENDOR, *ENGINES]
        near = "" if name in kinds else instead(name, kinds)
        raise ConfigError(f"tools.web_search is {safe_line(value)!r}. Use {', '.join(kinds)}.{near}")
    if not (address or engine.address):
        raise ConfigError(f"tools.web_search needs the address: {name} https://search.example.org")
    if address and not re.fullmatch(r"https?://[^\s?#]+", address):
        raise ConfigError(f"The address in tools.web_search is not an http or https URL: {safe_line(address)}")
    return Chosen(engine, address or engine.address, bool(address))


def _searxng(address: str, query: str, _: str) -> tuple[str, WebRequest]:
    return f"{address}/search?{urlencode({'q': query, 'format': 'json'})}", WebRequest(headers=_JSON)


def _brave(address: str, query: str, key: str) -> tuple[str, WebRequest]:
    url = f"{address}/res/v1/web/search?{urlencode({'q': query, 'count': RESULTS})}"
    return url, WebRequest(headers={**_JSON, "X-Subscription-Token": key})


def _tavily(address: str, query: str, key: str) -> tuple[str, WebRequest]:
    body = json.dumps({"query": query, "max_results": RESULTS}).encode()
    headers = {**_JSON, "Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    return f"{address}/search", WebRequest("POST", headers, body)


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


def keyed() -> Sequence[ProviderSettings]:
    """Return the search engines that take a key, as providers without a wire format."""
    found = (engine for engine in ENGINES.values() if engine.key_variable)
    return [ProviderSettings(engine.name, "", api_key_env=engine.key_variable) for engine in found]


def rows(program: Project) -> Iterator[Row]:
    """Report the engine, and its key if it needs one."""
    try:
        found = chosen(program.config[ToolLimits].web_search)
    except ConfigError as error:
        yield "web search", False, str(error)
        return
    engine = found.engine
    if engine is None:
        yield "web search", True, "by the provider of the session's model"
    elif engine.key_variable and not program.env.get(engine.key_variable, "").strip():
        yield "web search", False, f"{engine.title} needs a key: set {engine.key_variable}"
    else:
        yield "web search", True, f"{engine.title} at {found.address}"
