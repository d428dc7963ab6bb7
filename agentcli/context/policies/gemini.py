"""Gemini CLI's compression: the oldest 70 % by characters, up to a message of the user."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.context.policies.plans import (
    Plan,
    PlanTrigger,
    compactable,
    keep_all,
    opens_turn,
    split_plan,
    without_current,
)
from agentcli.context.settings import GeminiSettings
from agentcli.context.tokens.estimators import utf16_length
from agentcli.context.view import ViewMessage
from agentcli.context.window import Window
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult

POLICY = "gemini"


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Plan nothing below `threshold` of the model's limit, unless forced; otherwise split by characters.

    The message that waits for its answer is not counted: it is not part of the history yet.
    """
    rules = window.settings.gemini
    messages = compactable(window.view)
    history = without_current(messages)
    current = sum(map(window.size, messages[len(history) :]))
    before = window.tokens - current
    limit, mark = _limit(window), threshold(window)
    if not forced and (not window.settings.autocompact or before < mark):
        return keep_all(POLICY, window, f"{before:,} tokens are below {mark:,}, the threshold of this policy.")
    at = split_point(history, 1 - rules.preserve)
    # Gemini CLI tries it before every send, also between two steps.
    trigger: PlanTrigger = "manual" if forced else "hard"
    if at == 0:
        return keep_all(POLICY, window, "There is no message of the user to split before.", trigger=trigger)
    return split_plan(
        POLICY,
        trigger,
        window,
        at,
        rules.summary_tokens,
        f"{before:,} of {limit:,} tokens are in use{_pressed(current, before, limit, rules)}.",
        f"Will summarise the first {at} of {len(history)} messages: at least {1 - rules.preserve:.0%} of the characters.",
    )


def threshold(window: Window) -> int:
    """Return the size in tokens from which it compacts: a share of the model's limit in gemini's table."""
    return math.ceil(window.settings.gemini.threshold * _limit(window))


def _limit(window: Window) -> int:
    rules = window.settings.gemini
    return rules.limits.get(window.limits.model, rules.limit)


def _pressed(new: int, last: int, limit: int, rules: GeminiSettings) -> str:
    if not under_pressure(new, last, limit, rules):
        return ""
    return f", and the new message takes more than {rules.pressure:.0%} of what is left"


def under_pressure(new: int, last: int, limit: int, rules: GeminiSettings) -> bool:
    """Return True if a new message of `new` tokens takes too much of the space that the last prompt left.

    `pressure` is the share of that space.
    """
    return new > rules.pressure * (limit - last)


def split_point(messages: Sequence[ViewMessage], share: float) -> int:
    """Return the number of messages to compress.

    The split is before the first message of the user that has at least `share` of the characters before it. A message
    with results of calls does not count. Without such a message, everything is compressed if the model spoke last and
    calls no tool. Otherwise, the split is the last possible one.
    """
    weights = [weight(message) for message in messages]
    target = sum(weights) * share
    last, before = 0, 0
    for number, message in enumerate(messages):
        if opens_turn(message):
            if before >= target:
                return number
            last = number
        before += weights[number]
    if messages and messages[-1].role == "assistant" and not messages[-1].calls:
        return len(messages)
    return last


def weight(message: ViewMessage) -> int:
    """Return the length of a message's compact JSON in UTF-16 units, which is the length of a string in JavaScript."""
    role = "user" if message.role == "user" else "model"
    parts = [part for part in (_json(block.part) for block in message.blocks) if part]
    text = json.dumps({"role": role, "parts": parts}, ensure_ascii=False, separators=(",", ":"))
    # JavaScript writes half a surrogate pair as an escape of six characters.
    return utf16_length(text) + (0 if text.isascii() else 5 * len(_HALF_PAIR.findall(text)))


_HALF_PAIR = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")


def _as_numbers(value: Any) -> Any:
    """Return the value with whole numbers in the form of JavaScript: 1.0 is 1."""
    match value:
        case float() if value.is_integer() and abs(value) < 1e21:
            return int(value)
        case Mapping():
            return {key: _as_numbers(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_as_numbers(inner) for inner in value]
        case _:
            return value


def _json(part: Part | ToolResult) -> Mapping[str, Any] | None:
    match part:
        case Text(text):
            return {"text": text}
        case File(_, path, text):
            return {"text": f"{path}\n{text}"}
        case Image(mime, data):
            return {"inlineData": {"mimeType": mime, "data": data}}
        case ToolCall(call_id, name, given):
            return {"functionCall": {"id": call_id, "name": name, "args": _as_numbers(given)}}
        case ToolResult(call_id, name, _, output):
            return {"functionResponse": {"id": call_id, "name": name, "response": {"output": output}}}
        case Thinking():
            return None
