"""Repair of calls: harmless slips of models in parameter names, forms of values and the spelling of paths."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.tool import Tool, ToolOutput
from agentcli.system.resolve import unwrapped


@dataclass(frozen=True, slots=True)
class Mended:
    """The intended input of a call, and its ignored parameters."""

    input: dict[str, Any]
    ignored: tuple[str, ...] = ()


def mended(tool: Tool, given: Mapping[str, Any], cwd: Path) -> Mended:
    """Return the input with unambiguous slips repaired; it must still be checked.

    A repaired input stays unchanged when repaired again. Looks at the file system for wrapped paths.
    """
    given = with_range(given) if tool.name == "read" else given
    mending = _Mending(tool.name, ignores_all=tool.traits.effect in ("none", "read", "ask"))
    found = mending.of(tool.takes, given)
    path = tool.traits.subject.of(found)
    if tool.traits.effect in ("read", "write") and not tool.traits.patches and isinstance(path, str):
        found[tool.traits.subject.field] = unwrapped(cwd, path)
    return Mended(found, tuple(mending.ignored))


def with_range(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of a call of `read`, with a first and a last line as first line and number."""
    rest, ends = dict(given), dict[str, int]()
    match given.get("view_range"):
        case [int(first), int(last)]:
            del rest["view_range"]
            ends = {"first": first} | ({"last": last} if last >= first else {})
        case _:
            for name, value in given.items():
                words = set(re.sub(r"(?<=[a-z])(?=[A-Z])|_|-", " ", name).lower().split()) - _OF_LINES
                end = next((end for end, known in _ENDS.items() if words and words <= known), "")
                if end and str(value).isdecimal():
                    ends[end] = int(rest.pop(name))
    if "offset" in given or not ends:
        return dict(given)
    first = max(ends.get("first", 1), 1)
    number = {"limit": ends["last"] - first + 1} if ends.get("last", 0) >= first else {}
    return {**number, **rest, "offset": first}


_ENDS = {"first": frozenset(["start", "from", "first", "begin"]), "last": frozenset(["end", "to", "last", "stop"])}
_OF_LINES = frozenset(["line", "lines", "number", "no", "one", "indexed", "inclusive"])
"""Words in the names of parameters for the first and the last line."""


def with_ignored(output: ToolOutput, ignored: Sequence[str]) -> ToolOutput:
    """Return the output with a note on ignored parameters; a failure is returned unchanged."""
    if not ignored or output.status == "error":
        return output
    return replace(
        output, output=f"{output.output}\n[ignored, since this tool has no such parameter: {', '.join(ignored)}]"
    )


def with_remarks(output: ToolOutput, remarks: Sequence[str]) -> ToolOutput:
    """Return the output with remarks on how the call was read, one a line."""
    return replace(output, output="\n".join([output.output.rstrip("\n"), *remarks])) if remarks else output


@dataclass(slots=True)
class _Mending:
    """Repair of one input. With `ignores_all` every unknown parameter is dropped, otherwise only comments: others might
    change the meaning.
    """

    tool: str
    ignores_all: bool
    ignored: dict[str, None] = field(default_factory=dict)

    def of(self, schema: Mapping[str, Any], value: Any) -> Any:
        match schema.get("type"):
            case "array":
                items = _parsed(value)
                plain = isinstance(items, str) and schema["items"].get("type") == "object"
                items = [items] if plain or isinstance(items, Mapping) else items
                return [self.of(schema["items"], item) for item in items] if isinstance(items, list) else value
            case "object" if "properties" in schema:
                fields = _parsed(value)
                if isinstance(fields, str) and len(schema.get("required", ())) == 1:
                    fields = {schema["required"][0]: fields}  # a question or a step as a plain text
                return self._object(schema["properties"], fields) if isinstance(fields, Mapping) else value
            case "string" if "enum" in schema and isinstance(value, str):
                return _meant(value, schema["enum"])
            case _:
                return value

    def _object(self, properties: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        from agentcli.core.aliases import TALK, own_parameter

        found = {name: value for name, value in given.items() if name in properties}
        for name, value in given.items():
            if name in properties or value is None:
                continue
            own = own_parameter(self.tool, name, properties)
            if own in properties and found.get(own) is None:
                found[own] = value
            elif self.ignores_all or name in TALK:
                self.ignored[name] = None
            else:
                found[name] = value
        return {name: self.of(properties.get(name, {}), value) for name, value in found.items()}


def _parsed(value: Any) -> Any:
    """Return the list or object that a text contains as JSON, or the value unchanged."""
    if not isinstance(value, str) or not value.strip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _meant(value: str, known: Sequence[str]) -> str:
    """Return the known value that this value is another spelling or a synonym of; else the value."""
    from agentcli.core.aliases import SYNONYMS

    if value in known:
        return value
    plain = value.strip().casefold().replace("-", "_").replace(" ", "_")
    plain = SYNONYMS.get(plain, plain)
    return plain if plain in known else value
