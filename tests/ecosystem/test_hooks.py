"""Hooks of the public repository `anthropics/claude-code`, run as they lie there.

`CLAUDE_CODE_REPOSITORY` names a clone of it; without one it is cloned, and where that cannot be done the tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program, Ran

pytestmark = pytest.mark.ecosystem
URL = "https://github.com/anthropics/claude-code"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = os.environ.get("CLAUDE_CODE_REPOSITORY", URL)
    folder = tmp_path_factory.mktemp("claude-code") / "repository"
    clone = ["git", "clone", "-qn", source, folder]
    checkout = ["git", "-C", folder, "checkout", "-q", "HEAD", "--", "examples", "plugins"]
    for command in (clone, checkout):
        done = subprocess.run(command, capture_output=True, check=False, timeout=100)
        if done.returncode:
            pytest.skip(f"{source} cannot be cloned; name a clone with CLAUDE_CODE_REPOSITORY")
    return folder


def install(program: Program, repository: Path, plugin: str) -> None:
    """Use the hooks of a plugin as the user's own."""
    root = repository / "plugins" / plugin
    text = (root / "hooks/hooks.json").read_text().replace("${CLAUDE_PLUGIN_ROOT}", str(root))
    own(program, text)
    program.more = {"CLAUDE_PLUGIN_ROOT": str(root)}


def own(program: Program, text: str) -> None:
    folder = program.base / "config/agentcli"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hooks.json").write_text(text)


def ask(program: Program, *replies: Any) -> Ran:
    path = program.base / "script.json"
    path.write_text(json.dumps({"replies": list(replies)}))
    return program.ask("-m", f"script:{path}", "--mode", "yolo", "-p", "go")


def bash(command: str) -> dict[str, Any]:
    return {"calls": [{"name": "bash", "input": {"command": command}}]}


def test_the_vendors_example_of_a_guard_denies_grep(program: Program, repository: Path) -> None:
    guard = repository / "examples/hooks/bash_command_validator_example.py"
    entry = {"type": "command", "command": f"python3 {guard}"}
    own(program, json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [entry]}]}}))
    ran = ask(program, bash("grep foo bar"), bash("echo x"), {"text": "ok"})
    denied, allowed = ran.of("tool_result")
    assert (denied["status"], allowed["status"]) == ("denied", "success")
    assert "rg" in denied["output"]


def test_hookify_blocks_a_command_and_a_stop(program: Program, repository: Path) -> None:
    install(program, repository, "hookify")
    rules = program.work / ".claude"
    rules.mkdir()
    example = (repository / "plugins/hookify/examples/dangerous-rm.local.md").read_text()
    (rules / "hookify.rm.local.md").write_text(example)
    stop = (repository / "plugins/hookify/examples/require-tests-stop.local.md").read_text()
    (rules / "hookify.stop.local.md").write_text(stop.replace("enabled: false", "enabled: true"))
    ran = ask(program, bash("rm -rf /tmp/nothing/here"), {"text": "one"}, bash("echo npm test"), {"text": "two"})
    assert [one["status"] for one in ran.of("tool_result")] == ["denied", "success"]
    assert (ran.code, ran.result["text"]) == (0, "two")


def test_the_loop_of_ralph_wiggum_ends_after_three_rounds(program: Program, repository: Path) -> None:
    install(program, repository, "ralph-wiggum")
    state = program.work / ".claude/ralph-loop.local.md"
    state.parent.mkdir()
    head = 'active: true\niteration: 1\nmax_iterations: 0\ncompletion_promise: "DONE"'
    state.write_text(f"---\n{head}\n---\nDo it again.\n")
    ran = ask(program, *({"text": f"round {n}"} for n in range(6)))
    assert (ran.result["turns"], ran.result["text"]) == (4, "round 3")
    state.write_text(f"---\n{head}\n---\nDo it again.\n")
    ran = ask(program, {"text": "not yet"}, {"text": "<promise>DONE</promise>"}, {"text": "never"})
    assert (ran.result["turns"], state.exists()) == (2, False)


def test_the_explanatory_style_reaches_the_first_request_and_not_the_system_text(
    program: Program, repository: Path
) -> None:
    install(program, repository, "explanatory-output-style")
    ask(program, {"text": "ok"})
    records = program.records()
    assert "output style mode" in json.dumps(next(one for one in records if one["kind"] == "message"))
    assert "output style mode" not in json.dumps([one for one in records if one["kind"] == "settings"])


def test_security_guidance_warns_about_an_edit(program: Program, repository: Path) -> None:
    install(program, repository, "security-guidance")
    given = {"file_path": "x.js", "content": "child_process.exec(q)"}
    ran = ask(program, {"calls": [{"name": "write", "input": given}]}, {"text": "ok"})
    (result,) = ran.of("tool_result")
    assert result["status"] == "success"
    assert "<post-tool-use-hook>" in result["output"]
    assert "command injection" in result["output"]
