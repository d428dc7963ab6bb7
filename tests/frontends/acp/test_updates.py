"""Updates for an editor: what is remembered of a call."""

from __future__ import annotations

from pathlib import Path

from agentcli.core.event import Recorded
from agentcli.core.message import Message, ToolCall, ToolResult
from agentcli.core.record import Body, Record
from agentcli.frontends.acp.updates import Updates, shown
from tests.agent.open_session import open_session


def recorded(body: Body) -> Recorded:
    return Recorded(Record(1, "1", "2026-01-01T00:00:00Z", "", body))


def test_a_call_is_remembered_until_it_has_its_result_and_is_told_with_its_beginning(tmp_path: Path) -> None:
    updates = Updates(shown(open_session(tmp_path, [])))
    for call_id in ("c1", "c2", "c1"):
        updates.of(recorded(Message("assistant", (ToolCall(call_id, "read", {"file_path": "a.py"}),))))
        assert updates.is_own(call_id)
        told = updates.of(recorded(ToolResult(call_id, "read", "success", "text")))
        assert [update.session_update for update in told] == ["tool_call", "tool_call_update"]
        assert not updates.is_own(call_id)
