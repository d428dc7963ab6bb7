import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.core.errors import ConfigError, StoreError
from agentcli.program.trust import is_trusted, trust, what_it_would_load


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state/agentcli/trusted.json"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "code/project"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return folder


def test_nothing_is_trusted_at_first(project: Path, file: Path) -> None:
    assert not is_trusted(project, file)
    assert not file.exists()


def test_a_trusted_folder_covers_its_own_tree_and_no_other(project: Path, file: Path) -> None:
    trust(project, file)
    assert is_trusted(project, file)
    assert is_trusted(project / "src", file)
    assert not is_trusted(project.parent, file)
    assert not is_trusted(project.with_name("project-2"), file)


def test_a_repository_inside_a_trusted_folder_is_a_stranger(project: Path, file: Path) -> None:
    (project / "vendor/lib/.git").mkdir(parents=True)
    trust(project, file)
    assert not is_trusted(project / "vendor/lib", file)
    assert is_trusted(project / "vendor", file)


def test_a_worktree_is_trusted_as_its_repository_and_one_that_it_does_not_know_is_not(
    project: Path, file: Path, tmp_path: Path
) -> None:
    known = project / ".git" / "worktrees" / "tree"
    known.mkdir(parents=True)
    for name in ("tree", "stranger"):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / ".git").write_text(f"gitdir: {known}\n")
    (known / "gitdir").write_text(f"{tmp_path / 'tree' / '.git'}\n")
    (known / "commondir").write_text("../..\n")
    trust(project, file)
    assert is_trusted(tmp_path / "tree" / "src", file)
    assert not is_trusted(tmp_path / "stranger", file)


def test_trust_in_a_plain_folder_does_not_spread(tmp_path: Path, file: Path) -> None:
    (tmp_path / "plain/below").mkdir(parents=True)
    trust(tmp_path / "plain", file)
    assert is_trusted(tmp_path / "plain", file)
    assert not is_trusted(tmp_path / "plain/below", file)


def test_a_link_is_the_folder_it_leads_to(project: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    trust(tmp_path / "link", file)
    assert is_trusted(project, file)
    assert list(json.loads(file.read_text())["folders"]) == [str(project.resolve())]


def test_the_file_is_for_its_owner_alone(project: Path, file: Path) -> None:
    trust(project, file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in file.parent.iterdir()) == [".trusted.json.lock", "trusted.json"]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"folders": 5}', '{"folders": ["/"]}', "\0" * 50, '{"other": {}}'])
def test_a_damaged_file_trusts_nothing_and_is_never_overwritten(project: Path, file: Path, damage: str) -> None:
    trust(project, file)
    file.write_text(damage)
    assert not is_trusted(project, file)
    with pytest.raises((ConfigError, StoreError)):
        trust(project, file)
    assert file.read_text() == damage


def test_a_file_that_others_may_write_is_not_believed(project: Path, file: Path) -> None:
    trust(project, file)
    file.chmod(0o666)
    assert not is_trusted(project, file)
    with pytest.raises(ConfigError, match="others"):
        trust(project / "src", file)


def test_a_link_in_place_of_the_file_is_not_followed(project: Path, file: Path, tmp_path: Path) -> None:
    trust(project, file)
    os.rename(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert not is_trusted(project, file)


def test_many_processes_lose_no_trust(file: Path, tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from agentcli.program.trust import trust; [trust(Path(sys.argv[1] + str(n)), Path(sys.argv[2])) for n in range(5)]"
    running = [subprocess.Popen([sys.executable, "-c", script, f"{tmp_path}/{letter}", str(file)]) for letter in "abcd"]
    assert [process.wait(60) for process in running] == [0] * 4
    kept = json.loads(file.read_text())
    assert (len(kept["folders"]), kept["schema"]) == (20, 1)


def test_only_what_trust_really_has_loaded_is_named(project: Path) -> None:
    names = ".agentcli/config.toml .agentcli/hooks/x .claude/hooks/x .claude/other.json .gemini/x .vscode/mcp.json"
    for name in (*names.split(), ".env", "AGENTS.md", "CLAUDE.md", "src/.mcp.json"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    assert [str(one.path.relative_to(project)) for one in what_it_would_load(project)] == [".agentcli/config.toml"]
    found = [str(one.path.relative_to(project)) for one in what_it_would_load(project / "src")]
    assert found == ["src/.mcp.json"], "the settings of a folder above are not read"


def test_a_hostile_folder_name_cannot_write_on_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[2Jb\u202e"
    (folder / ".agentcli").mkdir(parents=True)
    (folder / ".agentcli/config.toml").write_text("")
    (found,) = what_it_would_load(folder)
    assert "\x1b" not in str(found)
    assert "\u202e" not in str(found)
