"""What the Messages API refuses, in its own words."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

from agentcli.providers import catalog
from agentcli.providers.scripted.model import tokens_of
from tests.loopback import anthropic_compaction, anthropic_edits, tool_schemas, web_search
from tests.loopback.anthropic_edits import Edited, edited, spec_of
from tests.loopback.deferred import check_deferred, expanded, loaded_at_once
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals, bare
from tests.loopback.unreadable import kind_of, unreadable

TOP = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "stop_sequences", "metadata", "thinking",
    "output_config", "cache_control", "service_tier", "container", "inference_geo", "speed", "diagnostics",
    "context_management",
}  # fmt: skip
FIELDS = {
    "text": {"text", "cache_control", "citations"},
    "image": {"source", "cache_control"},
    "tool_use": {"id", "name", "input", "cache_control", "caller", "toolset_name"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
    "tool_reference": {"tool_name", "cache_control"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "compaction": anthropic_compaction.BLOCK,
    **web_search.BLOCKS,
}
MOST_BYTES = 32 * 1024 * 1024
MOST_IMAGE = 10 * 1024 * 1024
IMAGE_KINDS = ("image/jpeg", "image/png", "image/gif", "image/webp")


def check(asked: Asked, seals: Seals, window: int | None) -> None:
    """Raises Refused where the real API would answer with an error."""
    if len(asked.body) > MOST_BYTES:
        raise Refused("Request exceeds the maximum size", 413)
    if not (asked.headers.get("x-api-key") or asked.headers.get("authorization")):
        raise Refused("x-api-key header is required", 401)
    if "anthropic-version" not in asked.headers:
        raise Refused("anthropic-version: header is required")
    body = asked.json
    anthropic_edits.check(asked)
    _top(body, asked.counting)
    _thinking(body, counting=asked.counting)
    _marks(body)
    _tools(body)
    _messages(body["messages"], body["model"])
    _pairing(body["messages"])
    anthropic_compaction.check_blocks(asked, seals)
    web_search.check_blocks(body, seals)
    _signatures(body, seals)
    limit = window or spec_of(body["model"]).window
    if (size := prompt_tokens(asked)) > limit:
        raise Refused(f"prompt is too long: {size} tokens > {limit} maximum")


def prompt_tokens(asked: Asked) -> int:
    """The size of the prompt by the server's own count."""
    return sum(tokens for _, tokens in edited_blocks(asked)[0])


def as_edited(asked: Asked) -> Edited:
    """The request with its edits applied."""
    made: Edited = asked.once("edited", lambda: edited(asked.json))
    return made


def edited_blocks(asked: Asked) -> tuple[list[tuple[bytes, int]], list[int]]:
    """The cache blocks of the request with its edits applied."""
    made: tuple[list[tuple[bytes, int]], list[int]] = asked.once("blocks", lambda: cache_blocks(as_edited(asked).body))
    return made


def count(asked: Asked) -> dict[str, Any]:
    """The answer to a request for a count: of the prompt as it is edited, and what it was before."""
    whole = sum(tokens for _, tokens in cache_blocks(asked.json)[0])
    managed = {"context_management": {"original_input_tokens": whole}} if "context_management" in asked.json else {}
    return {"input_tokens": prompt_tokens(asked), **managed}


def prefix(body: dict[str, Any]) -> list[Any]:
    """Everything that a thinking block of the next reply is bound to."""
    return [body.get("system"), loaded_at_once(body), *body["messages"]]


def binding(model: str, before: list[Any]) -> Any:
    """What the signature of a block covers besides its text: the prefix on models with preserved thinking."""
    return before if spec_of(model).preserved_thinking else None


def cache_blocks(body: dict[str, Any]) -> tuple[list[tuple[bytes, int]], list[int]]:
    """The blocks in cache order with their sizes, and the indices of those that carry a mark."""
    found = _cached(body)
    deferred = {tool["name"]: tool for tool in body.get("tools") or [] if tool.get("defer_loading")}
    texts = [json.dumps(expanded(bare(block), deferred), ensure_ascii=False) for block in found]
    return [(text.encode("utf-8", "surrogatepass"), tokens_of(text)) for text in texts], _marked(found)


def _cached(body: dict[str, Any]) -> list[Any]:
    system = body.get("system") or []
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    found: list[Any] = [*(loaded_at_once(body) or []), *system]
    for message in body["messages"]:
        found += ({"role": message["role"], **block} for block in _content(message))
    return found


def _marked(blocks: list[Any]) -> list[int]:
    return [index for index, block in enumerate(blocks) if block.get("cache_control")]


