"""`doctor --from claude`: each thing that behaves otherwise is named with the reason, the rest is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.tables import each_row


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def hook(**entry: Any) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": "true", **entry}]}


def listed(program: Program) -> tuple[set[str], int, int]:
    """The differences as `thing: detail`, the number of things that behave the same, and of importable ones."""
    ran = program.run("doctor", "--from", "claude", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    return {f"{one['thing']}: {one['detail']}" for one in found["differences"]}, found["same"], found["importable"]


PROJECT: dict[str, tuple[Any, str]] = {
    "a hook that is the same": ("settings.json", {"hooks": {"Stop": [hook()]}}, ""),  # type: ignore[dict-item]
    "an event": ("settings.json", {"hooks": {"WorktreeCreate": [hook()]}}, "WorktreeCreate"),
    "a kind of hook": ("settings.json", {"hooks": {"Stop": [{"hooks": [{"type": "agent", "prompt": "x"}]}]}}, "only command, http and prompt run here"),
    "a field of a hook": ("settings.json", {"hooks": {"Stop": [hook(once=True, statusMessage="x")]}}, "hook of Stop in .claude/settings.json: no effect here: once"),
    "a deny rule": ("settings.json", {"permissions": {"deny": ["Read(.env)"]}}, ""),
    "an allow rule": ("settings.local.json", {"permissions": {"allow": ["Bash(ls:*)"]}}, ".claude/settings.local.json: bash(ls:*): a project cannot allow"),
    "a rule about a tool that is not there": ("settings.json", {"permissions": {"deny": ["Teleport"]}}, "deny Teleport: there is no such tool here"),
    "a status line": ("settings.json", {"statusLine": {"type": "command", "command": "date"}}, "statusLine: a project's file can only set rules"),
    "a skill": ("skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\nText", ""),
    "a field of a skill": ("skills/one/SKILL.md", "---\nname: one\ndescription: d\nhooks: {}\n---\nText", "skill one: the field hooks has no effect here"),
    "a skill's tools": ("skills/one/SKILL.md", "---\nname: one\ndescription: d\nallowed-tools: Read, Teleport\n---\nText", "skill one: allows tools that do not exist here: Teleport"),
    "a skill that cannot be read": ("skills/one/SKILL.md", "---\nname: one\n---\n", "has no description: left out"),
    "a command": ("commands/go.md", "Go.", ""),
    "a field of a command": ("commands/go.md", "---\nhooks: {}\n---\nGo.", "command go: the field hooks has no effect here"),
    "a command with the name of ours": ("commands/help.md", "Help.", "/help of"),
    "an agent": ("agents/a.md", "---\nname: a\ndescription: d\ntools: Read\n---\nText", ""),
    "a field of an agent": ("agents/a.md", "---\nname: a\ndescription: d\nmemory: user\n---\nText", "agent a: the field memory has no effect here"),
    "an agent's tool": ("agents/a.md", "---\nname: a\ndescription: d\ntools: Read, Teleport\n---\nText", "agent a: lists tools that do not exist here: Teleport"),
    "an agent's model": ("agents/a.md", "---\nname: a\ndescription: d\nmodel: opus\n---\nText", "agent a: asks for opus: google/"),
    "an output style": ("output-styles/terse.md", "Be terse.", "output style terse: "),
    "a server": ("../.mcp.json", {"mcpServers": {"db": {"command": "db"}}}, ""),
}  # fmt: skip


@pytest.mark.full
@each_row("case", PROJECT)
def test_each_thing_of_a_project_that_differs_is_named_and_the_others_are_counted(tmp_path: Path, case: str) -> None:
    name, content, says = PROJECT[case]  # type: ignore[misc]
    program = Program(tmp_path, {"GEMINI_API_KEY": "x"})
    put(program.work / ".claude" / name, content)
    told, same, _ = listed(program)
    if says:
        assert [line for line in told if says in line], told
    else:
        assert (told, same) == (set(), 1)
    assert len(told) <= 1 or case == "a kind of hook"


def test_the_users_things_are_the_same_only_once_they_are_imported(tmp_path: Path) -> None:
    program = Program(tmp_path, {"ANTHROPIC_API_KEY": "x"})
    put(
        tmp_path / ".claude" / "settings.json",
        {"hooks": {"Stop": [hook()]}, "env": {"A": "1"}, "statusLine": {"command": "date"}},
    )
    put(tmp_path / ".claude.json", {"mcpServers": {"db": {"command": "db"}}})
    told, same, importable = listed(program)
    assert (told, same, importable) == ({"~/.claude/settings.json: variable A: set it in your shell"}, 0, 3)
    assert (
        "3 entries of claude: only after `agentcli import-config claude`."
        in program.run("doctor", "--from", "claude").out
    )
    assert program.run("import-config", "claude", "--yes").code == 0
    told, same, importable = listed(program)
    assert (len(told), same, importable) == (1, 3, 0)
    assert "\n3 things behave the same." in program.run("doctor", "--from", "claude").out


def test_nothing_is_started_trusted_or_written(tmp_path: Path) -> None:
    program = Program(tmp_path, {"ANTHROPIC_API_KEY": "x"})
    mark = tmp_path / "started"
    put(program.work / ".mcp.json", {"mcpServers": {"db": {"command": "touch", "args": [str(mark)]}}})
    put(program.work / ".claude" / "settings.json", {"hooks": {"SessionStart": [hook(command=f"touch {mark}")]}})
    listed(program)
    assert not mark.exists()
    assert not [*(tmp_path / "state").rglob("trusted.json"), *(tmp_path / "config").rglob("*")]
    assert program.run("doctor", "--from", "codx").code == 2
