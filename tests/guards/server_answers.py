"""The check of what MCP servers answer: one odd tool or block costs nothing but itself, and no provider refuses a request for it.

The judge of schemas is the meta-schema of JSON Schema and what the APIs refuse (`tests/loopback/tool_schemas.py`), neither of which the
product reads; the judge of answers is the SDK's own check.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import mcp_types
from pydantic import ValidationError

from agentcli.core.mcp_servers import ServerTool
from agentcli.features.mcp.answers import mended
from agentcli.features.mcp.config import definition
from agentcli.features.mcp.listing import tools_of
from agentcli.features.mcp.schema import upfront
from agentcli.features.mcp.values import answer_of, content_of, resource_of
from tests.guards import Figures, material
from tests.loopback import tool_schemas

VERSION = "2025-11-25"
WRONG: Sequence[Any] = (None, "x", 5, True, [], {}, [None], {"a": None}, [{"type": "string"}, {"type": "null"}])
"""Values of every kind, in place of the right one."""
METHODS = {"content": "tools/call", "contents": "resources/read", "messages": "prompts/get"}
SERVER = definition("s", {"command": "true"}, "test").servers["s"]


def figures(seeds: int = 1) -> Iterator[Figures]:
    """The rows; more seeds make more odd answers of the same material."""
    held = material("server_answers")
    servers, results = held["servers"], held["results"]
    bad = [judged(tools) for tools in servers]
    yield Figures(
        "schemas of servers' tools",
        sum(row[0] for row in bad),
        sum(row[1] for row in bad),
        sum(row[2] for row in bad),
        sum(row[3] for row in bad),
        "recorded lists of tools of 106 public servers, every name masked, a half that was not tuned on: bad are schemas that an API refuses as they are",
    )
    odd = [
        with_odd_tool(tools, random.Random(f"{seed} {place}"))
        for place, tools in enumerate(servers)
        for seed in range(seeds)
    ]
    yield Figures(
        "a tool with a broken schema",
        sum(row[0] for row in odd),
        sum(row[1] for row in odd),
        sum(row[2] for row in odd),
        sum(row[3] for row in odd),
        "the same lists, in each the schema of one tool broken by a machine; good are the other tools of the server",
    )
    blocks = [one for result in results for one in broken(result)]
    yield Figures(
        "results of servers",
        sum(arrives(one) for one in blocks),
        len(blocks),
        sum(not arrives(one) for one in results),
        len(results),
        "the structure of the protocol's examples; bad are those with a field missing or of another kind, stopped if the rest arrives all the same",
    )


def judged(tools: Sequence[Any]) -> tuple[int, int, int, int]:
    """Of one server's tools: refused schemas that are not sent so, refused schemas, usable tools that are lost, usable tools."""
    found = {tool.tool: tool for tool in listed(tools)}
    bad = [tool for tool in tools if refused(tool["inputSchema"])]
    good = [tool for tool in tools if tool not in bad]
    return (
        sum(is_sendable(found, tool) for tool in bad),
        len(bad),
        sum(not is_sendable(found, tool) for tool in good),
        len(good),
    )


def with_odd_tool(tools: Sequence[Any], chance: random.Random) -> tuple[int, int, int, int]:
    """The same of a list in which the first tool's schema is broken."""
    first = {**tools[0], "inputSchema": broken_schema(tools[0]["inputSchema"], chance)}
    found = {tool.tool: tool for tool in listed([first, *tools[1:]])}
    others = [tool for tool in tools[1:] if not refused(tool["inputSchema"])]
    bad = bool(refused(first["inputSchema"]))
    return (
        int(bad and is_sendable(found, first)),
        int(bad),
        sum(not is_sendable(found, tool) for tool in others),
        len(others),
    )


def broken_schema(schema: Any, chance: random.Random) -> Any:
    """A schema with a value of another kind at any of its places, the root among them."""
    if not isinstance(schema, dict | list) or not schema or chance.random() < 0.15:
        return chance.choice(WRONG)
    places = [*schema] if isinstance(schema, dict) else [*range(len(schema))]
    place = chance.choice(places)
    made = {**schema} if isinstance(schema, dict) else [*schema]
    made[place] = broken_schema(schema[place], chance)
    return made


def refused(schema: Any) -> str:
    """Why any of the APIs refuses the schema; empty if none does."""
    return tool_schemas.anthropic(schema) or tool_schemas.openai(schema) or tool_schemas.gemini(schema)


def listed(tools: Sequence[Any]) -> Sequence[ServerTool]:
    """The tools that the product makes of a server's list."""
    answer = mended({"tools": tools}, lambda _: None)
    try:
        mcp_types.methods.validate_server_result("tools/list", VERSION, answer)
    except ValidationError:
        return ()
    return tools_of(SERVER, mcp_types.ListToolsResult.model_validate(answer, by_name=False).tools)


def is_sendable(found: Mapping[str, ServerTool], tool: Mapping[str, Any]) -> bool:
    """Whether the tool is there, and its schema is accepted, or waits behind the search, where no API judges it."""
    own = found.get(tool["name"])
    if own is None:
        return False
    sent = upfront(own.parameters)
    return sent is None or not refused(sent)


def broken(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The result with each field of its first block missing or of another kind, with a whole block after it."""
    key = next(key for key in METHODS if key in result)
    block = result[key][0]
    inner = block.get("content", block) if key == "messages" else block
    whole = result[key][-1]
    odd = [{name: value for name, value in inner.items() if name != left} for left in inner]
    odd += [{**inner, name: wrong} for name in inner for wrong in WRONG]
    for one in (*odd, *WRONG):
        yield {**result, key: [{**block, "content": one} if key == "messages" else one, whole]}
    yield from ({**result, name: wrong} for name in result if name != key for wrong in WRONG)


def arrives(result: Mapping[str, Any]) -> bool:
    """Whether all that is whole in a result reaches the session."""
    key = next(key for key in METHODS if key in result)
    answer = mended(json.loads(json.dumps(result)), lambda _: None)
    try:
        mcp_types.methods.validate_server_result(METHODS[key], VERSION, answer)
        contents = [*read(key, answer)]
    except ValidationError:
        return False
    return bool(contents) and set(map(str, whole_texts(result[key][-1]))) <= {
        text for one in contents for text in (one.text, one.data, one.uri)
    }


def read(key: str, answer: Mapping[str, Any]) -> Iterable[Any]:
    """The contents that the product reads in an answer."""
    match key:
        case "content":
            return answer_of(mcp_types.CallToolResult.model_validate(answer, by_name=False)).contents
        case "contents":
            return map(resource_of, mcp_types.ReadResourceResult.model_validate(answer, by_name=False).contents)
        case _:
            messages = mcp_types.GetPromptResult.model_validate(answer, by_name=False).messages
            return [content_of(message.content) for message in messages]


def whole_texts(block: Mapping[str, Any]) -> Iterator[str]:
    """The text, data or address of a whole block."""
    inner = block.get("content", block.get("resource", block))
    inner = inner.get("resource", inner)
    yield next(inner[name] for name in ("text", "data", "blob", "uri") if name in inner)
