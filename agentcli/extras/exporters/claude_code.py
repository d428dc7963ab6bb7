"""Session files of Claude Code, version 2.1: JSON lines in a folder for each project."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentcli.core.aliases import CLAUDE_CODE
from agentcli.core.codec.encode import dumps
from agentcli.core.message import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.extras.exporters.conversation import Conversation, Summary, theirs

VERSION = "2.1.197"
"""Version of Claude Code whose files these are."""
Json = dict[str, Any]


def place(conversation: Conversation, env: Mapping[str, str], home: Path) -> Path:
    """Return the file in which Claude Code looks for a session."""
    root = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    project = re.sub(r"[^A-Za-z0-9]", "-", conversation.folder)
    return root / "projects" / project / f"{conversation.id}.jsonl"


def resume(conversation: Conversation) -> str:
    """Return the command that resumes the session."""
    return f"claude --resume {conversation.id}"


def lines(conversation: Conversation) -> Iterator[str]:
    """Yield the lines of the session's file."""
    if conversation.title:
        yield _line({"type": "custom-title", "customTitle": conversation.title, "sessionId": conversation.id})
    parent: str | None = None
    for number, turn in enumerate(conversation.turns):
        for place, own in enumerate(_entries(turn.body)):
            key = str(uuid.uuid5(uuid.UUID(conversation.id), f"{number}.{place}"))
            boundary = own.get("subtype") == "compact_boundary"
            chain = {"parentUuid": None, "logicalParentUuid": parent} if boundary else {"parentUuid": parent}
            frame = {
                "isSidechain": False,
                "userType": "external",
                "cwd": conversation.folder,
                "sessionId": conversation.id,
                "version": VERSION,
                "gitBranch": "",
                "uuid": key,
                "timestamp": turn.time,
            }
            yield _line({**chain, **own, **frame})
            parent = key


def _line(entry: Json) -> str:
    return dumps(entry) + "\n"


def _entries(body: Message | ToolResult | Summary) -> Iterator[Json]:
    match body:
        case Summary(text, tokens, manual):
            yield _boundary(tokens, manual)
            yield {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": text}}
        case ToolResult() as result:
            content = [{"type": "text", "text": result.output}, *map(_image, result.images)]
            block: Json = {"type": "tool_result", "tool_use_id": result.call_id}
            block["content"] = content if result.images else result.output
            if result.status != "success":
                block["is_error"] = True
            yield {"type": "user", "message": {"role": "user", "content": [block]}}
        case Message("user") as message:
            content = [block for part in message.parts for block in _blocks(part, keeps_thoughts=False)]
            own = [part for part in message.parts if isinstance(part, Text) and not part.synthetic]
            single = content[0]["text"] if len(content) == len(own) == 1 else content
            meta = {} if message.is_prompt else {"isMeta": True}
            if content:
                yield {"type": "user", **meta, "message": {"role": "user", "content": single}}
        case message:
            content = [
                block
                for part in message.parts
                for block in _blocks(part, keeps_thoughts=message.provider == "anthropic")
            ]
            if content:
                yield {"type": "assistant", "message": _reply(message, content)}


def _boundary(tokens: int, manual: bool) -> Json:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "level": "info",
        "isMeta": False,
        "compactMetadata": {"trigger": "manual" if manual else "auto", "preTokens": tokens},
    }


def _reply(message: Message, content: list[Json]) -> Json:
    return {
        "id": f"msg_{uuid.uuid5(uuid.NAMESPACE_OID, dumps(content)).hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "content": content,
        "stop_reason": "tool_use" if message.calls else "end_turn",
        "stop_sequence": None,
        "usage": _usage(message.usage or Usage()),
    }


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _blocks(part: Part, *, keeps_thoughts: bool) -> Iterator[Json]:
    match part:
        case Text(text) if text.strip():
            yield {"type": "text", "text": text}
        case Thinking(text, signature) if keeps_thoughts and signature:
            yield {"type": "thinking", "thinking": text, "signature": signature}
        case Image():
            yield _image(part)
        case ToolCall():
            name, arguments = theirs(CLAUDE_CODE, part)
            yield {"type": "tool_use", "id": part.call_id, "name": name, "input": arguments}
        case _:
            return


def _image(image: Image) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime, "data": image.data}}
