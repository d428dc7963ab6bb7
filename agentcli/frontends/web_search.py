"""Web search: by the provider's own tool, by a search engine, or by an extension."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import instead
from agentcli.core.tool import ToolLimits
from agentcli.features.extensions import BuiltIn
from agentcli.providers.settings import ProviderSettings
from agentcli.tools.registry import WEB_SEARCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.features.web_search.extension import Engine
    from agentcli.program.feature import Row
    from agentcli.program.program import Program
    from agentcli.tools.entry import Entry

VENDOR, EXTENSION = "vendor", "extension"
"""Values of the setting for the provider's own search, and for a function of an extension."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The setting `tools.web_search`, parsed. `engine` is None unless an engine of agentcli searches.

    `own` if the user gave the address.
    """

    name: str
    engine: Engine | None = None
    address: str = ""
    own: bool = False


def chosen(value: str) -> Chosen:
    """Read the setting. Raises ConfigError."""
    name, _, address = value.strip().partition(" ")
    address = address.strip().rstrip("/")
    if name in (VENDOR, EXTENSION) and not address:
        return Chosen(name)
    from agentcli.features.web_search.extension import ENGINES

    engine = ENGINES.get(name)
    if engine is None:
        kinds = ["off", VENDOR, *ENGINES, EXTENSION]
        near = "" if name in kinds else instead(name, kinds)
        raise ConfigError(f"tools.web_search is {safe_line(value)!r}. Use {', '.join(kinds)}.{near}")
    if not (address or engine.address):
        raise ConfigError(f"tools.web_search needs the address: {name} https://search.example.org")
    if address and not re.fullmatch(r"https?://[^\s?#]+", address):
        raise ConfigError(f"The address in tools.web_search is not an http or https URL: {safe_line(address)}")
    return Chosen(name, engine, address or engine.address, bool(address))


class WebSearch(BuiltIn):
    name = "web search"

    def on(self, program: Program) -> bool:
        return program.config[ToolLimits].web_search != "off"

    def tools(self) -> Sequence[Entry]:
        return WEB_SEARCH

    def commands(self) -> Sequence[Any]:
        return ()

    def settings(self, program: Program) -> Mapping[str, Any]:
        given = chosen(program.config[ToolLimits].web_search)
        key = program.env.get(given.engine.key_variable, "").strip() if given.engine is not None else ""
        return {"engine": given.name, "address": given.address, "own": given.own, "key": key}

    def module(self) -> ModuleType:
        from agentcli.features.web_search import extension

        return extension

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        from agentcli.agent.tool_context import offer
        from agentcli.features.extensions import BuiltInPart
        from agentcli.tools.web_search import SearchEngine

        given = chosen(core.setup.settings.limits.web_search)
        if given.name == EXTENSION:
            return None
        part = BuiltInPart(self, program, core)
        if given.engine is None:
            from agentcli.agent.provider_search import ProviderSearch

            part.services = [offer(SearchEngine, ProviderSearch(core))]
            return part
        from agentcli.features.extensions.searching import ExtensionSearch

        part.services = [offer(SearchEngine, ExtensionSearch(part.host, given.engine.title))]
        return part

    def checks(self, program: Program) -> Iterable[Row]:
        return _rows(program) if self.on(program) else ()

    def keyed(self) -> Iterable[ProviderSettings]:
        """Return the search engines that take a key, as providers without a wire format."""
        from agentcli.features.web_search.extension import ENGINES

        found = (engine for engine in ENGINES.values() if engine.key_variable)
        return [ProviderSettings(engine.name, "", api_key_env=engine.key_variable) for engine in found]


def _rows(program: Program) -> Iterator[Row]:
    """Report the engine, and its key if it needs one."""
    try:
        found = chosen(program.config[ToolLimits].web_search)
    except ConfigError as error:
        yield "web search", False, str(error)
        return
    engine = found.engine
    if engine is None:
        by = "an extension" if found.name == EXTENSION else "the provider of the session's model"
        yield "web search", True, f"by {by}"
    elif engine.key_variable and not program.env.get(engine.key_variable, "").strip():
        yield "web search", False, f"{engine.title} needs a key: set {engine.key_variable}"
    else:
        yield "web search", True, f"{engine.title} at {found.address}"
