"""A report on web search for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.core.errors import ConfigError
from agentcli.core.tool import ToolLimits
from agentcli.features.web_search.engines import chosen
from agentcli.program.feature import Row
from agentcli.program.project import Project


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
