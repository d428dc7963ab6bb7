"""Convert a foreign file into records that obey our rules: turns counted, calls answered, compactions by seq."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentcli.core.message import Image, Message, ToolResult
from agentcli.core.record import Failure
from agentcli.extras.importers.sessions import read
from agentcli.extras.importers.sessions.normalise import UNANSWERED
from tests.extras.importers.sessions.test_gemini_cli import REAL, SAMPLES, of, prompts
from tests.tables import each_row


def messages(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in lines:
        yield from line.get("$set", {}).get("messages", ())
        if "type" in line:
            yield line


def parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"text": content}] if isinstance(content, str) else content


def written(path: Path) -> dict[str, set[Any]]:
    """The content of a file, counted without regard to how it is read: prompts and usages from lines of their own, which
    every one has once, calls and results from everywhere."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    own: list[dict[str, Any]] = []
    for line in lines:
        if "type" in line:
            own.append(line)
        elif "$rewindTo" in line:
            own = own[: [message["id"] for message in own].index(line["$rewindTo"])]
    found: dict[str, set[Any]] = {
        key: set() for key in ("prompts", "replies", "calls", "results", "pictures", "usages")
    }
    for message in own:
        content = parts(message)
        if message["type"] == "user" and not any("functionResponse" in part for part in content):
            found["prompts"].add(content[0]["text"])
            found["pictures"] |= {(message["id"], n) for n, part in enumerate(content) if "inlineData" in part}
        if message["type"] == "gemini":
            found["replies"].add(message["id"])
        if message.get("tokens"):
            used = message["tokens"]
            found["usages"].add((message["id"], used["input"], used["output"] + used["thoughts"], used["cached"]))
    for message in messages(lines):
        asked = [part["functionCall"] for part in parts(message) if "functionCall" in part]
        for call in [*asked, *message.get("toolCalls", ())]:
            found["calls"].add(call["id"])
        for part in [*parts(message), *(part for call in message.get("toolCalls", ()) for part in call["result"])]:
            if "functionResponse" in part:
                current = part["functionResponse"]["id"]
                found["results"].add(current)
            elif "inlineData" in part and message.get("toolCalls"):
                found["pictures"].add(current)
    return found


@each_row("name", REAL)
def test_everything_in_a_file_of_the_real_program_is_taken_over_once(name: str):
    session = read(SAMPLES / name)
    expected = written(SAMPLES / name)
    replies = [body for body in of(session, Message) if body.role == "assistant"]
    results = of(session, ToolResult)
    pictures = [part for body in of(session, Message) for part in body.parts if isinstance(part, Image)]
    useless = [failure for failure in of(session, Failure) if failure.usage.total]
    assert sorted(prompts(session)) == sorted(expected["prompts"])
    assert len(replies) + len(useless) == len(expected["replies"])
    assert [call.call_id for body in replies for call in body.calls] == [result.call_id for result in results]
    assert sorted(result.call_id for result in results) == sorted(expected["calls"])
    assert sorted(result.call_id for result in results if result.output != UNANSWERED) == sorted(expected["results"])
    assert len(pictures) + sum(len(result.images) for result in results) == len(expected["pictures"])
    usages = [body.usage for body in (*replies, *useless) if body.usage]
    counted = sorted((usage.prompt, usage.output, usage.cache_read) for usage in usages)
    assert counted == sorted(usage[1:] for usage in expected["usages"])
    assert all(body.model for body in replies)
