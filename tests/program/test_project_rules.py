"""Permission rules of a project's settings of other programs."""

from __future__ import annotations

import json
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.extras.importers.config.found import OF_PROJECT
from agentcli.frontends.opening import program_of
from agentcli.permissions.decide import decide
from agentcli.program.doctor import examine
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.program.project_rules import offered_rules, restrictions
from agentcli.tools.registry import TRAITS

SETTINGS = {
    "env": {"A": "b"},
    "permissions": {
        "allow": ["Bash(npm run test:*)", "Read(~/.zshrc)"],
        "ask": ["Bash(git push:*)"],
        "deny": ["Bash(curl:*)", "Read(./.env.*)", "Edit(/src/**)", "mcp__db__drop", "NotebookEdit", "Read()"],
    },
}


GEMINI = {
    "tools": {"exclude": ["run_shell_command(nc)"], "allowed": ["read_file"]},
    "excludeTools": ["web_fetch"],
    "mcpServers": {},
    "context": {"fileName": "C.md"},
}


def opened(folder: Path, *, trust: bool = True, text: str = json.dumps(SETTINGS)) -> Program:
    file = folder / "work" / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (file.parent.parent / ".gemini").mkdir()
    (file.parent.parent / ".gemini/settings.json").write_text(json.dumps(GEMINI))
    (file.parent.parent / ".codex").mkdir()
    (file.parent.parent / ".codex/config.toml").write_text('model = "x"')
    env = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    options = Options(cwd=str(file.parent.parent), trust=trust, mode="yolo")
    return program_of(options, {**env, "HOME": str(folder), "ANTHROPIC_API_KEY": "x"})


def decided(program: Program, tool: str, **arguments: str) -> str:
    policy = program.workspace_policy
    return decide(ToolCall("1", tool, arguments), TRAITS, policy.rules(), "yolo", policy.workspace()).decision


def test_what_a_project_denies_or_asks_for_claude_code_holds_here_and_what_it_allows_does_not(tmp_path: Path) -> None:
    program = opened(tmp_path)
    assert decided(program, "bash", command="curl https://example.org") == "deny"
    assert decided(program, "bash", command="git push origin") == "ask"
    assert decided(program, "read", file_path=".env.local") == "deny"
    assert decided(program, "edit", file_path="src/a.py", old_string="a", new_string="b") == "deny"
    assert decided(program, "write", file_path="src/a.py", content="") == "deny"
    assert decided(program, "write", file_path="docs/a.md", content="") == "allow"
    assert decided(program, "bash", command="nc -l 5") == "deny"
    assert decided(program, "web_fetch", url="https://example.org") == "deny"
    listed = [(kind, str(rule), rule.origin) for kind, rule in program.workspace_policy.rules().listed()]
    assert ("deny", "mcp__db__drop", "project") in listed
    assert not [rule for rule in listed if rule[0] == "allow"]


def test_the_check_up_names_what_has_no_effect(tmp_path: Path) -> None:
    found = [one.detail for one in examine(opened(tmp_path)) if one.what == "not in force"]
    start = ".claude/settings.json: "
    assert f"{start}env: {OF_PROJECT}" in found
    assert f"{start}deny NotebookEdit: there is no such tool here" in found
    assert any(line.startswith(f"{start}bash(npm run test:*): a project cannot allow") for line in found)
    assert {f".gemini/settings.json: context: {OF_PROJECT}", f".codex/config.toml: model: {OF_PROJECT}"} <= {*found}
    assert f".gemini/settings.json: tools: allowed: {OF_PROJECT}" in found
    assert any(line.startswith(f"{start}'read()' is not a rule") for line in found)


def test_a_broken_file_is_named_and_has_no_rules(tmp_path: Path) -> None:
    program = opened(tmp_path, text='{"permissions": {"deny": ["Bash"]},}')
    assert {rule.tool for _, rule in program.workspace_policy.rules().listed()} == {"bash", "web_fetch"}, "of Gemini"
    assert any("nothing in it takes effect" in one.detail for one in examine(program))


def test_what_a_project_allows_is_offered_in_our_names_before_it_is_trusted(tmp_path: Path) -> None:
    text = json.dumps(
        {"permissions": {"allow": ["Bash(make test)", "Edit(/src/**)", "Bash(", "NotebookEdit", "Bash(make test)"]}}
    )
    program = opened(tmp_path, text=text, trust=False)
    assert offered_rules(program, program.traits) == ["bash(make test)", f"edit({program.cwd}/src/**)"]
    assert not program.workspace_policy.rules().allow


def test_rules_that_deny_or_ask_apply_before_the_folder_is_trusted(tmp_path: Path) -> None:
    program = opened(tmp_path, trust=False)
    (program.cwd / ".agentcli").mkdir()
    (program.cwd / ".agentcli/config.toml").write_text(
        'mode = "yolo"\n[permissions]\ndeny = ["read(vault/**)", "nonsense(x)"]\nask = ["bash(make)"]\nallow = ["bash(nc *)"]\n'
    )
    assert decided(program, "read", file_path=".env.local") == "deny"
    assert decided(program, "read", file_path="vault/key") == "deny"
    assert decided(program, "bash", command="make") == "ask"
    assert decided(program, "bash", command="git push origin") == "ask"
    assert not program.workspace_policy.rules().allow
    listed = restrictions(program, program.traits)
    assert {"deny read(vault/**)", "ask bash(make)", "deny bash(nc:*)", "ask bash(git push:*)"} <= {*listed}
    assert "config.toml" not in str(program.config.origins), "nothing else of the file counts"
