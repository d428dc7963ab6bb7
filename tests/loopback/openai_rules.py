"""What the Responses API refuses, in its own words, and what chat completions refuse alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentcli.core.errors import InputError
from agentcli.core.model import ModelSpec
from agentcli.providers import catalog
from agentcli.providers.scripted.model import tokens_of
from tests.loopback import tool_schemas
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals
from tests.loopback.unreadable import unreadable

TOP = {
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "store", "stream", "include",
    "max_output_tokens", "prompt_cache_key", "prompt_cache_options", "text", "service_tier", "metadata", "client_metadata", "truncation",
    "safety_identifier", "temperature", "top_p", "user", "previous_response_id", "stream_options",
    "max_tool_calls",
}  # fmt: skip
INCLUDES = ("reasoning.encrypted_content", "web_search_call.action.sources")
COMPACTED = {
    "model", "input", "instructions", "previous_response_id", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "service_tier", "image",
}  # fmt: skip
"""What `/responses/compact` takes."""
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
CONTENT = {"user": {"input_text", "input_image", "input_file"}, "assistant": {"output_text", "refusal"}}
LONGEST_ID = 64
MOST_BYTES = 50 * 1024 * 1024


def check(asked: Asked, seals: Seals, window: int | None) -> None:
    """Raises Refused where the real API would answer with an error."""
    check_head(asked)
    body = asked.json
    for name in set(body) - (COMPACTED if asked.path.endswith("/compact") else TOP):
        raise Refused(f"Unknown parameter: '{name}'.", code="unknown_parameter")
    _reasoning(body, asked.model)
    for number, tool in enumerate(body.get("tools") or []):
        if tool.get("type") == "function":
            check_tool(tool, f"tools[{number}]")
        elif tool.get("type") == "custom":
            _custom_tool(tool, f"tools[{number}]", asked.model)
        else:
            _hosted_tool(tool, f"tools[{number}]")
    for number, name in enumerate(body.get("include") or []):
        if name not in INCLUDES:
            raise Refused(f"Invalid value: '{name}'. (include[{number}])", code="invalid_value")
    _items(body["input"])
    _pairing(body["input"])
    _sealed(body["input"], bool(body.get("store", asked.path.endswith("/responses"))), seals, asked.model)
    if prompt_tokens(asked) > (window or spec_of(asked.model).window):
        raise Refused(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            code="context_length_exceeded",
        )


def check_head(asked: Asked) -> None:
    """The key, the size and the model."""
    if len(asked.body) > MOST_BYTES:
        raise Refused("Request body too large.", 413)
    if not asked.headers.get("authorization", "").startswith("Bearer ") and not asked.headers.get("api-key"):
        raise Refused(
            "You didn't provide an API key. You need to provide your API key in an Authorization header.", 401
        )
    if asked.model.startswith(("gpt-5", "gpt-6")) and asked.model not in {known.id for known in catalog.models()}:
        raise Refused(
            f"The model `{asked.model}` does not exist or you do not have access to it.", 404, "model_not_found"
        )


def check_tool(tool: Mapping[str, Any], where: str) -> None:
    """A function's name and schema."""
    name = str(tool.get("name"))
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        raise Refused(
            f"Invalid '{where}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            code="invalid_value",
        )
    schema = tool.get("parameters") or {}
    if why := tool_schemas.openai(schema):
        raise Refused(f"Invalid schema for function '{name}': {why}", code="invalid_function_parameters")
    if tool.get("strict") and schema.get("additionalProperties") is not False:
        raise Refused(
            f"Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be supplied and to be false.",
            code="invalid_function_parameters",
        )


def check_image(url: str) -> None:
    """A picture as a data URL."""
    if url.startswith("data:") and unreadable(url.partition(";base64,")[2]):
        raise Refused(
            "The image data you provided does not represent a valid image. Please check your input and try again with one of the "
            "supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
            code="invalid_value",
        )


def spec_of(model: str) -> ModelSpec:
    """What the catalog knows; a made-up model has the defaults."""
    try:
        return catalog.spec(f"openai/{model}")
    except InputError:
        return ModelSpec("openai", model, "openai")


def prompt_tokens(asked: Asked) -> int:
    """The size of the prompt by the server's own count."""
    return sum(tokens for _, tokens in cache_blocks(asked.json))


def cache_blocks(body: Mapping[str, Any]) -> list[tuple[bytes, int]]:
    """The parts in cache order with their sizes."""
    return sized([body.get("instructions"), *(body.get("tools") or []), *body["input"]])


def sized(parts: Iterable[Any]) -> list[tuple[bytes, int]]:
    """Parts as bytes, with their tokens."""
    texts = [json.dumps(part, ensure_ascii=False) for part in parts if part]
    return [(text.encode("utf-8", "surrogatepass"), tokens_of(text)) for text in texts]


def too_long(where: str, value: str, most: int) -> Refused:
    """The refusal of a string that has too many characters."""
    return Refused(
        f"Invalid '{where}': string too long. Expected a string with maximum length {most}, but got a string with length "
        f"{len(value)} instead.",
        code="string_above_max_length",
    )


