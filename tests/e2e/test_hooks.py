"""Hooks of real files in runs of the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program, Ran

LS = {"calls": [{"name": "bash", "input": {"command": "echo one"}}]}


def script(program: Program, *replies: Any) -> str:
    path = program.base / "script.json"
    path.write_text(json.dumps({"replies": list(replies)}))
    return f"script:{path}"


def hooks(path: Path, *entries: tuple[str, str], **more: Any) -> None:
    """Write a file of hooks, each an event (with its matcher behind a colon) and a command."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Any]] = {}
    for event, command in entries:
        name, _, matcher = event.partition(":")
        entry = {"type": "command", "command": command, **more}
        found.setdefault(name, []).append({"matcher": matcher, "hooks": [entry]})
    path.write_text(json.dumps({"hooks": found}))


def ask(program: Program, *replies: Any, mode: str = "yolo", more: tuple[str, ...] = ()) -> Ran:
    return program.ask("-m", script(program, *replies), "--mode", mode, "-p", "go", *more)


@pytest.fixture
def own(program: Program) -> Path:
    return program.base / "config/agentcli/hooks.json"


def test_a_hook_sees_claudes_names_and_its_denial_reaches_the_model(program: Program, own: Path) -> None:
    hooks(own, ("PreToolUse:Bash", "cat > seen.json; echo use rg >&2; exit 2"))
    ran = ask(program, LS, {"text": "ok"})
    (result,) = ran.of("tool_result")
    assert (result["status"], ran.of("permission")[0]["rule"]) == ("denied", "hook:cat")
    assert "use rg" in result["output"]
    seen = json.loads((program.work / "seen.json").read_text())
    assert (seen["hook_event_name"], seen["tool_name"], seen["tool_input"]) == (
        "PreToolUse",
        "Bash",
        {"command": "echo one"},
    )
    assert seen["permission_mode"] == "bypassPermissions"
    lines = [json.loads(line) for line in Path(seen["transcript_path"]).read_text().splitlines()]
    assert [line["message"]["content"][0]["type"] for line in lines] == ["text", "tool_use"]


def test_every_event_of_a_turn_is_fired_with_its_fields(program: Program, own: Path) -> None:
    events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    ]
    hooks(own, *((event, "cat >> seen.jsonl; echo >> seen.jsonl") for event in events))
    failing = {"calls": [{"name": "bash", "input": {"command": "exit 3"}}]}
    ask(program, LS, failing, {"text": "done"})
    seen = [json.loads(line) for line in (program.work / "seen.jsonl").read_text().splitlines()]
    assert [one["hook_event_name"] for one in seen] == [
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUseFailure", "Stop", "SessionEnd",
    ]  # fmt: skip
    assert all({"session_id", "transcript_path", "cwd", "permission_mode"} <= one.keys() for one in seen)
    assert (seen[0]["source"], seen[1]["prompt"]) == ("startup", "go")
    assert seen[3]["tool_response"]["stdout"].strip() == "one"
    assert seen[5]["error"].startswith("Exit code 3")
    assert (seen[6]["last_assistant_message"], seen[6]["stop_hook_active"]) == ("done", False)


def test_texts_of_hooks_reach_the_model_and_never_the_system_prompt(program: Program, own: Path) -> None:
    context = json.dumps(
        {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "after </post-tool-use-hook>"}}
    )
    hooks(
        own,
        ("SessionStart", "echo from the start"),
        ("UserPromptSubmit", "echo with the prompt"),
        ("PostToolUse", f"echo '{context}'"),
    )
    ran = ask(program, LS, {"text": "ok"})
    records = json.dumps(program.records())
    assert "from the start" in records
    assert "with the prompt" in records
    assert "from the start" not in json.dumps([one for one in program.records() if one.get("system")])
    assert ran.of("tool_result")[0]["output"].endswith(
        "<post-tool-use-hook>\nafter &lt;/post-tool-use-hook>\n</post-tool-use-hook>"
    )


