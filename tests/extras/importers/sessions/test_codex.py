"""Rollouts of Codex: what they tell of commands that went on in the background."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentcli.core.message import ToolResult
from agentcli.extras.importers.sessions import Imported, codex


def about(session: Imported) -> list[Mapping[str, Any]]:
    """What is known of each result."""
    return [body.metadata for _, body in session.bodies if isinstance(body, ToolResult)]


def codex_call(number: int, name: str, arguments: Mapping[str, Any], output: str) -> list[dict[str, Any]]:
    key = f"call_{number}"
    call = {"type": "function_call", "name": name, "call_id": key, "arguments": json.dumps(arguments)}
    result = {"type": "function_call_output", "call_id": key, "output": output}
    return [{"type": "response_item", "timestamp": "", "payload": one} for one in (call, result)]


def test_codex_shows_the_end_of_a_command_where_its_output_is_asked_for() -> None:
    lines = [
        *codex_call(
            1, "exec_command", {"cmd": "pytest"}, "Wall time: 1 s\nProcess running with session ID 7\nOutput:\n"
        ),
        *codex_call(2, "write_stdin", {"session_id": 7}, "Process running with session ID 7\nOutput:\nhalf\n"),
        *codex_call(3, "write_stdin", {"session_id": 7}, "Process exited with code 1\nOutput:\n1 failed\n"),
    ]
    assert about(codex.read(map(json.dumps, lines))) == [
        {"job": "7", "state": "running"},
        {"job": "7", "state": "running"},
        {"job": "7", "state": "ended", "exit_code": 1},
    ]