def _reasoning(body: Mapping[str, Any], model: str) -> None:
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort")
    if effort is not None and effort not in EFFORTS:
        raise Refused(f"Invalid value: '{effort}'. Supported values are: {', '.join(EFFORTS)}.", code="invalid_value")
    if effort in ("none", "minimal") and model.startswith("gpt-6.2"):
        raise Refused(
            f"Unsupported value: 'reasoning.effort' does not support '{effort}' with this model.",
            code="unsupported_value",
        )
    most = spec_of(model).max_output
    if body.get("max_output_tokens", 16) < 16:
        raise Refused(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
            code="integer_below_min_value",
        )
    if body.get("max_output_tokens", 16) > most:
        raise Refused(
            f"Invalid 'max_output_tokens': integer above maximum value. Expected a value <= {most}.",
            code="integer_above_max_value",
        )


def _items(items: list[dict[str, Any]]) -> None:
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind in ("function_call", "function_call_output") and len(item["call_id"]) > LONGEST_ID:
            raise too_long(f"input[{number}].call_id", item["call_id"], LONGEST_ID)
        if kind == "message" and not isinstance(item["content"], str):
            wanted = CONTENT.get(item["role"], CONTENT["user"])
            for index, block in enumerate(item["content"]):
                if block.get("type") not in wanted:
                    raise Refused(
                        f"Invalid value: '{block.get('type')}'. Supported values are: {', '.join(sorted(wanted))}. "
                        f"(input[{number}].content[{index}])",
                        code="invalid_value",
                    )
        content = item.get("output") if kind.endswith("call_output") else item.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "input_image":
                check_image(block["image_url"])


def _custom_tool(tool: Mapping[str, Any], where: str, model: str) -> None:
    """A tool that takes a text: only newer models have them, and a grammar must name its syntax and begin somewhere."""
    if re.match(r"gpt-[34]|gpt-oss|o\d", model):
        raise Refused(f"Invalid value: 'custom'. This model does not support tools of this type. ({where}.type)")
    form = tool.get("format") or {"type": "text"}
    if form.get("type") not in ("text", "grammar") or set(tool) - {"type", "name", "description", "format"}:
        raise Refused(f"Unknown parameter in '{where}'.", code="unknown_parameter")
    if form["type"] == "grammar":
        rules = re.findall(r"(?m)^(\w+) *:", str(form.get("definition")))
        used = re.findall(r"\b[a-z_]+\b", re.sub(r'"[^"]*"|/[^/\n]+/', "", str(form.get("definition"))))
        if form.get("syntax") not in ("lark", "regex") or "start" not in rules or set(used) - set(rules):
            raise Refused(f"Invalid grammar definition. ({where}.format)", code="invalid_value")


def _hosted_tool(tool: Mapping[str, Any], where: str) -> None:
    """A tool that the vendor itself runs: of these only the web search."""
    if tool.get("type") != "web_search":
        raise Refused(f"Invalid value: '{tool.get('type')}'. ({where}.type)", code="invalid_value")
    for name in set(tool) - {"type", "filters", "user_location", "search_context_size", "external_web_access"}:
        raise Refused(f"Unknown parameter: '{where}.{name}'.", code="unknown_parameter")


def _pairing(items: list[dict[str, Any]]) -> None:
    kinds = ("function_call", "custom_tool_call")
    named = {item["call_id"]: item["type"] for item in items if item.get("type") in kinds}
    for item in items:
        answered = named.get(item.get("call_id", ""))
        if str(item.get("type")).endswith("call_output") and answered and item["type"] != f"{answered}_output":
            raise Refused(
                f"No tool call found for {item['type'].removesuffix('_output')} with call_id {item['call_id']}."
            )
    for number, item in enumerate(items):
        if item.get("type") == "function_call":
            _arguments(item["arguments"], f"input[{number}].arguments")
    calls = [item["call_id"] for item in items if item.get("type") in kinds]
    outputs = [item["call_id"] for item in items if str(item.get("type")).endswith("call_output")]
    for missing in [call for call in calls if call not in outputs]:
        raise Refused(f"No tool output found for function call {missing}.")
    for number, item in enumerate(items):
        if str(item.get("type")).endswith("call_output"):
            before = [each["call_id"] for each in items[:number] if each.get("type") in kinds]
            if item["call_id"] not in before:
                raise Refused(f"No tool call found for function call output with call_id {item['call_id']}.")


def _arguments(text: str, where: str) -> None:
    """The strictest servers refuse arguments that are no JSON object."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Refused(f"Invalid '{where}': expected a JSON object.", code="invalid_value")


def _sealed(items: list[dict[str, Any]], stored: bool, seals: Seals, model: str) -> None:
    for number, item in enumerate(items):
        if item.get("type") == "compaction" and seals.issuer(item.get("encrypted_content") or "") != model:
            raise Refused(
                "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )
        if item.get("type") != "reasoning":
            continue
        seal = item.get("encrypted_content")
        if not seal and not stored:
            raise Refused(
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input.",
                404,
            )
        if seal and seals.issuer(seal) is None:
            raise Refused(
                f"The encrypted content {seal[:8]}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )
        following = items[number + 1] if number + 1 < len(items) else {}
        if (
            following.get("role", "assistant") != "assistant"
            or not following
            or following.get("type") == "function_call_output"
        ):
            raise Refused(
                f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
            )