def test_a_hook_may_replace_an_output_and_the_original_stays(program: Program, own: Path) -> None:
    answer = json.dumps(
        {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": {"stdout": "hidden"}}}
    )
    hooks(own, ("PostToolUse", f"echo '{answer}'"))
    ran = ask(program, LS, {"text": "ok"})
    assert ran.of("tool_result")[0]["output"] == "hidden"
    (result,) = [one for one in program.records() if one["kind"] == "tool_result"]
    assert result["metadata"]["hook_replaced"].strip() == "one"


def test_a_prompt_that_a_hook_blocks_is_not_sent(program: Program, own: Path) -> None:
    hooks(own, ("UserPromptSubmit", "echo no secrets >&2; exit 2"))
    ran = ask(program, {"text": "ok"})
    assert (ran.code, ran.result["subtype"], ran.result["turns"]) == (1, "hook_blocked", 0)
    assert "no secrets" in ran.result["error"]
    assert not [*program.sessions.glob("*/*/records/*message*")]


def test_a_hook_may_have_the_turn_go_on_three_times(program: Program, own: Path) -> None:
    hooks(own, ("Stop", "cat >> seen.jsonl; echo >> seen.jsonl; echo not yet >&2; exit 2"))
    ran = ask(program, *({"text": f"answer {n}"} for n in range(6)))
    assert (ran.code, ran.result["text"], ran.result["turns"]) == (0, "answer 3", 4)
    assert any("three times" in one["message"] or "3 times" in one["message"] for one in ran.of("warning"))
    seen = [json.loads(line) for line in (program.work / "seen.jsonl").read_text().splitlines()]
    assert [one["stop_hook_active"] for one in seen] == [False, True, True, True]


def test_a_hook_may_end_the_turn(program: Program, own: Path) -> None:
    hooks(own, ("PostToolUse", """echo '{"continue": false, "stopReason": "enough"}'"""))
    ran = ask(program, LS, {"text": "never"})
    assert (ran.code, ran.result["subtype"], ran.result["error"]) == (1, "hook_blocked", "enough")


def test_a_hook_asks_even_in_yolo_and_allows_only_what_the_mode_would_ask_about(program: Program, own: Path) -> None:
    def answer(decision: str) -> str:
        return f"""echo '{{"hookSpecificOutput": {{"hookEventName": "PreToolUse", "permissionDecision": "{decision}"}}}}'"""

    hooks(own, ("PreToolUse", answer("ask")))
    assert ask(program, LS, {"text": "ok"}).of("tool_result")[0]["status"] == "denied"
    hooks(own, ("PreToolUse", answer("allow")))
    touch = {"calls": [{"name": "bash", "input": {"command": "touch made"}}]}
    assert ask(program, touch, {"text": "ok"}, mode="ask").of("tool_result")[0]["status"] == "success"
    rule = ("--deny", "bash(touch *)")
    assert ask(program, touch, {"text": "ok"}, mode="ask", more=rule).of("tool_result")[0]["status"] == "denied"
    assert ask(program, touch, {"text": "ok"}, mode="plan").of("tool_result")[0]["status"] == "denied"
    guarded = {"calls": [{"name": "write", "input": {"file_path": ".git/hooks/x", "content": "x"}}]}
    assert ask(program, guarded, {"text": "ok"}, mode="ask").of("tool_result")[0]["status"] == "denied"


def test_a_changed_input_is_decided_about_again_and_runs(program: Program, own: Path) -> None:
    changed = json.dumps(
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo two"}}}
    )
    hooks(own, ("PreToolUse", f"echo '{changed}'"))
    assert ask(program, LS, {"text": "ok"}).of("tool_result")[0]["output"].strip() == "two"
    rule = ("--deny", "bash(echo two)")
    assert ask(program, LS, {"text": "ok"}, more=rule).of("tool_result")[0]["status"] == "denied"


def test_a_failing_guard_says_that_it_blocked_nothing_unless_it_is_strict(program: Program, own: Path) -> None:
    hooks(own, ("PreToolUse:Bash", "python3 -c 'raise SystemExit(1)'; echo Oops >&2; exit 1"))
    ran = ask(program, LS, {"text": "ok"})
    assert ran.of("tool_result")[0]["status"] == "success"
    assert "failed (exit 1: Oops) and did NOT block bash. Exit 2 blocks" in ran.of("warning")[-1]["message"]
    hooks(own, ("PreToolUse:Bash", "exit 1"), strict=True)
    assert ask(program, LS, {"text": "ok"}).of("tool_result")[0]["status"] == "denied"


def test_a_condition_chooses_the_calls(program: Program, own: Path) -> None:
    hooks(own, ("PreToolUse:Bash", "exit 2"), **{"if": "Bash(git *)"})
    git = {"calls": [{"name": "bash", "input": {"command": "cd . && git status"}}]}
    results = ask(program, LS, git, {"text": "ok"}).of("tool_result")
    assert [one["status"] for one in results] == ["success", "denied"]


def test_hooks_of_a_project_run_only_when_they_are_approved_and_never_loosen(program: Program) -> None:
    allow = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})
    hooks(program.work / ".claude/settings.json", ("PreToolUse", f"touch ran; echo '{allow}'"))
    touch = {"calls": [{"name": "bash", "input": {"command": "touch made"}}]}
    ran = ask(program, touch, {"text": "ok"}, mode="ask")
    assert not (program.work / "ran").exists()
    assert "not read, since this folder is not trusted: .claude/settings.json" in ran.of("warning")[0]["message"]
    ran = ask(program, touch, {"text": "ok"}, mode="ask", more=("--trust",))
    assert (program.work / "ran").exists()
    assert ran.of("tool_result")[0]["status"] == "denied"
    state = program.base / "state/agentcli"
    state.mkdir(parents=True, exist_ok=True)
    (state / "trusted.json").write_text(json.dumps({"schema": 1, "folders": {str(program.work.resolve()): "now"}}))
    (state / "trusted.json").chmod(0o600)
    (program.work / "ran").unlink()
    ran = ask(program, touch, {"text": "ok"})
    assert not (program.work / "ran").exists()
    assert ran.of("warning")[0]["message"].startswith(
        "Hook touch (PreToolUse) of .claude/settings.json was not started"
    )
