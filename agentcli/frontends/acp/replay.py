"""Replay of a stored session: the model's view of it, as updates."""

from __future__ import annotations

from collections.abc import Iterator

from acp.schema import ImageContentBlock, TextContentBlock, UserMessageChunk

from agentcli.core.history import History
from agentcli.core.message import File, Image, Message, Text, ToolResult
from agentcli.core.record import Compaction
from agentcli.core.sanitise import replace_surrogates
from agentcli.frontends.acp.updates import Update, Updates, new_id, thought_chunk, unstreamed
from agentcli.frontends.terminal.input.attachments import mention


def replay(history: History, updates: Updates) -> Iterator[Update]:
    """Yield the messages of the view as whole chunks, and its calls as finished ones.

    A summary comes first, as a thought.
    """
    if history.compaction is not None and isinstance(history.compaction.body, Compaction):
        yield thought_chunk(f"Summary of what came before:\n\n{history.compaction.body.snapshot}")
    for entry in history.entries:
        match entry.body:
            case Message(role="assistant") as message:
                updates.know(message)
                yield from unstreamed(message)
            case Message() as message if message.is_prompt:
                yield from _prompt(message)
            case ToolResult() as result:
                yield from updates.finished(result)
            case _:
                pass
    yield from updates.plan()


def _prompt(message: Message) -> Iterator[Update]:
    message_id = new_id()
    for part in message.parts:
        block: TextContentBlock | ImageContentBlock | None = None
        match part:
            case Text(text, synthetic=False) if text:
                block = TextContentBlock(type="text", text=replace_surrogates(text))
            case Image(mime, data):
                block = ImageContentBlock(type="image", data=data, mime_type=mime)
            case File(path=path) if mention(path) not in message.text:
                block = TextContentBlock(type="text", text=f"[{path}]\n")
            case _:
                pass
        if block is not None:
            yield UserMessageChunk(session_update="user_message_chunk", content=block, message_id=message_id)
