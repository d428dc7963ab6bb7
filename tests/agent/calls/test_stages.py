"""Stages of calls, each alone, and the order in which a call passes them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.calls.call import Call, beginning
from agentcli.agent.calls.stages import INTERRUPTED, Finish, HookStage, Prepare, SandboxStage
from agentcli.agent.ports import FoundTools
from agentcli.agent.repeats import RepeatGuard
from agentcli.core.dataclass import replace
from agentcli.core.errors import ToolError
from agentcli.core.event import Noticed, Recorded
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Body
from agentcli.core.tool import ToolOutput
from agentcli.features.hooks.files import Hook
from agentcli.permissions.decide import Decision
from agentcli.permissions.network.hosts import KeptHost
from agentcli.permissions.rules import parse_rule
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.registry import TRAITS, tools
from tests.agent.calls.passing import a_call, ended, judged, with_result
from tests.agent.open_session import open_session
from tests.tables import each_row

TOOLS = {tool.name: tool for tool in tools()}
READ = ToolCall("c1", "read", {"file_path": "a.txt"})


def prepare(cwd: Path) -> Prepare:
    return Prepare(TOOLS, FoundTools(dict(TRAITS)), cwd)


def finish(cwd: Path) -> tuple[Finish, MemorySession]:
    journal = MemorySession()

    def record(body: Body) -> Recorded:
        return Recorded(journal.append(body))

    return Finish(record, RepeatGuard(3), prepare(cwd)), journal


def test_a_call_is_prepared_with_its_tool_its_title_and_the_calls_after_it(tmp_path: Path) -> None:
    stage = prepare(tmp_path)
    first, second = stage.prepared([READ, ToolCall("c2", "glob", {"pattern": "*"})])
    judged = asyncio.run(stage.judge(first))
    assert judged.its_tool is TOOLS["read"]
    assert judged.title_now == "Read a.txt"
    assert judged.later == (second.asked,)
    assert first.tool is None


def test_a_parameter_that_a_tool_lacks_is_left_out_of_the_call_that_runs_and_told_in_its_result(tmp_path: Path) -> None:
    sent = replace(READ, input={"file_path": "a.txt", "colour": "red"})
    [call] = prepare(tmp_path).prepared([sent])
    assert call.call.input == {"file_path": "a.txt"}

    async def run(call: Call) -> Call:
        return replace(call, output=ToolOutput("one"))

    stage, _ = finish(tmp_path)
    result = ended(stage, run, replace(call, tool=TOOLS["read"])).result
    assert result is not None
    assert "colour" in result.output


def test_a_call_of_no_tool_ends_in_the_first_stage(tmp_path: Path) -> None:
    stage = prepare(tmp_path)
    [call] = stage.prepared([ToolCall("c1", "raed", {})])
    judged = asyncio.run(stage.judge(call))
    assert judged.result is not None
    assert judged.result.status == "error"
    assert "read" in judged.why_refused


@each_row(
    ("failure", "status", "said"),
    [
        (ToolError("No such file."), "error", "No such file."),
        (OSError("disk"), "error", "disk"),
        (KeyError("x"), "error", "The tool failed: KeyError: 'x'"),
        (asyncio.CancelledError(), "interrupted", INTERRUPTED),
    ],
)
def test_whatever_a_run_comes_to_its_call_has_a_result_with_the_notes_of_hooks(
    tmp_path: Path, failure: BaseException, status: str, said: str
) -> None:
    async def run(_: Call) -> Call:
        raise failure

    stage, _ = finish(tmp_path)
    call = replace(beginning(READ, TOOLS["read"]), notes=("Mind the gap.",))
    result = ended(stage, run, call).result
    assert result is not None
    assert result.status == status
    assert result.output == f"{said}\n<pre-tool-use-hook>\nMind the gap.\n</pre-tool-use-hook>"


def test_a_result_is_recorded_under_the_name_that_the_model_used(tmp_path: Path) -> None:
    stage, journal = finish(tmp_path)
    call = replace(beginning(READ, TOOLS["read"]), sent_as="mcp_call").refused("no", "denied")
    stage.record(call)
    [entry] = journal.history.entries
    assert (entry.body.name, entry.body.metadata) == ("mcp_call", {"tool": "read"})  # type: ignore[union-attr]


def test_the_sandbox_of_a_command_that_only_reads_is_hardened_and_other_calls_have_none(tmp_path: Path) -> None:
    session = open_session(tmp_path, [])
    stage = SandboxStage(session.core.setup, session.core.approval, session.core.printed)
    seen: list[Call] = []

    async def run(call: Call) -> Call:
        seen.append(call)
        return call

    bash = beginning(ToolCall("c1", "bash", {"command": "ls"}), TOOLS["bash"])
    for call in (
        bash.decided(Decision("allow", "read-only", "")),
        bash.decided(Decision("allow", "user:once", "")),
        beginning(READ, TOOLS["read"]).decided(Decision("allow", "read-only", "")),
    ):
        ended(stage, run, call)
    assert [call.box.hardened for call in seen] == [True, False, False]


def stage_of(folder: Path, event: str, said: Any) -> tuple[HookStage, Any]:
    """The stage with one hook that prints this JSON, and the session's printed events."""
    (folder / "said.json").write_text(json.dumps(said))
    core = open_session(folder, [], hooks=[Hook(event, "cat said.json", folder=folder)]).core
    return HookStage(
        core.hooks, core.printed, attended=True, files=core.seen, cwd=core.setup.workspace.cwd
    ), core.printed


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
    stage = HookStage(core.hooks, core.printed, attended=True, files=core.seen, cwd=core.setup.workspace.cwd)
    call = a_call("bash", command="ls")

    async def interrupted(call: Call) -> Call:
        return replace(call, result=ToolResult("c1", "bash", "interrupted", "half"))

    assert ended(stage, interrupted, call).result == ToolResult("c1", "bash", "interrupted", "half")
    assert not (tmp_path / "ran").exists()
    asyncio.run(stage.around(with_result("whole"))(call))
    assert (tmp_path / "ran").exists()


def test_a_kept_host_is_a_rule_of_the_session_also_if_it_cannot_be_saved(tmp_path: Path) -> None:
    core = open_session(tmp_path, []).core
    rules = [parse_rule(f"network({host}.example)", "session") for host in "abc"]
    for kept in (
        KeptHost(rules[0]),
        KeptHost(rules[1], saved=True, everywhere=True),
        KeptHost(rules[2], saved=True, error="The disk is full."),
    ):
        core.approval.take(kept)
    assert [*core.approval.rules.allow] == rules
    assert [event.message for event in core.printed.take() if isinstance(event, Noticed)] == [
        "Saved in your config, for every project: network(b.example)",
        "Allowed for this session only: network(c.example). The disk is full.",
    ]
