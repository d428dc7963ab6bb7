from pathlib import Path

import pytest

from agentcli.core.errors import AgentError
from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import Sandbox, box_for, choose, detect
from agentcli.permissions.sandbox.seatbelt import profile


def fake_bubblewrap(folder: Path, script: str) -> str:
    folder.mkdir(exist_ok=True)
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(folder)


def test_switched_off_is_visible_and_wraps_nothing(tmp_path: Path) -> None:
    sandbox = choose("off")
    assert not sandbox.working
    assert sandbox.state == "no sandbox"
    assert "switched off" in sandbox.report
    assert sandbox.wrap(["ls", "-la"], Workspace(tmp_path)).argv == ["ls", "-la"]


def test_a_bubblewrap_that_holds_nothing_is_not_believed(tmp_path: Path) -> None:
    """It runs the command, but outside: the trial notices."""
    path = fake_bubblewrap(tmp_path / "bin", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    found = detect(path)
    assert found.kind != "bubblewrap"
    assert "bubblewrap does not work here" in found.why


def test_a_bubblewrap_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    found = detect(
        fake_bubblewrap(tmp_path / "bin", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    )
    assert found.kind != "bubblewrap"
    assert "No permissions" in found.report


def test_required_and_missing_is_an_error() -> None:
    found = detect()
    if found.working:
        assert choose("require") == found
    else:
        with pytest.raises(AgentError, match="required"):
            choose("require")


def test_every_kind_has_a_state_for_the_status_line() -> None:
    states = {Sandbox(kind).state for kind in ("bubblewrap", "landlock", "seatbelt", "none")}
    assert states == {"bubblewrap", "landlock", "seatbelt", "no sandbox"}


def test_the_box_protects_what_the_policy_protects_and_hides_what_is_private(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    for folder in (work / ".git", work / "sub/.git", work / "src", home / ".ssh", home / ".local/share/agentcli"):
        folder.mkdir(parents=True)
    for file in (work / "AGENTS.md", work / ".env", work / "src/.envrc", home / ".netrc"):
        file.write_text("")
    box = box_for(Workspace(work, (work,), home, own=(home / ".local/share/agentcli",)))
    assert set(box.readonly) == {work / ".git", work / "sub/.git", work / "AGENTS.md"}
    assert set(box.blank) == {work / ".env", work / "src/.envrc"}
    assert box.homes == (home,)
    assert {home / ".ssh", home / ".netrc", home / ".local/share/agentcli"} <= set(box.hidden)
    assert box.writable == (work,)
    assert not box.network


def test_the_workspace_is_never_hidden(tmp_path: Path) -> None:
    inside = tmp_path / ".claude/worktrees/x"
    inside.mkdir(parents=True)
    assert not any(map(inside.is_relative_to, box_for(Workspace(inside, (inside,), tmp_path)).hidden))


def test_the_seatbelt_profile_denies_before_it_allows(tmp_path: Path) -> None:
    work = tmp_path / 'a "quoted" folder'
    (work / ".git").mkdir(parents=True)
    (tmp_path / "home/.ssh").mkdir(parents=True)
    lines = profile(box_for(Workspace(work, (work,), tmp_path / "home"))).splitlines()
    assert lines.index("(deny file-write*)") < next(n for n, line in enumerate(lines) if "quoted" in line)
    assert any('\\"quoted\\"' in line and ".git" in line and line.startswith("(deny file-write*") for line in lines)
    assert any(".ssh" in line and line.startswith("(deny file-read* file-write*") for line in lines)
    assert "(deny network*)" in lines
    assert "(deny network*)" not in profile(box_for(Workspace(work, (work,), tmp_path / "home"), network=True))
