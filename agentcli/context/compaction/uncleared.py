"""The two ends of outputs and inputs that were cleared: a summary is to know of them, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from agentcli.context.view import Block, ViewMessage
from agentcli.core.history import History
from agentcli.core.message import Message, ToolCall, ToolResult
from agentcli.core.record import Body
from agentcli.core.text.truncate import truncate_middle


def with_ends(messages: Iterable[ViewMessage], history: History, longest: int) -> Iterator[ViewMessage]:
    """The messages with `longest` characters of everything that was cleared in place of its marker."""
    bodies = {entry.seq: entry.body for entry in history.entries}
    for message in messages:
        blocks = (
            _uncleared(block, bodies.get(block.seq), longest) if block.cleared else block for block in message.blocks
        )
        yield replace(message, blocks=tuple(blocks))


def _uncleared(block: Block, body: Body | None, longest: int) -> Block:
    match block.part, body:
        case ToolResult() as marked, ToolResult(output=output):
            return replace(block, part=replace(marked, output=truncate_middle(output, longest)))
        case ToolCall(call_id) as marked, Message() as message:
            call = next((call for call in message.calls if call.call_id == call_id), marked)
            return replace(block, part=replace(call, input=_shortened(call, longest)))
        case _:
            return block


def _shortened(call: ToolCall, longest: int) -> dict[str, object]:
    return {
        name: truncate_middle(value, longest) if isinstance(value, str) else value for name, value in call.input.items()
    }