def _content(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _top(body: dict[str, Any], counting: bool) -> None:
    for name in body:
        if name not in TOP:
            raise Refused(f"{name}: Extra inputs are not permitted")
    if not body.get("model"):
        raise Refused("model: Field required")
    snapshot = body["model"][:-9] if body["model"][-8:].isdigit() else body["model"]
    if snapshot.startswith("claude-") and snapshot not in {known.id for known in catalog.models()}:
        raise Refused(f"model: {body['model']}", 404)
    if not counting:
        most = spec_of(body["model"]).max_output
        asked = body.get("max_tokens")
        if not isinstance(asked, int):
            raise Refused("max_tokens: Field required")
        if asked > most:
            raise Refused(
                f"max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for {body['model']}"
            )
    if not body.get("messages"):
        raise Refused("messages: at least one message is required")


def _thinking(body: dict[str, Any], *, counting: bool) -> None:
    thinking = body.get("thinking")
    if not thinking:
        return
    style = spec_of(body["model"]).thinking
    if thinking["type"] == "adaptive" and style == "budget":
        raise Refused("adaptive thinking is not supported on this model")
    if thinking["type"] == "enabled":
        if style != "budget":
            raise Refused('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".')
        if not 1024 <= thinking["budget_tokens"] < (1 << 30 if counting else body["max_tokens"]):
            raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`, which must be at least 1024")
        _begins_with_a_thought(body["messages"])


def _begins_with_a_thought(messages: list[dict[str, Any]]) -> None:
    """The assistant's turn that goes on, tool results and all, opened with thinking where thinking is on."""
    turn: list[tuple[int, list[dict[str, Any]]]] = []
    for index, message in reversed([*enumerate(messages)]):
        kinds = [block["type"] for block in _content(message)]
        if message["role"] == "user" and "tool_result" not in kinds:
            break
        if message["role"] == "assistant":
            if "tool_use" not in kinds:
                break
            turn.append((index, _content(message)))
    if turn and turn[-1][1][0]["type"] not in ("thinking", "redacted_thinking"):
        index, blocks = turn[-1]
        raise Refused(
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{blocks[0]['type']}`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
        )


