"""Nothing is lost: what a file of today holds, counted in its own terms, against what was imported of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from agentcli.core.message import Image, Message, ToolResult, Usage
from agentcli.core.record import Compaction, Failure
from agentcli.extras.importers.sessions import read
from tests.tables import each_row

SAMPLES = Path(__file__).parent / "samples"
WIDE = ("prompts", "replies", "calls", "results", "pictures", "failures", "compactions", "input", "output")


def counts(
    *,
    prompts: int,
    replies: int,
    calls: Iterable[str],
    results: Iterable[str],
    usage: Iterable[tuple[int, int]],
    **more: int,
) -> dict[str, int]:
    spent = list(usage)
    found = {"prompts": prompts, "replies": replies, "calls": len({*calls}), "results": len({*results}), **more}
    return {**found, "input": sum(given for given, _ in spent), "output": sum(made for _, made in spent)}


def in_codex(lines: list[dict[str, Any]]) -> dict[str, int]:
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    tokens = [line["payload"] for line in lines if line["type"] == "token_usage_record"]
    done = [
        line["payload"] for line in lines if line["type"] == "event_msg" and line["payload"]["type"] == "task_complete"
    ]
    return counts(
        prompts=sum(
            item["type"] == "message" and item["role"] == "user" and not item["content"][0]["text"].startswith("<")
            for item in items
        ),
        replies=len(tokens) - sum(line["type"] == "compacted" for line in lines),
        calls=(item["call_id"] for item in items if item["type"].endswith("_call")),
        results=(item["call_id"] for item in items if item["type"].endswith("_output")),
        pictures=sum("data:image" in str(item.get("output")) for item in items),
        failures=sum("error" in event for event in done),
        compactions=sum(line["type"] == "compacted" for line in lines),
        usage=((each["usage"]["input_tokens"], each["usage"]["output_tokens"]) for each in tokens),
    )


def in_claude_code(lines: list[dict[str, Any]]) -> dict[str, int]:
    replies = {
        line["message"]["id"]: line["message"]
        for line in lines
        if line["type"] == "assistant" and line["message"]["model"] != "<synthetic>"
    }
    blocks = [
        block
        for line in lines
        if line["type"] in ("user", "assistant") and isinstance(line["message"]["content"], list)
        for block in line["message"]["content"]
    ]
    given = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return counts(
        prompts=sum("promptSource" in line for line in lines),
        replies=len(replies),
        calls=(block["id"] for block in blocks if block["type"] == "tool_use"),
        results=(block["tool_use_id"] for block in blocks if block["type"] == "tool_result"),
        pictures=sum(str(block.get("content")).count("'type': 'image'") for block in blocks),
        failures=sum(line.get("isApiErrorMessage") is True for line in lines),
        compactions=sum(line.get("subtype") == "compact_boundary" for line in lines),
        usage=(
            (sum(said["usage"][name] for name in given), said["usage"]["output_tokens"]) for said in replies.values()
        ),
    )


def in_pi(lines: list[dict[str, Any]]) -> dict[str, int]:
    said = [line["message"] for line in lines if line["type"] == "message"]
    replies = [message for message in said if message["role"] == "assistant" and message["content"]]
    return counts(
        prompts=sum(message["role"] == "user" for message in said),
        replies=len(replies),
        calls=(block["id"] for message in replies for block in message["content"] if block["type"] == "toolCall"),
        results=(message["toolCallId"] for message in said if message["role"] == "toolResult"),
        pictures=sum(
            block["type"] == "image"
            for message in said
            if message["role"] == "toolResult"
            for block in message["content"]
        ),
        failures=sum(message.get("stopReason") == "error" for message in said),
        compactions=sum(line["type"] == "compaction" for line in lines),
        usage=(
            (sum(message["usage"][name] for name in ("input", "cacheRead", "cacheWrite")), message["usage"]["output"])
            for message in replies
        ),
    )


def in_opencode(lines: list[dict[str, Any]]) -> dict[str, int]:
    (whole,) = lines
    infos = [message["info"] for message in whole["messages"]]
    parts = [part for message in whole["messages"] for part in message["parts"]]
    tools = [part for part in parts if part["type"] == "tool"]
    finished = [part["tokens"] for part in parts if part["type"] == "step-finish"]
    compactions = sum(part["type"] == "compaction" for part in parts)
    cut = sum(info["role"] == "assistant" and "finish" not in info and "error" not in info for info in infos)
    empty = sum(part["type"] == "text" and not part["text"] for part in parts)
    return counts(
        prompts=sum(info["role"] == "user" for info in infos) - compactions,
        replies=len(finished) - compactions + cut - empty,
        calls=(part["callID"] for part in tools),
        results=(part["callID"] for part in tools if part["state"]["status"] in ("completed", "error")),
        pictures=sum(len(part["state"].get("attachments", ())) for part in tools),
        failures=sum("error" in info for info in infos),
        compactions=compactions,
        usage=(
            (tokens["input"] + tokens["cache"]["read"] + tokens["cache"]["write"], tokens["output"])
            for tokens in finished
        ),
    )


def imported(path: Path) -> dict[str, int]:
    bodies = [body for _, body in read(path).bodies]
    messages = [body for body in bodies if isinstance(body, Message)]
    results = [body for body in bodies if isinstance(body, ToolResult)]
    replies = [message for message in messages if message.role == "assistant"]
    compactions = [body for body in bodies if isinstance(body, Compaction)]
    spent = [*(reply.usage or Usage() for reply in replies), *(each.usage for each in compactions)]
    return counts(
        prompts=sum(bool(message.text) for message in messages if message.role == "user"),
        replies=len(replies),
        calls=(call.call_id for reply in replies for call in reply.calls),
        results=(result.call_id for result in results if result.status != "interrupted"),
        pictures=sum(isinstance(image, Image) for result in results for image in result.images),
        failures=sum(isinstance(body, Failure) for body in bodies),
        compactions=len(compactions),
        usage=((usage.prompt, usage.output) for usage in spent),
    )


@each_row(
    ("name", "held"),
    [
        ("claude-code-2.1.197.jsonl", in_claude_code),
        ("codex-0.169.0.jsonl", in_codex),
        ("opencode-1.18.33.json", in_opencode),
        ("pi-0.74.2.jsonl", in_pi),
    ],
)
def test_all_that_a_file_holds_is_imported(name: str, held: Callable[[list[dict[str, Any]]], dict[str, int]]):
    text = (SAMPLES / name).read_text()
    lines = [json.loads(text)] if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    there = held(lines)
    assert imported(SAMPLES / name) == there
    # Each was run afresh, resumed, killed in a call, killed in a reply, refused by its server, and compacted.
    assert min(there[kind] for kind in WIDE) > 0
    assert there["results"] == there["calls"] - 1
