"""Subagents that were at work when the program ended: found on resume, so that the model can continue them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile

from agentcli.core.dataclass import dataclass
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import Message, ToolCall, ToolResult
from agentcli.core.sanitise import safe_line

Children = Callable[[Journal, int], Sequence[tuple[str, str]]]
"""The ids of the subagents that a session has sent since its record with this number, oldest first, with the first prompt of each."""
_BEGINNING = "Subagents that were at work when the program ended were interrupted; what they did before has taken effect. To have one go on:"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A subagent that no result reports."""

    id: str
    kind: str
    description: str


def unfinished(journal: Journal, delegating: Collection[str], children: Children) -> Sequence[Unfinished]:
    """Return the subagents whose results are missing when a session is opened. `delegating` are the tools that start subagents."""
    calls = _unreported(journal.history, delegating)
    if not calls:
        return ()
    # Earlier results are not read: that may be the whole of a long session.
    since = 0 if any(call.input.get("resume") for _, call in calls) else min(seq for seq, _ in calls)
    newest_first = journal.records_of("tool_result", newest_first=True)
    bodies = [record.body for record in takewhile(lambda record: record.seq > since, newest_first)]
    reported = {str(body.metadata.get("session")) for body in bodies if isinstance(body, ToolResult)}
    left = dict(children(journal, since))
    found = []
    for _, call in calls:
        resumed = str(call.input.get("resume") or "")
        fitting = (id for id, prompt in left.items() if id not in reported and prompt == call.input.get("prompt"))
        id = resumed if resumed in left else next(fitting, "")
        if id:
            del left[id]
            found.append(Unfinished(id, str(call.input.get("agent") or ""), str(call.input.get("description") or "")))
    return tuple(found)


def reminder(found: Sequence[Unfinished]) -> str:
    """Return the reminder of the unfinished subagents for the model; empty if every subagent finished."""
    lines = [f'- task(resume="{one.id}"): {one.description} (agent {one.kind or "general"})' for one in found]
    return "\n".join([_BEGINNING, *lines]) if lines else ""


def interruption_notices(found: Sequence[Unfinished]) -> Sequence[str]:
    """Return the notice of the unfinished subagents for the person."""
    names = ", ".join(safe_line(one.description or one.id) for one in found)
    count = "A subagent was" if len(found) == 1 else f"{len(found)} subagents were"
    return (
        [f"{count} interrupted when the program ended ({names}). The model is told, and can resume them."]
        if found
        else []
    )


def _unreported(history: History, delegating: Collection[str]) -> Sequence[tuple[int, ToolCall]]:
    """Return the calls in force whose subagent may have been at work, answered as interrupted by a crash or as a job; each with the number of its record."""
    calls: dict[str, tuple[int, ToolCall]] = {}
    for entry in history.entries:
        match entry.body:
            case Message() as message:
                for call in message.calls:
                    if call.name in delegating:
                        calls[call.call_id] = entry.seq, call
            case ToolResult() as result if calls and _is_over(result):
                calls.pop(result.call_id, None)
            case _:
                pass
    return tuple(calls.values())


def _is_over(result: ToolResult) -> bool:
    return "session" in result.metadata or result.status in ("error", "denied")