def _marks(body: dict[str, Any]) -> None:
    count = len(_marked(_cached(body))) + bool(body.get("cache_control"))
    if count > 4:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def _tools(body: dict[str, Any]) -> None:
    names = set()
    for index, tool in enumerate(body.get("tools") or []):
        if "type" in tool:
            web_search.check_tool(tool, f"tools.{index}")
            continue
        where = f"tools.{index}.custom"
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.get("name", "")):
            raise Refused(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
        if why := tool_schemas.anthropic(tool.get("input_schema")):
            raise Refused(f"{where}.input_schema: {why}")
        if set(tool) - {"name", "description", "input_schema", "cache_control", "defer_loading"}:
            raise Refused(f"{where}: Extra inputs are not permitted")
        if tool["name"] in names:
            raise Refused("tools: Tool names must be unique.")
        names.add(tool["name"])
    blocks = [block for message in body["messages"] for block in _content(message)]
    check_deferred(body.get("tools") or [], blocks, allowed=spec_of(body["model"]).deferred_tools)


def _messages(messages: list[dict[str, Any]], model: str) -> None:
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    if messages[-1]["role"] not in ("user", "system") and not web_search.continues(messages[-1]):
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "system":
            _operator(index, messages, model)
            continue
        if role not in ("user", "assistant"):
            raise Refused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
        if index and messages[index - 1]["role"] == role:
            raise Refused(
                f'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row'
            )
        if not message["content"]:
            raise Refused(f"messages.{index}: {role} messages must have non-empty content")
        for number, block in enumerate(_content(message)):
            _block(block, role, f"messages.{index}.content.{number}")


def _operator(index: int, messages: list[dict[str, Any]], model: str) -> None:
    """A system message in the middle: only some models take it, behind a user turn, and before the assistant speaks or last."""
    if not spec_of(model).system_messages:
        raise Refused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    before = messages[index - 1]["role"] if index else ""
    after = messages[index + 1]["role"] if index + 1 < len(messages) else "assistant"
    if before != "user" or after != "assistant":
        raise Refused(f"messages.{index}: system messages must follow a user turn and precede an assistant turn")
    for number, block in enumerate(_content(messages[index])):
        if block.get("type") != "text":
            raise Refused(f"messages.{index}.content.{number}: system messages hold text only")


def _block(block: dict[str, Any], role: str, where: str) -> None:
    kind = block.get("type")
    if kind not in FIELDS:
        raise Refused(f"{where}: Input tag {kind!r} found using 'type' does not match any of the expected tags")
    for name in set(block) - FIELDS[kind] - {"type"}:
        raise Refused(f"{where}.{kind}.{name}: Extra inputs are not permitted")
    if kind == "text" and not block["text"]:
        raise Refused("messages: text content blocks must be non-empty")
    if kind == "text" and not block["text"].strip():
        raise Refused("messages: text content blocks must contain non-whitespace text")
    if kind == "tool_reference" and ".tool_result." not in where:
        raise Refused(f"{where}: `tool_reference` blocks can only be in `tool_result` blocks")
    if kind in ("tool_use", "thinking", "redacted_thinking") and role == "user":
        raise Refused(f"{where}: `{kind}` blocks can only be in `assistant` messages")
    if kind == "tool_result" and role == "assistant":
        raise Refused(f"{where}: `tool_result` blocks can only be in `user` messages")
    if kind == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
        raise Refused(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if kind == "tool_use" and not isinstance(block["input"], dict):
        raise Refused(f"{where}.tool_use.input: Input should be a valid dictionary")
    if kind == "image":
        _image(block, where)
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for number, inner in enumerate(block["content"]):
            _block(inner, role, f"{where}.tool_result.content.{number}")


def _image(block: dict[str, Any], where: str) -> None:
    source = block["source"]
    if source.get("media_type") not in IMAGE_KINDS:
        raise Refused(f"{where}.image.source.base64.media_type: Input should be {', '.join(map(repr, IMAGE_KINDS))}")
    if not source["data"]:
        raise Refused(f"{where}.image.source.base64: image cannot be empty")
    try:
        data = base64.b64decode(source["data"], validate=True)
    except binascii.Error:
        raise Refused(f"{where}.image.source.base64.data: Invalid base64 data") from None
    if len(source["data"]) > MOST_IMAGE:
        raise Refused(
            f"{where}.image.source.base64: image exceeds 10 MB maximum: {len(source['data'])} bytes > {MOST_IMAGE} bytes"
        )
    if kind_of(data) not in ("", source["media_type"]):
        raise Refused(
            f"{where}.image.source.base64.data: Image does not match the provided media type {source['media_type']}"
        )
    if unreadable(source["data"]):
        raise Refused("Could not process image")


def _pairing(messages: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        blocks = _content(message)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(calls)) < len(calls) or seen & set(calls):
            raise Refused("messages: `tool_use` ids must be unique")
        seen |= set(calls)
        if calls:
            _answered(index, calls, _content(messages[index + 1]) if index + 1 < len(messages) else [])
        if message["role"] == "user":
            _expected(index, blocks, _content(messages[index - 1]) if index else [])


def _answered(index: int, calls: list[str], after: list[dict[str, Any]]) -> None:
    first = []
    for block in after:
        if block["type"] != "tool_result":
            break
        first.append(block["tool_use_id"])
    missing = [call for call in calls if call not in first]
    if missing:
        raise Refused(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )


def _expected(index: int, blocks: list[dict[str, Any]], before: list[dict[str, Any]]) -> None:
    calls = {block["id"] for block in before if block["type"] == "tool_use"}
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        if block["type"] != "tool_result":
            continue
        call = block["tool_use_id"]
        if call not in calls:
            raise Refused(
                f"messages.{index}.content.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if call in seen:
            raise Refused(
                f"messages.{index}.content.{number}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call}"
            )
        seen.add(call)


def _signatures(body: dict[str, Any], seals: Seals) -> None:
    model, messages = body["model"], body["messages"]
    head = [body.get("system"), loaded_at_once(body)]
    for index, message in enumerate(messages):
        before: list[Any] = []
        for number, block in enumerate(_content(message)):
            if block["type"] in ("thinking", "redacted_thinking"):
                place = binding(model, [*head, *messages[:index], *before])
                _sealed(block, model, place, seals, f"messages.{index}.content.{number}")
            before.append(_as_issued(block))
    _complete(messages, model, seals)


def _sealed(block: dict[str, Any], model: str, place: Any, seals: Seals, where: str) -> None:
    kind = block["type"]
    seal, content = (block["signature"], block["thinking"]) if kind == "thinking" else (block["data"], "redacted")
    issuer = seals.issuer(seal)
    if issuer is not None and issuer != model:
        return  # what another model thought is dropped without a word
    if not seals.is_good(seal, model, content, place):
        name = "signature" if kind == "thinking" else "data"
        raise Refused(f"{where}: Invalid `{name}` in `{kind}` block")


def _as_issued(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name not in ("cache_control", "caller", "toolset_name")}


def _complete(messages: list[dict[str, Any]], model: str, seals: Seals) -> None:
    """The latest assistant turn has all its thinking blocks; or the request has none at all, which is the documented way out."""
    every = [
        block
        for message in messages
        for block in _content(message)
        if block["type"] in ("thinking", "redacted_thinking")
    ]
    last = next((index for index in reversed(range(len(messages))) if messages[index]["role"] == "assistant"), None)
    if not every or last is None:
        return
    blocks = _content(messages[last])
    call = next((block["id"] for block in blocks if block["type"] == "tool_use"), "")
    wanted = seals.thoughts_with(call)
    if wanted is None or any(seals.issuer(block.get("signature") or block.get("data")) != model for block in wanted):
        return
    if [bare(block) for block in blocks if block["type"] in ("thinking", "redacted_thinking")] != wanted:
        raise Refused(
            f"messages.{last}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        )
