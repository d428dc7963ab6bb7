"""The stage of hooks alone, with real hooks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.calls.call import Call
from agentcli.agent.calls.hooks import HookStage
from agentcli.core.dataclass import replace
from agentcli.core.event import Noticed
from agentcli.core.message import ToolResult
from agentcli.features.hooks.files import Hook
from tests.agent.calls.passing import a_call, ended, judged, with_result
from tests.agent.open_session import open_session


def stage_of(folder: Path, event: str, said: Any) -> tuple[HookStage, Any]:
    """The stage with one hook that prints this JSON, and the session's printed events."""
    (folder / "said.json").write_text(json.dumps(said))
    core = open_session(folder, [], hooks=[Hook(event, "cat said.json", folder=folder)]).core
    return HookStage(core.hooks, core.printed, attended=True), core.printed


def before(**said: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


def test_a_hook_before_a_call_changes_its_input_and_leaves_a_note_in_the_value(tmp_path: Path) -> None:
    stage, _ = stage_of(
        tmp_path, "PreToolUse", before(updatedInput={"command": "ls -l"}, additionalContext="Mind the gap.")
    )
    call = judged(stage, a_call("bash", command="ls"))
    assert call.call.input == {"command": "ls -l"}
    assert call.asked.input == {"command": "ls"}
    assert call.notes == ("Mind the gap.",)
    assert call.hooked.changed_by


@pytest.mark.parametrize("answer", ["allow", "ask", "deny"])
def test_its_answer_waits_in_the_value_for_the_stage_that_decides(tmp_path: Path, answer: str) -> None:
    stage, _ = stage_of(tmp_path, "PreToolUse", before(permissionDecision=answer, permissionDecisionReason="So."))
    call = judged(stage, a_call("bash", command="ls"))
    assert (call.hooked.verdict.answer, call.hooked.verdict.reason) == (answer, "So.")
    assert (call.decision, call.result) == (None, None)


def test_a_hook_that_ends_the_turn_is_told_with_its_message_and_reason(tmp_path: Path) -> None:
    stage, printed = stage_of(
        tmp_path, "PreToolUse", {"continue": False, "stopReason": "Enough.", "systemMessage": "It stops here."}
    )
    judged(stage, a_call("bash", command="ls"))
    assert printed.ended == "Enough."
    assert any("It stops here." in event.message for event in printed.take() if isinstance(event, Noticed))


def test_a_hook_after_a_call_adds_to_its_result(tmp_path: Path) -> None:
    said = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Format it."}}
    stage, _ = stage_of(tmp_path, "PostToolUse", said)
    result = ended(stage, with_result("done"), a_call("bash", command="ls")).result
    assert result is not None
    assert result.output.startswith("done\n")
    assert "Format it." in result.output


def test_no_hook_runs_after_a_call_that_was_interrupted(tmp_path: Path) -> None:
    events = ("PostToolUse", "PostToolUseFailure")
    core = open_session(tmp_path, [], hooks=[Hook(event, "touch ran", folder=tmp_path) for event in events]).core
    stage = HookStage(core.hooks, core.printed, attended=True)
    call = a_call("bash", command="ls")

    async def interrupted(call: Call) -> Call:
        return replace(call, result=ToolResult("c1", "bash", "interrupted", "half"))

    assert ended(stage, interrupted, call).result == ToolResult("c1", "bash", "interrupted", "half")
    assert not (tmp_path / "ran").exists()
    asyncio.run(stage.around(with_result("whole"))(call))
    assert (tmp_path / "ran").exists()
