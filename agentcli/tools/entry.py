"""Entry of a tool: everything known about it, in the last lines of its own file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.model import ToolSchema
from agentcli.core.sanitise import replace_surrogates, safe_line
from agentcli.core.schema import parameters, unlisted
from agentcli.core.tool import Preview, Run, Title, Tool, Traits, as_json
from agentcli.resources import prompt


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of one tool. Its schema is the signature of `run`."""

    name: str
    run: Run
    title: Title
    traits: Traits
    preview: Preview = as_json
    description: str = ""
    """Its description for models, if it is not the page of its name in prompts/tools."""
    grammar: str = ""
    """The Lark grammar of its one text, for models that can write it without JSON."""


@cache
def tool_of(entry: Entry) -> Tool:
    """Return the tool of an entry, shared by all sessions of the process."""
    run = entry.run
    description = entry.description or prompt(f"tools/{entry.name}.md")
    schema = ToolSchema(entry.name, description, parameters(run), entry.grammar)
    return Tool(schema, run, entry.traits, partial(_one_line, entry.title), entry.preview, unlisted=unlisted(run))


def _one_line(title: Title, given: Mapping[str, Any]) -> str:
    # Paths that differ in a newline or a blank have different titles.
    return safe_line(replace_surrogates(title(given))).strip()
