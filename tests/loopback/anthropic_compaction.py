"""The vendor's own compaction as the Messages API has it since 2026-01-12: what it refuses, when it compacts, and what it then answers."""

from __future__ import annotations

from typing import Any

from agentcli.core.model import ModelSpec
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals

BETA, KIND = "compact-2026-01-12", "compact_20260112"
FIELDS = {"type", "trigger", "pause_after_compaction", "instructions"}
BLOCK = {"content", "encrypted_content", "signature", "tool_changes", "cache_control"}
LEAST, USUAL = 50_000, 150_000
"""Tokens of the smallest trigger, and of the one that a request has without naming any."""


def edit_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The edit of a request, if it has one."""
    edits = (body.get("context_management") or {}).get("edits", [])
    return next((edit for edit in edits if edit.get("type") == KIND), None)


def check_edit(asked: Asked, edit: dict[str, Any], where: str, spec: ModelSpec) -> None:
    """Raises Refused for an edit that the API does not take, or for a model without compaction."""
    if BETA not in betas(asked):
        raise Refused(f"{where}: Input tag '{KIND}' found using 'type' does not match any of the expected tags")
    if not spec.compacts_from:
        raise Refused(f"'{KIND}' is not supported on this model")
    for name in set(edit) - FIELDS:
        raise Refused(f"{where}.{KIND}.{name}: Extra inputs are not permitted")
    trigger = edit.get("trigger")
    if trigger is None:
        return
    if trigger.get("type") != "input_tokens":
        raise Refused(f"{where}.{KIND}.trigger.type: Input should be 'input_tokens'")
    if not isinstance(trigger.get("value"), int) or trigger["value"] < LEAST:
        raise Refused(f"{where}.{KIND}.trigger.value: Input should be greater than or equal to {LEAST}")


def check_blocks(asked: Asked, seals: Seals) -> None:
    """Raises Refused for a block that no compaction of this model returned, or that comes without the beta and the edit."""
    body = asked.json
    for index, message in enumerate(body["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        for number, block in enumerate(content):
            if block.get("type") != "compaction":
                continue
            where = f"messages.{index}.content.{number}"
            if BETA not in betas(asked) or edit_of(body) is None:
                raise Refused(
                    f"{where}: Input tag 'compaction' found using 'type' does not match any of the expected tags"
                )
            if message["role"] != "assistant":
                raise Refused(f"{where}: `compaction` blocks can only be in `assistant` messages")
            for name in set(block) - BLOCK - {"type"}:
                raise Refused(f"{where}.compaction.{name}: Extra inputs are not permitted")
            if block.get("content") == "":
                raise Refused(f"{where}.compaction.content: String should have at least 1 character")
            seal = block.get("encrypted_content") or ""
            if block.get("content") is not None and not seals.is_good(seal, asked.model, block["content"], None):
                raise Refused(f"{where}: Invalid `encrypted_content` in `compaction` block")


def betas(asked: Asked) -> list[str]:
    """The betas that a request names."""
    return [name.strip() for name in asked.headers.get("anthropic-beta", "").split(",")]


def without_replaced(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without everything before the newest summary."""
    for index in range(len(messages) - 1, -1, -1):
        content = messages[index]["content"] if isinstance(messages[index]["content"], list) else []
        for number in range(len(content) - 1, -1, -1):
            if content[number].get("type") == "compaction" and content[number].get("content") is not None:
                return [{**messages[index], "content": content[number:]}, *messages[index + 1 :]]
    return messages


def is_due(body: dict[str, Any], size: int) -> bool:
    """Whether a prompt of so many tokens is compacted before it is answered."""
    edit = edit_of(body)
    return edit is not None and size >= (edit.get("trigger") or {"value": USUAL})["value"]


def block(asked: Asked, text: str, seals: Seals) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it starts, and its only delta; without a summary its content is null."""
    delta: dict[str, Any] = {"type": "compaction_delta", "content": text or None}
    if text:
        delta["encrypted_content"] = seals.issue(asked.model, text, None)
    return {"type": "compaction", "content": None}, [delta]
