"""A stored session, played to the handlers of an extension: nothing runs, and nothing is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentcli.core.history import History
from agentcli.core.message import Message, ToolResult
from agentcli.core.message import ToolCall as CallPart
from agentcli.core.text.truncate import clip
from agentcli.extension import Decision, Prompt, Reply
from agentcli.extension import ToolResult as ResultEvent
from agentcli.features.extensions.session import SessionHost
from agentcli.tools.function_tool import Contexts

if TYPE_CHECKING:
    from agentcli.features.extensions.loading import Extension
    from agentcli.program.program import Program

SHOWN = 100
"""Characters of an event and of an answer."""


def replayed(program: Program, extension: Extension, selector: str) -> list[str]:
    """Return a line for each answer of the handlers. Raise InputError for an unknown session."""
    info = program.store.find(selector)
    stored = program.store.open(info.project_id, info.id, read_only=True)
    try:
        return asyncio.run(_answers(program, extension, stored.history))
    finally:
        stored.close()


async def _answers(program: Program, extension: Extension, history: History) -> list[str]:
    session = program.sessions.new()
    try:
        host = session.core.ctx.service(Contexts)
        assert isinstance(host, SessionHost)
        lines = []
        for event, value in _events(history, host):
            for one, handler in host.handlers(event):
                if one is extension and (decision := await host.fire(one, handler, value)) is not None:
                    lines.append(_line(event, value, decision))
        return lines or ["No handler answered anything."]
    finally:
        await session.end("exit")


def _events(history: History, host: SessionHost) -> Iterator[tuple[str, object]]:
    calls: dict[str, CallPart] = {}
    for entry in history.entries:
        match entry.body:
            case Message(role="user") as message if message.is_prompt:
                yield "prompt", Prompt(message.text)
            case Message(role="assistant") as message:
                calls |= {call.call_id: call for call in message.calls}
                for call in message.calls:
                    yield "tool_call", host.call_event(call.name, call.input)
                if not message.calls:
                    yield "reply", Reply(message.text)
            case ToolResult(call_id=call_id, name=name, status=status, output=output):
                given = dict(calls[call_id].input) if call_id in calls else {}
                yield "tool_result", ResultEvent(name, given, status, output)
            case _:
                pass


def _line(event: str, value: object, decision: Decision) -> str:
    answer = decision.text or str(dict(decision.input or {}))
    return f"{event} {clip(str(value), SHOWN)}: {decision.kind} {clip(answer, SHOWN)}"
