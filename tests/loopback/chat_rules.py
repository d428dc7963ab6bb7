"""What chat completions refuse, in the words of OpenAI's own server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.loopback.openai_rules import EFFORTS, check_head, check_image, check_tool, sized, spec_of, too_long
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals

TOP = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "max_tokens", "max_completion_tokens",
    "temperature", "top_p", "n", "stop", "seed", "user", "metadata", "store", "response_format", "reasoning_effort", "prompt_cache_key",
    "service_tier", "safety_identifier", "verbosity", "presence_penalty", "frequency_penalty",
}  # fmt: skip
LONGEST_ID = 40


def check(asked: Asked, seals: Seals, window: int | None) -> None:
    """Raises Refused where the real API would answer with an error."""
    check_head(asked)
    body = asked.json
    for name in set(body) - TOP:
        raise Refused(f"Unrecognized request argument supplied: {name}", code="unknown_parameter")
    _limits(body, asked.model)
    for number, tool in enumerate(body.get("tools") or []):
        check_tool(tool["function"], f"tools[{number}].function")
    marks = str(body["messages"]).count("'cache_control'")
    if marks > (4 if is_claude(asked.model) else 0):
        raise Refused(f"cache_control: {marks} marks are too many for {asked.model}")
    _messages(body["messages"])
    _pairing(body["messages"])
    limit = window or spec_of(asked.model).window
    if (size := prompt_tokens(asked)) > limit:
        raise Refused(
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in {size} tokens. "
            "Please reduce the length of the messages.",
            code="context_length_exceeded",
        )


def is_claude(model: str) -> bool:
    """True for a Claude behind a gateway."""
    return "claude" in model


def prompt_tokens(asked: Asked) -> int:
    """The size of the prompt by the server's own count."""
    return sum(tokens for _, tokens in cache_blocks(asked.json))


def cache_blocks(body: Mapping[str, Any]) -> list[tuple[bytes, int]]:
    """The parts in cache order with their sizes; a cache mark is no part of them."""
    return sized([*(body.get("tools") or []), *map(_unmarked, body["messages"])])


def cache_marks(body: Mapping[str, Any]) -> list[int]:
    """The numbers of the parts behind which a gateway would have Claude cache."""
    parts = [*(body.get("tools") or []), *body["messages"]]
    return [number for number, part in enumerate(parts) if "cache_control" in str(part)]


def _unmarked(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list) and all(block["type"] == "text" for block in content):
        content = "\n\n".join(block["text"] for block in content)
    return {**{name: value for name, value in message.items() if name != "cache_control"}, "content": content}


def _limits(body: Mapping[str, Any], model: str) -> None:
    known = spec_of(model)
    effort = body.get("reasoning_effort")
    if known.thinking == "level" and known.known:
        if "max_tokens" in body:
            raise Refused(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                code="unsupported_parameter",
            )
        if body.get("tools") and effort != "none":
            raise Refused(
                f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function tools, "
                "use /v1/responses or set reasoning_effort to 'none'."
            )
    if effort is not None and effort not in EFFORTS:
        raise Refused(f"Invalid value: '{effort}'. Supported values are: {', '.join(EFFORTS)}.", code="invalid_value")
    for name in ("max_tokens", "max_completion_tokens"):
        if body.get(name, 1) > known.max_output:
            raise Refused(
                f"{name} is too large: {body[name]}. This model supports at most {known.max_output} completion tokens, whereas you "
                f"provided {body[name]}.",
                code="invalid_value",
            )


def _messages(messages: list[dict[str, Any]]) -> None:
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ("system", "developer", "user", "assistant", "tool"):
            raise Refused(
                f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool'."
            )
        if content is None and not message.get("tool_calls"):
            raise Refused(f"Invalid value for 'content': expected a string, got null. (messages[{number}])")
        if isinstance(content, list) and role != "user" and any(block["type"] == "image_url" for block in content):
            raise Refused(
                f"Invalid 'messages[{number}]'. Image URLs are only allowed for messages with role 'user', but this message with role "
                f"'{role}' contains an image URL."
            )
        for block in content if isinstance(content, list) else ():
            if block["type"] == "image_url":
                check_image(block["image_url"]["url"])
        for index, call in enumerate(message.get("tool_calls") or []):
            if len(call["id"]) > LONGEST_ID:
                raise too_long(f"messages[{number}].tool_calls[{index}].id", call["id"], LONGEST_ID)
            if not isinstance(call["function"]["arguments"], str):
                raise Refused(
                    f"Invalid type for 'messages[{number}].tool_calls[{index}].function.arguments': expected a string."
                )


def _pairing(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise Refused(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                )
            waiting.remove(message["tool_call_id"])
            continue
        _answered(waiting)
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    _answered(waiting)


def _answered(waiting: list[str]) -> None:
    if waiting:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            f"The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )
