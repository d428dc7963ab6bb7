"""Models in responses of endpoints.

The responses have OpenAI's form, with the extra fields of OpenRouter and vLLM, or LiteLLM's, Anthropic's or Google's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcli.core.sanitise import is_safe
from agentcli.core.setting import PRICE
from agentcli.providers.context_windows import LARGEST, SMALLEST, STATED

LONGEST_NAME = 200
"""Maximum characters of a model's name."""
_CHATS = ("chat", "completion", "responses")
"""LiteLLM's modes of models that hold a conversation."""
_GENERATES = "generateContent"
Stated = dict[str, Any]


def entries(answer: Any) -> Sequence[Any] | None:
    """Return the entries of a response; None if it is not a list of models."""
    if not isinstance(answer, Mapping):
        return None
    found = answer.get("data", answer.get("models"))
    return found if isinstance(found, list) else None


def models(listed: Sequence[Any], most: int) -> tuple[dict[str, Stated], int, int]:
    """Return the first models with their stated facts, the number of others, and the number without a usable name."""
    found: dict[str, Stated] = {}
    left_out = unusable = 0
    for entry in listed:
        name = _name(entry)
        if name is None:
            unusable += 1
        elif not _converses(entry) or name in found:
            continue
        elif len(found) < most:
            found[name] = dict(_stated(entry))
        else:
            left_out += 1
    return found, left_out, unusable


def _name(entry: Any) -> str | None:
    if not isinstance(entry, Mapping):
        return None
    name = entry.get("model_name") or entry.get("id") or entry.get("name")
    if not isinstance(name, str):
        return None
    name = name.removeprefix("models/")
    usable = 0 < len(name) <= LONGEST_NAME and name.isprintable() and " " not in name and is_safe(name)
    return name if usable else None


def _converses(entry: Mapping[str, Any]) -> bool:
    """Return False for a model with another stated purpose, such as embeddings."""
    mode = _table(entry.get("model_info")).get("mode")
    outputs = _table(entry.get("architecture")).get("output_modalities")
    methods = entry.get("supportedGenerationMethods")
    return (
        (not isinstance(mode, str) or mode in _CHATS)
        and (not isinstance(outputs, list) or "text" in outputs)
        and (not isinstance(methods, list) or _GENERATES in methods)
    )


def _stated(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of ModelSpec that an entry gives."""
    info, top = _table(entry.get("model_info")), _table(entry.get("top_provider"))
    windows = (
        top.get("context_length"),
        *(entry.get(name) for name in STATED),
        info.get("max_input_tokens"),
        entry.get("max_input_tokens"),
        entry.get("inputTokenLimit"),
    )
    outputs = (
        top.get("max_completion_tokens"),
        info.get("max_output_tokens"),
        entry.get("max_tokens"),
        entry.get("outputTokenLimit"),
    )
    for name, values, least in (("window", windows, SMALLEST), ("max_output", outputs, 1)):
        if (value := next((value for value in values if _is_size(value, least)), None)) is not None:
            yield name, value
    if prices := _prices(_table(entry.get("pricing")), _ROUTER) or _prices(info, _LITELLM):
        yield "prices", prices
    inputs = _table(entry.get("architecture")).get("input_modalities")
    if isinstance(inputs, list):
        yield "images", "image" in inputs
    elif isinstance(info.get("supports_vision"), bool):
        yield "images", info["supports_vision"]


_ROUTER = ("prompt", "completion", "input_cache_read", "input_cache_write")
_LITELLM = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)


def _prices(table: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    """Return prices in USD per million tokens from prices per token.

    Without cache prices, the cache costs as much as fresh input.
    """
    fresh, out, read, write = (_price(table.get(name)) for name in names)
    if fresh is None or out is None:
        return {}
    return {
        "input": fresh,
        "output": out,
        "cache_read": fresh if read is None else read,
        "cache_write": fresh if write is None else write,
    }


def _price(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        price = float(value) * 1e6
    except (ValueError, OverflowError):
        return None
    return round(price, 9) if price in PRICE else None


def _is_size(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
