"""Approvals of hooks, servers and plugins of a trusted project, and the file that keeps them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import ConfigError, StoreError
from agentcli.program.approvals import Approvals, not_started
from agentcli.program.definition import Definition
from agentcli.program.trust import not_read, what_it_would_load

GIT = Definition("server", "git", ".mcp.json", "uvx mcp-server-git", {"command": "uvx", "args": ["mcp-server-git"]})
GUARD = Definition("hook", "PreToolUse", ".claude/settings.json", "python3 guard.py", {"command": "python3 guard.py"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state/approved.json"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return folder


def test_an_approval_holds_for_one_definition_in_one_repository(project: Path, file: Path, tmp_path: Path) -> None:
    approvals = Approvals(project, file)
    assert approvals.undecided([GIT, GUARD]) == [GIT, GUARD]
    approvals.decide([(GIT, True), (GUARD, False)])
    assert approvals.allows(GIT)
    assert not approvals.allows(GUARD)
    assert approvals.undecided([GIT, GUARD]) == []
    assert Approvals(project / "src", file).allows(GIT)
    assert not Approvals(tmp_path / "elsewhere", file).allows(GIT)


@pytest.mark.parametrize(
    "change",
    [
        {"content": {"command": "uvx", "args": ["mcp-server-git", "--all"]}},
        {"content": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${B}"}}},
        {"name": "git2"},
        {"kind": "plugin"},
    ],
)
def test_any_change_of_a_definition_asks_again(project: Path, file: Path, change: dict[str, Any]) -> None:
    approvals = Approvals(project, file)
    approvals.decide([(GIT, True)])
    changed = replace(GIT, **change)
    assert approvals.undecided([changed]) == [changed]
    assert not approvals.allows(changed)


def test_an_answer_can_be_changed(project: Path, file: Path) -> None:
    approvals = Approvals(project, file)
    approvals.decide([(GIT, False)])
    approvals.decide([(GIT, True), (GUARD, True)])
    assert Approvals(project, file).refused([GIT, GUARD]) == []


def test_trust_of_a_run_approves_everything_and_writes_nothing(project: Path, file: Path) -> None:
    approvals = Approvals(project, file, everything=True)
    assert approvals.allows(GIT)
    assert approvals.undecided([GIT]) == []
    assert not file.exists()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"projects": 5}', '{"projects": {"/": 5}}', "\0" * 50])
def test_a_damaged_file_approves_nothing_and_is_never_overwritten(project: Path, file: Path, damage: str) -> None:
    approvals = Approvals(project, file)
    approvals.decide([(GIT, True)])
    file.write_text(damage)
    assert not approvals.allows(GIT)
    with pytest.raises((ConfigError, StoreError)):
        approvals.decide([(GIT, True)])
    assert file.read_text() == damage


def test_a_file_that_others_may_write_is_not_believed(project: Path, file: Path) -> None:
    Approvals(project, file).decide([(GIT, True)])
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    assert not Approvals(project, file).allows(GIT)


def test_an_answer_of_another_shape_is_none(project: Path, file: Path) -> None:
    approvals = Approvals(project, file)
    approvals.decide([(GIT, True)])
    file.write_text(json.dumps({"projects": {str(project): {f"server {GIT.digest}": {"approved": "yes"}}}}))
    assert approvals.undecided([GIT]) == [GIT]


def test_one_warning_names_all_that_was_not_started() -> None:
    assert not_started([]) == ""
    assert not_started([GIT]) == (
        "Server git of .mcp.json was not started: approve it in a session, or run with --trust."
    )
    assert not_started([GIT, GUARD]) == (
        "Server git of .mcp.json; hook PreToolUse of .claude/settings.json were not started: "
        "approve them in a session, or run with --trust."
    )
    assert "\\x1b[2J" in not_started([replace(GIT, name="\x1b[2J")])


def test_trust_names_the_files_of_every_kind_from_the_root_down(project: Path) -> None:
    for name in (".claude/settings.json", ".mcp.json", "src/.claude/settings.local.json"):
        (project / name).parent.mkdir(exist_ok=True, parents=True)
        (project / name).write_text('{"hooks": {"Stop": []}, "mcpServers": {"x": {}}}')
    (project / ".agents/skills").mkdir(parents=True)
    (project / ".claude/rules").mkdir()
    (project / ".agentcli").mkdir()
    (project / ".agentcli/config.toml").write_text("")
    found = [(one.kind, str(one.path.relative_to(project))) for one in what_it_would_load(project / "src")]
    assert found == [
        ("hooks", ".claude/settings.json"),
        ("hooks", "src/.claude/settings.local.json"),
        ("servers", ".mcp.json"),
        ("rules", ".claude/rules"),
        ("skills", ".agents/skills"),
    ]


def test_trust_names_no_hooks_and_servers_where_there_are_none(project: Path) -> None:
    kinds = []
    for permissions in ({"deny": ["Read(x)"]}, {"allow": ["Bash(make)"], "deny": ["Read(x)"]}):
        (project / ".claude").mkdir(exist_ok=True)
        (project / ".gemini").mkdir(exist_ok=True)
        (project / ".claude/settings.json").write_text(json.dumps({"permissions": permissions, "hooks": {}}))
        (project / ".gemini/settings.json").write_text(json.dumps({"tools": {"exclude": ["x"]}, "mcpServers": {}}))
        (project / ".mcp.json").write_text("{}")
        kinds.append([one.kind for one in what_it_would_load(project)])
        assert not_read(project) == ""
    assert kinds == [[], ["allow"]]


def test_a_run_in_an_untrusted_folder_names_what_it_did_not_read(project: Path) -> None:
    assert not_read(project) == ""
    (project / ".agents/skills").mkdir(parents=True)
    assert not_read(project) == ""
    (project / ".mcp.json").write_text("not even read")
    assert not_read(project / "src") == (
        "Servers were not read, since this folder is not trusted: .mcp.json. "
        "Trust it in a session, or run with --trust."
    )
