"""Context editing as the Messages API does it: of each request anew, before the model reads it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from agentcli.core.errors import InputError
from agentcli.core.model import ModelSpec
from agentcli.providers import catalog
from tests.loopback import anthropic_compaction as compaction
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused

BETA = "context-management-2025-06-27"
USES, THOUGHTS = "clear_tool_uses_20250919", "clear_thinking_20251015"
PLACEHOLDER = "[cleared to save context]"
_FIELDS = {
    USES: {"type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"},
    THOUGHTS: {"type", "keep"},
}
_KINDS = {
    "trigger": ("input_tokens", "tool_uses"),
    "keep": ("tool_uses",),
    "clear_at_least": ("input_tokens",),
}


def check(asked: Asked) -> None:
    """Raises Refused for edits that the API does not take."""
    managed = asked.json.get("context_management")
    if managed is None:
        return
    named = compaction.betas(asked)
    if not {BETA, compaction.BETA} & {*named} or not asked.path.startswith("/v1/messages"):
        raise Refused("context_management: Extra inputs are not permitted")
    kinds = [edit.get("type") for edit in managed.get("edits", [])]
    for number, edit in enumerate(managed.get("edits", [])):
        where = f"context_management.edits.{number}"
        if edit.get("type") == compaction.KIND:
            compaction.check_edit(asked, edit, where, spec_of(asked.model))
        elif BETA not in named:
            raise Refused(
                f"{where}: Input tag {edit.get('type')!r} found using 'type' does not match any of the expected tags"
            )
        else:
            _edit(edit, where)
    if len(set(kinds)) < len(kinds):
        raise Refused("context_management.edits: each strategy may be listed only once")
    if THOUGHTS in kinds[1:]:
        raise Refused(f"context_management.edits: `{THOUGHTS}` must be listed first when strategies are combined")
    if THOUGHTS in kinds and (asked.json.get("thinking") or {}).get("type") not in ("enabled", "adaptive"):
        raise Refused(f"`{THOUGHTS}` strategy requires `thinking` to be enabled or adaptive")


def spec_of(model: str) -> ModelSpec:
    """What the catalog knows; a made-up model has the defaults."""
    try:
        return catalog.spec(f"anthropic/{model}")
    except InputError:
        return ModelSpec("anthropic", model, "anthropic")


def _edit(edit: dict[str, Any], where: str) -> None:
    kind = edit.get("type")
    if kind not in _FIELDS:
        tags = ", ".join(map(repr, _FIELDS))
        raise Refused(f"{where}: Input tag {kind!r} found using 'type' does not match any of the expected tags: {tags}")
    where = f"{where}.{kind}"
    for name in set(edit) - _FIELDS[kind]:
        raise Refused(f"{where}.{name}: Extra inputs are not permitted")
    if kind == THOUGHTS:
        keep = edit.get("keep", "all")
        if keep != "all" and keep != {"type": "all"}:
            _amount(keep, ("thinking_turns",), f"{where}.keep", 1)
        return
    for name, kinds in _KINDS.items():
        if edit.get(name) is not None:
            _amount(edit[name], kinds, f"{where}.{name}", 0 if name == "keep" else 1)
    if not isinstance(edit.get("exclude_tools", []), list):
        raise Refused(f"{where}.exclude_tools: Input should be a valid list")
    if not isinstance(edit.get("clear_tool_inputs", []), list | bool):
        raise Refused(f"{where}.clear_tool_inputs: Input should be a valid boolean or list")


def _amount(given: Any, kinds: tuple[str, ...], where: str, least: int) -> None:
    if not isinstance(given, dict) or given.get("type") not in kinds:
        raise Refused(f"{where}.type: Input should be {' or '.join(map(repr, kinds))}")
    if not isinstance(given.get("value"), int) or isinstance(given["value"], bool):
        raise Refused(f"{where}.value: Input should be a valid integer")
    if given["value"] < least:
        raise Refused(f"{where}.value: Input should be greater than or equal to {least}")


@dataclass(frozen=True)
class Edited:
    """A body as the model reads it, with the report on what was cleared; None where no edits were asked for."""

    body: dict[str, Any]
    applied: list[dict[str, Any]] | None = None

    @property
    def report(self) -> dict[str, Any]:
        """The field of the answer."""
        return {} if self.applied is None else {"context_management": {"applied_edits": self.applied}}


def edited(body: dict[str, Any]) -> Edited:
    """The request with its edits applied, in their order."""
    managed = body.get("context_management")
    if managed is None:
        return Edited(body)
    left = copy.deepcopy(body)
    left["messages"] = compaction.without_replaced(left["messages"])
    applied: list[dict[str, Any]] = []
    for edit in (each for each in managed.get("edits", []) if each["type"] != compaction.KIND):
        before = _size(left)
        count = _thoughts(left, edit) if edit["type"] == THOUGHTS else _uses(left, edit, before)
        if count:
            name = "cleared_thinking_turns" if edit["type"] == THOUGHTS else "cleared_tool_uses"
            applied.append({"type": edit["type"], name: count, "cleared_input_tokens": before - _size(left)})
    return Edited(left, applied)


def _uses(body: dict[str, Any], edit: dict[str, Any], size: int) -> int:
    """Clear the oldest tool uses but the newest `keep`; their number."""
    calls = {block["id"]: block for block in _blocks(body, "tool_use")}
    exclude = set(edit.get("exclude_tools") or ())
    results = [
        block
        for block in _blocks(body, "tool_result")
        if calls.get(block["tool_use_id"], {}).get("name") not in exclude
    ]
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": 100_000}
    reached = size if trigger["type"] == "input_tokens" else len(calls)
    keep = (edit.get("keep") or {"value": 3})["value"]
    chosen = results[: max(0, len(results) - keep)]
    if reached <= trigger["value"] or not chosen:
        return 0
    inputs = edit.get("clear_tool_inputs") or False
    whole = copy.deepcopy(body["messages"])
    for block in chosen:
        block["content"] = PLACEHOLDER
        call = calls[block["tool_use_id"]]
        if inputs is True or (inputs and call["name"] in inputs):
            call["input"] = {}
    if size - _size(body) < (edit.get("clear_at_least") or {"value": 0})["value"]:
        body["messages"] = whole
        return 0
    return len(chosen)


def _thoughts(body: dict[str, Any], edit: dict[str, Any]) -> int:
    """Clear the thoughts of all turns but the newest; the number of turns that lose some."""
    keep = edit.get("keep", "all")
    if keep == "all" or keep["type"] == "all":
        return 0
    turns: list[list[dict[str, Any]]] = [[]]
    for message in body["messages"]:
        kinds = {block.get("type") for block in _content(message)}
        if message["role"] == "user" and "tool_result" not in kinds:
            turns.append([])
        elif message["role"] == "assistant" and kinds & _THINKING:
            turns[-1].append(message)
    thinking = [turn for turn in turns if turn]
    old = thinking[: max(0, len(thinking) - keep["value"])]
    for turn in old:
        for message in turn:
            message["content"] = [block for block in message["content"] if block.get("type") not in _THINKING]
    return len(old)


_THINKING = {"thinking", "redacted_thinking"}


def _blocks(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for message in body["messages"] for block in _content(message) if block.get("type") == kind]


def _content(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def _size(body: dict[str, Any]) -> int:
    from tests.loopback.anthropic_rules import cache_blocks

    return sum(tokens for _, tokens in cache_blocks(body)[0])
