"""What a reply must have had before its eyes: the price of clearing too much is to fetch it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentcli.context.view import View
from agentcli.core.message import File, Message, Text, ToolCall, ToolResult
from agentcli.core.record import Record

LEAST = 12
"""Characters of the longest line of an edit's old text from which it says anything about where it was read."""


def missed(message: Message, shown: View, records: Sequence[Record]) -> Iterator[ToolResult]:
    """The former outputs that a reply's edits quote, and that the view no longer holds; each the newest that has the quotation.

    An edit names the text that it replaces, so the model must have seen it. A real model would have had to `recall` it first.
    """
    for quotation in _quotations(message):
        if any(quotation in text for text in _texts(shown)):
            continue
        outputs = (record.body for record in reversed(records) if isinstance(record.body, ToolResult))
        source = next((output for output in outputs if quotation in output.output), None)
        if source is not None:
            yield source


def _quotations(message: Message) -> Iterator[str]:
    for call in message.calls:
        pieces = call.input.get("edits", [call.input])
        for piece in pieces if isinstance(pieces, list | tuple) else ():
            old = piece.get("old_string") if hasattr(piece, "get") else None
            # Outputs of reads carry line numbers, so that only single lines can be compared.
            line = max(old.split("\n"), key=len).strip() if isinstance(old, str) else ""
            if len(line) >= LEAST:
                yield line


def _texts(shown: View) -> Iterable[str]:
    for block in shown.blocks:
        match block.part:
            case ToolResult(output=text) | Text(text) | File(text=text):
                yield text
            case ToolCall(_, _, given):
                yield from (value for value in given.values() if isinstance(value, str))
            case _:
                pass
