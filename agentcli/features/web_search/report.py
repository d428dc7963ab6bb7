"""A report on web search for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.core.errors import ConfigError
from agentcli.features.web_search.engines import chosen
from agentcli.program.project import Project

Row = tuple[str, bool, str]


def rows(program: Project, setting: str) -> Iterator[Row]:
    """Report the engine, and its key if it needs one."""
    try:
        found = chosen(setting)
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
