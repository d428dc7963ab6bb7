"""Tools of the Messages API that only a reference loads: what it refuses, and where they count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.loopback.refusal import Refused

Json = dict[str, Any]


def loaded_at_once(body: Json) -> list[Json] | None:
    """The tools at the beginning of the prompt: all but those that a reference loads."""
    tools = body.get("tools")
    return tools and [tool for tool in tools if not tool.get("defer_loading")]


def expanded(block: Json, deferred: Json) -> Json:
    """The block with the definition of each tool that it refers to in place of the reference."""
    inner = block.get("content")
    if block.get("type") != "tool_result" or not isinstance(inner, list):
        return block
    return {**block, "content": [deferred.get(each.get("tool_name"), each) for each in inner]}


def check_deferred(tools: Sequence[Json], blocks: Iterable[Json], *, allowed: bool) -> None:
    """Raises Refused for tools that cannot be loaded, and references to tools that do not exist."""
    for index, tool in enumerate(tools):
        if "defer_loading" in tool and not allowed:
            raise Refused(f"tools.{index}.custom.defer_loading: Extra inputs are not permitted")
        if tool.get("defer_loading") and tool.get("cache_control"):
            raise Refused(
                f"Tool '{tool['name']}' cannot have both defer_loading=true and cache_control set. "
                "Tools with defer_loading cannot use prompt caching."
            )
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise Refused("At least one tool must have defer_loading=false.")
    names = {tool["name"] for tool in tools}
    for block in blocks:
        for inner in block["content"] if isinstance(block.get("content"), list) else ():
            if inner.get("type") == "tool_reference" and inner.get("tool_name") not in names:
                raise Refused(f"Tool reference '{inner.get('tool_name')}' not found in available tools")
