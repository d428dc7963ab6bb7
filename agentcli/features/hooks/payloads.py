"""JSON objects that hooks get on stdin, in Claude Code's form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcli import __version__
from agentcli.agent.hooks import Subagent
from agentcli.core.aliases import like_tool
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Mode
from agentcli.core.subagent_result import spent
from agentcli.core.tool import NO_OUTPUT
from agentcli.features.hooks.files import GEMINI_EVENTS, Dialect
from agentcli.features.hooks.names import foreign_agent, foreign_call, foreign_rule, names_of
from agentcli.features.hooks.runner import HookEvent

PERMISSION_MODES: Mapping[Mode, str] = {
    "ask": "default",
    "auto-edit": "acceptEdits",
    "plan": "plan",
    "yolo": "bypassPermissions",
    "auto": "auto",
}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts that every hook of a session gets."""

    session: str
    transcript: str
    cwd: Path
    mode: Mode
    turn: int
    model: str = ""
    effort: str = ""
    subagent: Subagent | None = None

    def common(self, event: str) -> dict[str, Any]:
        """Return the fields of every event."""
        of = self.subagent
        own = {
            "session_id": of.session if of and of.session else self.session,
            "transcript_path": of.transcript if of and of.transcript else self.transcript,
            "cwd": str(self.cwd),
            "hook_event_name": event,
            "permission_mode": PERMISSION_MODES[self.mode],
            "prompt_id": f"{self.session}-{self.turn}",
            "turn_id": f"{self.session}-{self.turn}",
            "model": self.model,
        }
        inside = {"agent_id": of.id, "agent_type": foreign_agent(of.kind)} if of else {}
        return {**own, **inside, "agentcli": {"mode": self.mode, "version": __version__}}

    @property
    def thinking(self) -> dict[str, Any]:
        """Return the model's effort, which events of tools and of a turn's end have."""
        return {"effort": {"level": self.effort or "high"}}


def event(facts: Circumstances, name: str, subject: str = "", /, **fields: Any) -> HookEvent:
    """Make an event without a tool; one about a subagent matches both names of its kind."""
    also = (foreign_agent(subject),) if facts.subagent is not None else ()
    return HookEvent(name, subject, {**facts.common(name), **fields}, also)


def tool_event(facts: Circumstances, name: str, call: ToolCall, /, **fields: Any) -> HookEvent:
    """Make an event about a call of a tool."""
    common = {**facts.common(name), **facts.thinking}
    common["agentcli"] = {**common["agentcli"], "tool": call.name}
    tool, given = foreign_call(call, "claude", facts.cwd)
    about = {"tool_name": tool, "tool_input": given, "tool_use_id": call.call_id}
    payload = {**common, **about, **fields}
    first, *others = names_of(call)
    return HookEvent(name, first, payload, tuple(others), tool=call.name)


def as_dialect(found: HookEvent, call: ToolCall | None, dialect: Dialect, cwd: Path) -> Mapping[str, Any]:
    """Return an event's payload in another program's names."""
    if dialect == "claude":
        return found.payload
    payload = {**found.payload, "hook_event_name": GEMINI_EVENTS.get(found.name, found.name)}
    if call is not None:
        payload["tool_name"], payload["tool_input"] = foreign_call(call, dialect, cwd)
    return payload


def suggestions(session: str, always: str) -> list[dict[str, Any]]:
    """Return the rules that a person may save, for the session and permanently, in the form that hooks know."""
    offered = {"session": session, "localSettings": always}
    return [
        {"type": "addRules", "rules": [foreign_rule(rule)], "behavior": "allow", "destination": destination}
        for destination, rule in offered.items()
        if rule
    ]


def error_text(result: ToolResult) -> str:
    """Return a failed call's error in the form that hooks know."""
    if not (code := result.metadata.get("exit_code")):
        return result.output
    return f"Exit code {code}\n{result.output.removesuffix(f'[exit code {code}]').rstrip()}"


def tool_response(call: ToolCall, result: ToolResult) -> Any:
    """Return a call's result in the form that hooks know: objects for reading, editing and commands, else the text."""
    path = str(result.metadata.get("path") or call.input.get("file_path") or "")
    match like_tool(call.name):
        case "read":
            return {"type": "text", "file": {"filePath": path, **_page(path, result)}}
        case "edit":
            old, new = call.input.get("old_string", ""), call.input.get("new_string", "")
            texts = {"oldString": old, "newString": new, "replaceAll": bool(call.input.get("replace_all"))}
            return {"filePath": path, **texts, **_changes(result)}
        case "write":
            about = {"filePath": path, "content": call.input.get("content", ""), **_changes(result)}
            created = bool(result.metadata.get("created"))
            return {"type": "create", **about, "structuredPatch": []} if created else {"type": "update", **about}
        case "bash":
            ended = {"interrupted": result.status == "interrupted", "isImage": False, "noOutputExpected": False}
            printed = "" if result.output == NO_OUTPUT else result.output.rstrip("\n")
            return {"stdout": printed, "stderr": "", **ended}
        case "task" if "session" in result.metadata:
            return _report(call, result)
        case _:
            return result.output


def _report(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """Return the report of a subagent."""
    usage, about = spent(result)[1], result.metadata
    return {
        "status": "completed" if result.status == "success" else "failed",
        "prompt": call.input.get("prompt", ""),
        "agentId": about["session"],
        "agentType": foreign_agent(str(about.get("agent", ""))),
        "content": [{"type": "text", "text": result.output}],
        "totalDurationMs": round(result.seconds * 1000),
        "totalTokens": usage.total,
        "usage": {"input_tokens": usage.input, "output_tokens": usage.output},
    }


def _page(path: str, result: ToolResult) -> dict[str, Any]:
    """Return the lines that were read, without the line numbers for the model."""
    match result.metadata.get("lines"):
        case [int(first), int(last)]:
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    lines = file.read(_READ).split("\n")
            except OSError:
                lines = []
            last += last == len(lines) - 1 and not lines[-1]  # the empty line after the last newline
            if lines:
                content = "\n".join(lines[first - 1 : last])
                return {"content": content, "numLines": last - first + 1, "startLine": first, "totalLines": len(lines)}
        case _:
            pass
    count = result.output.count("\n") + 1
    return {"content": result.output, "numLines": count, "startLine": 1, "totalLines": count}


def _changes(result: ToolResult) -> dict[str, Any]:
    diff = str(result.metadata.get("diff") or "")
    return {"originalFile": None, "structuredPatch": _hunks(diff), "userModified": False}


def _hunks(diff: str) -> list[dict[str, Any]]:
    """Return the hunks of a unified diff."""
    found: list[dict[str, Any]] = []
    for line in diff.splitlines():
        if head := _HUNK.match(line):
            numbers = [int(number) if number else 1 for number in head.groups()]
            found.append({**dict(zip(_NUMBERS, numbers, strict=True)), "lines": []})
        elif found and line[:1] in ("+", "-", " "):
            found[-1]["lines"].append(line)
    return found


_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NUMBERS = ("oldStart", "oldLines", "newStart", "newLines")
_READ = 2_000_000
"""Characters of a file to search for the lines of a page."""
