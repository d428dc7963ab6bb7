"""Web searches by the provider itself, as each wire carries them, and what the providers refuse about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.loopback.plan import Asked, Searches
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals

TOOL = "web_search_20250305"
TOOL_FIELDS = {"type", "name", "max_uses", "allowed_domains", "blocked_domains", "user_location", "cache_control"}
BLOCKS = {
    "server_tool_use": {"id", "name", "input", "cache_control", "caller"},
    "web_search_tool_result": {"tool_use_id", "content", "cache_control", "caller"},
}
ERRORS = ("max_uses_exceeded", "too_many_requests", "query_too_long", "unavailable", "invalid_tool_input")
Json = dict[str, Any]


def anthropic(asked: Asked, found: Searches, seals: Seals) -> list[Json]:
    """The events of a Messages stream."""
    key = f"srvtoolu_{asked.number:04}"
    pages = [
        {
            "type": "web_search_result",
            "url": url,
            "title": title,
            "page_age": None,
            "encrypted_content": seals.issue(asked.model, url, None),
        }
        for url, title, _ in found.pages
    ]
    content: Any = {"type": "web_search_tool_result_error", "error_code": found.error} if found.error else pages
    result = {"type": "web_search_tool_result", "tool_use_id": key, "content": content}
    use: Json = {"type": "server_tool_use", "id": key, "name": "web_search", "input": {}}
    pieces = ('{"query": ', json.dumps(found.query), "}")
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    blocks: list[tuple[Json, list[Json]]] = [(use, deltas), (result, [])] if found.query else []
    if not found.paused:
        cited = [
            {
                "type": "web_search_result_location",
                "url": url,
                "title": title,
                "cited_text": passage,
                "encrypted_index": seals.issue(asked.model, passage, None),
            }
            for url, title, passage in found.pages
            if passage
        ]
        said: list[Json] = [{"type": "citations_delta", "citation": citation} for citation in cited]
        said.append({"type": "text_delta", "text": found.answer})
        blocks.append(({"type": "text", "text": "", **({"citations": []} if cited else {})}, said))
    usage: Json = {"input_tokens": 9_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.model, "content": []}
    events: list[Json] = [{"type": "message_start", "message": {**start, "usage": {**usage, "output_tokens": 1}}}]
    for index, (block, its) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += ({"type": "content_block_delta", "index": index, "delta": delta} for delta in its)
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "pause_turn" if found.paused else "end_turn", "stop_sequence": None}
    counted = {"server_tool_use": {"web_search_requests": int(bool(found.query)), "web_fetch_requests": 0}}
    usage |= {"output_tokens": 100, **counted}
    return [*events, {"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}]


def google(asked: Asked, found: Searches, seals: Seals) -> list[Json]:
    """The chunks of a Gemini stream."""
    usage = {"promptTokenCount": 9_000, "candidatesTokenCount": 100, "totalTokenCount": 9_100}
    text = {"content": {"role": "model", "parts": [{"text": found.answer}]}, "index": 0}
    chunks = [{"web": {"uri": url, "title": title}} for url, title, _ in found.pages]
    supports = [
        {"segment": {"endIndex": len(passage), "text": passage}, "groundingChunkIndices": [number]}
        for number, (_, _, passage) in enumerate(found.pages)
    ]
    grounding: Json = {"webSearchQueries": [found.query] if found.query else []}
    grounding |= {"groundingChunks": chunks, "groundingSupports": supports} if chunks else {}
    grounding["searchEntryPoint"] = {"renderedContent": "<style>.container{}</style><div>chips</div>"}
    last: Json = {"finishReason": "STOP", "index": 0, **({"groundingMetadata": grounding} if found.query else {})}
    return [{"candidates": [each], "usageMetadata": usage} for each in (text, last)]


def openai(asked: Asked, found: Searches, seals: Seals) -> list[Json]:
    """The events of a Responses stream."""
    sources = [{"type": "url", "url": url} for url, _, _ in found.pages]
    action = {"type": "search", "query": found.query, "queries": [found.query], "sources": sources}
    status = "failed" if found.error else "completed"
    search = {"type": "web_search_call", "id": "ws_1", "status": status, "action": action}
    opened = {
        "type": "web_search_call",
        "id": "ws_2",
        "status": "completed",
        "action": {"type": "open_page", "url": ""},
    }
    notes = [
        {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 1}
        for url, title, _ in found.pages
    ]
    content = [{"type": "output_text", "text": found.answer, "annotations": notes}]
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    items = [*([search, opened] if found.query else []), said]
    events: list[Json] = [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    usage = {"input_tokens": 9_000, "output_tokens": 100, "total_tokens": 9_100}
    done = {"id": "resp_1", "status": "completed", "output": items, "usage": usage}
    return [*events, {"type": "response.completed", "response": done}]


def check_tool(tool: Mapping[str, Any], where: str) -> None:
    """Refuse a server tool of the Messages API that is none, or has other fields."""
    if tool["type"] != TOOL:
        raise Refused(f"{where}: Input tag '{tool['type']}' found using 'type' does not match any of the expected tags")
    for name in set(tool) - TOOL_FIELDS:
        raise Refused(f"{where}.{TOOL}.{name}: Extra inputs are not permitted")
    if tool.get("name") != "web_search":
        raise Refused(f"{where}.{TOOL}.name: Input should be 'web_search'")
    if tool.get("max_uses", 1) < 1:
        raise Refused(f"{where}.{TOOL}.max_uses: Input should be greater than 0")


def check_blocks(body: Mapping[str, Any], seals: Seals) -> None:
    """Refuse blocks of searches that are not as the Messages API wrote them."""
    for index, message in enumerate(body["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        uses = {block["id"]: block for block in content if block["type"] == "server_tool_use"}
        answered = {block["tool_use_id"] for block in content if block["type"] == "web_search_tool_result"}
        for number, block in enumerate(content):
            where = f"messages.{index}.content.{number}"
            _block(block, message["role"], where, uses, seals)
        last = content[-1] if content else {}
        for key in uses:
            if key not in answered and last.get("id") != key:
                raise Refused(f"messages.{index}: `server_tool_use` ids were found without results: {key}")


def _block(block: Mapping[str, Any], role: str, where: str, uses: Mapping[str, Any], seals: Seals) -> None:
    kind = block["type"]
    if kind in BLOCKS and role != "assistant":
        raise Refused(f"{where}: `{kind}` blocks can only be in `assistant` messages")
    if kind == "server_tool_use" and not isinstance(block["input"].get("query"), str):
        raise Refused(f"{where}.server_tool_use.input.query: Field required")
    if kind == "web_search_tool_result":
        if block["tool_use_id"] not in uses:
            raise Refused(f"{where}: unexpected `tool_use_id` in `web_search_tool_result` block")
        for page in block["content"] if isinstance(block["content"], list) else []:
            _sealed(page.get("encrypted_content"), f"{where}.content: Invalid `encrypted_content`", seals)
    for citation in block.get("citations") or [] if kind == "text" else []:
        _sealed(citation.get("encrypted_index"), f"{where}.citations: Invalid `encrypted_index`", seals)


def _sealed(seal: Any, refusal: str, seals: Seals) -> None:
    if not isinstance(seal, str) or seals.issuer(seal) is None:
        raise Refused(f"{refusal} in `search_result` block")


def continues(message: Mapping[str, Any]) -> bool:
    """True for a reply that the Messages API paused and that may be the last message of a request."""
    return isinstance(message["content"], list) and message["content"][-1]["type"] in BLOCKS
