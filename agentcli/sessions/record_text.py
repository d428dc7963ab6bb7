"""Records as `agentcli sessions show` prints them."""

from __future__ import annotations

import json

from agentcli.core.message import File, Image, Message, Part, Text, ToolCall, ToolResult
from agentcli.core.record import Compaction, InnerCall, Record
from agentcli.core.sanitise import is_safe, safe

_INDENT = "    "
_to_json = json.JSONEncoder(ensure_ascii=False).encode


def as_text(record: Record) -> str:
    """Return the lines of a record, safe for a terminal; empty if it contains no text."""
    head = f"#{record.seq}"
    match record.body:
        case Message(role=role) as message:
            lines = [_part(part) for part in message.parts]
            return safe("\n".join([f"{head} {role}", *filter(None, lines), ""]))
        case ToolResult() as result:
            return safe(f"{head} {result.name} {result.status}\n") + _indented(result.output) + "\n"
        case InnerCall(within, call, result):
            made = f"{head} {call.name} {result.status}, within {within}\n{_part(call)}\n"
            return safe(made) + _indented(result.output) + "\n"
        case Compaction() as body:
            tokens = f"{body.tokens_before:,} → {body.tokens_after:,} tokens"
            return safe(f"{head} compaction ({body.policy}, {body.status}): {tokens}\n")
        case _:
            return ""


def _part(part: Part) -> str:
    match part:
        case Text(text, synthetic):
            return f"  [{part.source or 'reminder'}] {text}" if synthetic else text
        case ToolCall(call_id, name, given):
            return f"  → {name} {_to_json(dict(given))} ({call_id})"
        case File(path=path) | Image(path=path) if path:
            return f"  [{type(part).__name__.lower()} {path}]"
        case _:
            return f"  [{type(part).__name__.lower()}]"


def _indented(text: str) -> str:
    """Indent a text and make it safe for a terminal."""
    if not text:
        return ""
    if is_safe(text):
        # Safe text ends its lines only in newlines: replacing these takes a fraction of the time of splitting and
        # joining.
        return _INDENT + text.removesuffix("\n").replace("\n", f"\n{_INDENT}")
    return safe(_INDENT + f"\n{_INDENT}".join(text.splitlines()))
