"""Records as `agentcli sessions show` prints them."""

from __future__ import annotations

from agentcli.core.message import Message, Part, Text, ToolCall, ToolResult
from agentcli.core.record import Compaction, Record
from agentcli.core.sanitise import is_safe

_INDENT = "    "


def as_text(record: Record) -> str:
    """The text of a record; empty for those that hold nothing to read."""
    head = f"#{record.seq}"
    match record.body:
        case Message(role=role) as message:
            lines = [_part(part) for part in message.parts]
            return "\n".join([f"{head} {role}", *filter(None, lines)])
        case ToolResult() as result:
            return f"{head} {result.name} {result.status}\n{_indented(result.output)}"
        case Compaction() as body:
            return f"{head} compaction ({body.policy}, {body.status}): {body.tokens_before:,} → {body.tokens_after:,} tokens"
        case _:
            return ""


def _part(part: Part) -> str:
    match part:
        case Text(text, synthetic):
            return f"  [{part.source or 'reminder'}] {text}" if synthetic else text
        case ToolCall(call_id, name, given):
            return f"  → {name} {dict(given)} ({call_id})"
        case _:
            return f"  [{type(part).__name__.lower()}]"


def _indented(text: str) -> str:
    # To replace what separates lines takes a fraction of the time of splitting and joining them.
    lines = text.removesuffix("\n") if is_safe(text) else "\n".join(text.splitlines())
    return _INDENT + lines.replace("\n", f"\n{_INDENT}") if text else ""
