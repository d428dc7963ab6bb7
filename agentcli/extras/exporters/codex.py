"""Session files of Codex, version 0.171: JSON lines in a folder for each day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentcli.core.aliases import CODEX
from agentcli.core.codec.encode import dumps
from agentcli.core.message import Image, Message, Part, Text, ToolCall, ToolResult
from agentcli.extras.exporters.conversation import Conversation, Summary, Turn, theirs

VERSION = "0.171.0"
"""Version of Codex whose files these are."""
_SHARED = {name: CODEX[name] for name in ("exec_command", "apply_patch")}
"""Tools of Codex that correspond to one of ours; all others correspond only in one direction."""
Json = dict[str, Any]


def place(conversation: Conversation, env: Mapping[str, str], home: Path) -> Path:
    """Return the file in which Codex looks for a session; its name is the session's start time."""
    root = Path(env.get("CODEX_HOME") or home / ".codex")
    day, _, clock = conversation.began.partition("T")
    name = f"rollout-{day}T{clock[:8].replace(':', '-')}-{conversation.id}.jsonl"
    return root.joinpath("sessions", *day.split("-"), name)


def resume(conversation: Conversation) -> str:
    """Return the command that resumes the session."""
    return f"codex resume {conversation.id}"


def lines(conversation: Conversation) -> Iterator[str]:
    """Yield the lines of the session's file."""
    began = conversation.began
    meta = {
        "session_id": conversation.id,
        "id": conversation.id,
        "timestamp": began,
        "cwd": conversation.folder,
        "originator": "agentcli",
        "cli_version": VERSION,
        "source": "cli",
    }
    yield _line(began, "session_meta", meta)
    for turn in conversation.turns:
        yield from (_line(turn.time, kind, payload) for kind, payload in _payloads(turn))


def _line(time: str, kind: str, payload: Json) -> str:
    return dumps({"timestamp": time, "type": kind, "payload": payload}) + "\n"


def _payloads(turn: Turn) -> Iterator[tuple[str, Json]]:
    match turn.body:
        case Summary(text):
            replacement = [_message("user", [{"type": "input_text", "text": text}])]
            yield "compacted", {"message": text, "replacement_history": replacement}
        case ToolResult(call_id, output=output, images=images):
            pictures = [_picture(image) for image in images]
            content = [{"type": "input_text", "text": output}, *pictures] if pictures else output
            yield "response_item", {"type": "function_call_output", "call_id": call_id, "output": content}
        case Message("user") as message:
            content = [block for part in message.parts for block in _input(part)]
            if content:
                yield "response_item", _message("user", content)
            if message.is_prompt:
                yield "event_msg", {"type": "user_message", "message": message.typed, "kind": "plain"}
        case message:
            yield from _reply(message)


def _reply(message: Message) -> Iterator[tuple[str, Json]]:
    for part in message.parts:
        match part:
            case Text(text) if text.strip():
                yield "response_item", _message("assistant", [{"type": "output_text", "text": text}])
                yield "event_msg", {"type": "agent_message", "message": text}
            case ToolCall():
                name, arguments = theirs(_SHARED, part)
                call = {"type": "function_call", "name": name, "arguments": dumps(arguments), "call_id": part.call_id}
                yield "response_item", call
            case _:
                pass


def _message(role: str, content: list[Json]) -> Json:
    return {"type": "message", "role": role, "content": content}


def _input(part: Part) -> Iterator[Json]:
    match part:
        case Text(text) if text.strip():
            yield {"type": "input_text", "text": text}
        case Image():
            yield _picture(part)
        case _:
            return


def _picture(image: Image) -> Json:
    return {"type": "input_image", "image_url": f"data:{image.mime};base64,{image.data}"}
