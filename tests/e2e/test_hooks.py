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


def test_a_prompt_that_a_hook_blocks_is_not_sent(program: Program, own: Path) -> None:
    hooks(own, ("UserPromptSubmit", "echo no secrets >&2; exit 2"))
    ran = ask(program, {"text": "ok"})
    assert (ran.code, ran.result["subtype"], ran.result["turns"]) == (1, "hook_blocked", 0)
    assert "no secrets" in ran.result["error"]
    assert not [*program.sessions.glob("*/*/records/*message*")]


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


@pytest.mark.full
def test_a_projects_hook_is_approved_by_its_command_line_and_a_blocked_prompt_comes_back(program: Program) -> None:
    hooks(
        program.work / ".claude/settings.json", ("UserPromptSubmit", "grep -q secret && echo no secrets >&2 && exit 2")
    )
    (program.work / ".mcp.json").write_text('{"mcpServers": {"x": {}}}')
    with program.terminal("-m", "script:echo", columns=140) as t:
        t.until("Trust this folder?")
        t.send("y", until="Let this project start hook")
        t.until("grep -q secret && echo no secrets >&2 && exit 2")
        t.send("y", until='Server x in .mcp.json needs "command" or "url".')
        t.settle()
        assert "\n".join(t.history()).count("Server x in .mcp.json") == 1
        t.send("a secret\r", until="blocked the prompt: no secrets")
        t.until("> a secret")
        t.send("\x15hello\r", until="hello")
        t.send("/hooks\r", until="(.claude/settings.json) · last:")
    with program.terminal("-m", "script:echo", columns=140) as t:
        t.settle()
        assert "Let this project" not in "\n".join(t.history())


@pytest.mark.full
def test_a_session_begins_when_it_opens_and_ends_when_another_takes_its_place(program: Program, own: Path) -> None:
    said = r"""sed 's/.*"source": "\([a-z]*\)".*/{"systemMessage": "begun: \1"}/'"""
    hooks(own, ("SessionStart", f"tee -a seen.jsonl | {said}; echo >> seen.jsonl"), ("SessionEnd", "cat >> seen.jsonl"))
    with program.terminal("-m", "script:echo", columns=140) as t:
        t.until("begun: startup")
        t.send("/new\r", until="begun: clear")
        t.send("hello\r", until="hello")
        t.settle()
        t.send("/fork\r", until="begun: fork")
        t.send("/quit\r")
        assert t.wait() == 0
    decoder, text, found = json.JSONDecoder(), (program.work / "seen.jsonl").read_text().replace("\n", ""), []
    while text:
        one, end = decoder.raw_decode(text)
        found.append((one["hook_event_name"], one.get("source") or one["reason"]))
        text = text[end:]
    assert found == [
        ("SessionStart", "startup"),
        ("SessionEnd", "clear"),
        ("SessionStart", "clear"),
        ("SessionEnd", "other"),
        ("SessionStart", "fork"),
        ("SessionEnd", "prompt_input_exit"),
    ]


def test_a_projects_hook_sees_no_secret_but_those_that_it_lists_and_a_persons_own_sees_all(
    program: Program, own: Path
) -> None:
    see = 'echo "$PLAIN $MY_TOKEN $OTHER_TOKEN" > %s.txt'
    hooks(own, ("Stop", see % "own"))
    hooks(program.work / ".claude/settings.json", ("Stop", see % "project"), allowedEnvVars=["OTHER_TOKEN"])
    program.more = {"PLAIN": "plain", "MY_TOKEN": "mine", "OTHER_TOKEN": "other"}
    ran = ask(program, {"text": "ok"}, more=("--trust",))
    assert ran.code == 0
    assert (program.work / "own.txt").read_text().split() == ["plain", "mine", "other"]
    assert (program.work / "project.txt").read_text().split() == ["plain", "other"]


@pytest.mark.full
def test_the_question_about_a_hook_names_the_secrets_that_it_would_see(program: Program) -> None:
    path = program.work / ".claude/settings.json"
    hooks(path, ("Stop", "true"), allowedEnvVars=["NPM_TOKEN"])
    with program.terminal("-m", "script:echo", columns=140) as t:
        t.until("Trust this folder?")
        t.settle()
        t.send("y", until="Let this project start hook true (Stop; sees NPM_TOKEN of your environment)")


@pytest.mark.full
def test_what_an_approved_hook_runs_is_not_rewritten_unasked(program: Program) -> None:
    script = program.work / "scripts/check.sh"
    script.parent.mkdir()
    script.write_text("exit 0\n")
    hooks(program.work / ".claude/settings.json", ("PreToolUse", "sh scripts/check.sh"))
    write = [
        {"name": "write", "input": {"file_path": name, "content": "touch owned\n"}}
        for name in ("scripts/check.sh", "free.sh")
    ]
    (program.work / "rewrite.py").write_text("open('scripts/check.sh', 'w').write('touch owned')\n")
    run = {"name": "bash", "input": {"command": "python3 rewrite.py"}}
    ran = ask(program, {"calls": [write[1], write[0], run]}, {"text": "ok"}, mode="auto", more=("--trust",))
    [denied] = [line for line in ran.of("tool_result") if line["status"] == "denied" and line["name"] == "write"]
    assert "the hook PreToolUse of .claude/settings.json runs check.sh" in denied["output"]
    assert (program.work / "free.sh").exists()
    assert script.read_text() == "exit 0\n"
    assert not (program.work / "owned").exists()


@pytest.mark.full
def test_allow_rules_of_a_project_are_taken_over_by_an_answer_of_its_own(program: Program) -> None:
    allow: dict[str, Any] = {"permissions": {"allow": ["Bash(touch made.txt)", "Bash(rm:*)"]}, "env": {"A": "b"}}
    file = program.work / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(allow))
    with program.terminal("-m", "script:echo", columns=100) as t:
        t.until("  .claude/settings.json (allow: has rules that allow calls", "bash(touch made.txt), bash(rm:*)")
        t.until("2. Yes, also its 2 allow rules", "❯ 3. No, start without them")
        t.send("2", until="Saved 2 allow rules for this project.")
        t.until("1 entry of the project's settings for other programs has no effect here;")
        t.send("/quit\r")
        assert t.wait() == 0
    # Rules that are added later are not among them.
    allow["permissions"]["allow"].append("Bash(curl:*)")
    file.write_text(json.dumps(allow))
    shown = program.run("permissions", "show").out
    assert "bash(touch made.txt)" in shown
    assert "curl" not in shown
    assert not [path for path in program.work.rglob("*") if path.name == "rules.json"]


@pytest.mark.full
def test_all_that_a_project_would_start_is_one_question_and_each_can_be_struck_out(program: Program) -> None:
    hooks(
        program.work / ".claude/settings.json",
        ("SessionStart", "touch first.txt"),
        ("UserPromptSubmit", "touch second.txt"),
    )
    (program.work / "AGENTS.md").write_text("Be brief.")
    with program.terminal("-m", "script:echo") as t:
        t.until("Instruction files such as AGENTS.md are read either way.", "❯ 2. No, start without them")
        t.until("1. Yes, load them")
        t.send("1", until="What may this project start?")
        t.until("❯ 4. Start none of them")
        screen = "\n".join(t.screen())
        assert "1. touch first.txt" in screen
        assert screen.count("[x]") == 2
        t.send("1", until="[ ] ")
        t.send("3", until="sandbox")
        t.send("hello\r", until=" in, ")
    assert not (program.work / "first.txt").exists()
    assert (program.work / "second.txt").exists()
