"""The JSON objects that hooks get on stdin, in the form of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcli import __version__
from agentcli.agent.hooks.names import foreign_call, names_of
from agentcli.agent.hooks.runner import HookEvent
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Mode
from agentcli.integrations.hookfiles import GEMINI_EVENTS, Dialect

PERMISSION_MODES: Mapping[Mode, str] = {
    "ask": "default",
    "auto-edit": "acceptEdits",
    "plan": "plan",
    "yolo": "bypassPermissions",
    "auto": "auto",
}


@dataclass(frozen=True, slots=True)
class Subagent:
    """The identity of a subagent: its id and kind, and the session and transcript of its parent."""

    id: str
    kind: str
    session: str = ""
    transcript: str = ""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts that every hook of a session gets."""

    session: str
    transcript: str
    cwd: Path
    mode: Mode
    turn: int
    model: str = ""
    subagent: Subagent | None = None

    def common(self, event: str) -> dict[str, Any]:
        """The fields of every event."""
        of = self.subagent
        own = {
            "session_id": of.session if of and of.session else self.session,
            "transcript_path": of.transcript if of and of.transcript else self.transcript,
            "cwd": str(self.cwd),
            "hook_event_name": event,
            "permission_mode": PERMISSION_MODES[self.mode],
            "prompt_id": f"{self.session}-{self.turn}",
        }
        inside = {"agent_id": of.id, "agent_type": of.kind} if of else {}
        return {**own, **inside, "agentcli": {"mode": self.mode, "version": __version__}}


def event(facts: Circumstances, name: str, subject: str = "", /, **fields: Any) -> HookEvent:
    """An event that is about no tool."""
    return HookEvent(name, subject, {**facts.common(name), **fields})


def tool_event(facts: Circumstances, name: str, call: ToolCall, /, **fields: Any) -> HookEvent:
    """An event about a call of a tool."""
    common = facts.common(name)
    common["agentcli"] = {**common["agentcli"], "tool": call.name}
    tool, given = foreign_call(call, "claude", facts.cwd)
    about = {"tool_name": tool, "tool_input": given, "tool_use_id": call.call_id}
    payload = {**common, **about, **fields}
    first, *others = names_of(call)
    return HookEvent(name, first, payload, tuple(others), tool=call.name)


def as_dialect(found: HookEvent, call: ToolCall | None, dialect: Dialect, cwd: Path) -> Mapping[str, Any]:
    """The payload of an event in the names of another program."""
    if dialect == "claude":
        return found.payload
    payload = {**found.payload, "hook_event_name": GEMINI_EVENTS.get(found.name, found.name)}
    if call is not None:
        payload["tool_name"], payload["tool_input"] = foreign_call(call, dialect, cwd)
    return payload


def tool_response(call: ToolCall, result: ToolResult) -> Any:
    """The result of a call as hooks know it: objects for reading, editing and commands, else the text."""
    path = str(result.metadata.get("path") or call.input.get("file_path") or "")
    match call.name:
        case "read":
            first, last = _lines(result.metadata.get("lines"))
            content = result.output
            about = {"numLines": last - first + 1 if last else content.count("\n") + 1, "startLine": first}
            total = last or content.count("\n") + 1
            return {"type": "text", "file": {"filePath": path, "content": content, **about, "totalLines": total}}
        case "edit" | "multi_edit":
            old, new = call.input.get("old_string", ""), call.input.get("new_string", "")
            texts = {"oldString": old, "newString": new, "replaceAll": bool(call.input.get("replace_all"))}
            return {"filePath": path, **texts, "structuredPatch": [], "diff": str(result.metadata.get("diff") or "")}
        case "write":
            kind = "create" if result.metadata.get("created") else "update"
            return {"type": kind, "filePath": path, "content": call.input.get("content", ""), "structuredPatch": []}
        case "bash":
            ended = {"interrupted": result.status == "interrupted", "isImage": False}
            return {"stdout": result.output, "stderr": "", **ended}
        case _:
            return result.output


def _lines(value: Any) -> tuple[int, int]:
    match value:
        case [int(first), int(last)]:
            return first, last
        case _:
            return 1, 0
