"""Files that deny rules name: which exist, and what lies below a folder that is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.permissions.denied.files import Hidden, denial_of, existing, reading_denials
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from agentcli.tools.registry import TRAITS


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    work = tmp_path / "top"
    for name in ("secrets/key.txt", "secrets/deep/a.txt", "src/a.pem", "src/app.py", "a/private/x", "config/a/b.yml"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    return Workspace(work, (work,), tmp_path)


def found(workspace: Workspace, *rules: str) -> Hidden:
    return existing(reading_denials(parse_rules(deny=rules).deny, TRAITS), workspace)


def names(workspace: Workspace, hidden: Hidden) -> tuple[set[str], set[str]]:
    files, folders = (
        {str(path.relative_to(workspace.cwd)) for path in paths} for paths in (hidden.files, hidden.folders)
    )
    return files, folders


@pytest.mark.parametrize(
    ("rule", "files", "folders"),
    [
        ("read(secrets/**)", set(), {"secrets"}),
        ("read(secrets/)", set(), {"secrets"}),
        ("read(./secrets)", set(), {"secrets"}),
        ("read(secrets/*)", {"secrets/key.txt"}, set()),
        ("read(*.pem)", {"src/a.pem"}, set()),
        ("read(private)", set(), {"a/private"}),
        ("read(**/private/*)", {"a/private/x"}, set()),
        ("read(config/**/*.yml)", {"config/a/b.yml"}, set()),
        ("read(SECRETS/**)", set(), {"secrets"}),
        ("read(s[a-f]crets/k?y.*)", {"secrets/key.txt"}, set()),
        ("read(~/top/src/*.pem)", {"src/a.pem"}, set()),
        ("read(nowhere/**)", set(), set()),
        ("edit(secrets/**)", set(), set()),
    ],
)
def test_what_a_rule_names_is_found(rule: str, files: set[str], folders: set[str], workspace: Workspace) -> None:
    assert names(workspace, found(workspace, rule)) == (files, folders)


def test_what_a_denied_link_leads_to_is_found_and_a_circle_of_links_ends(workspace: Workspace) -> None:
    work = workspace.cwd
    (work / "real").mkdir()
    (work / "real/x.key").touch()
    (work / "linked").symlink_to("real")
    (work / "real/round").symlink_to(work)
    assert names(workspace, found(workspace, "read(linked/**)"))[1] == {"real"}
    assert names(workspace, found(workspace, "read(linked/*.key)"))[0] == {"real/x.key"}
    assert found(workspace, "read(*.key)").complete


def test_a_rule_that_names_too_many_files_is_told_as_incomplete(workspace: Workspace) -> None:
    many = workspace.cwd / "many"
    many.mkdir()
    for number in range(1_100):
        (many / f"{number}.pem").touch()
    assert not found(workspace, "read(*.pem)").complete
    assert found(workspace, "read(many/**)").complete


@pytest.mark.parametrize("path", ["secrets", "secrets/key.txt", "./secrets/../secrets/deep", "Secrets/key.txt"])
def test_a_folder_that_is_denied_whole_is_denied_with_all_below(path: str, workspace: Workspace) -> None:
    for rule in ("read(secrets/**)", "read(secrets)", f"read({workspace.cwd}/secrets)"):
        denials = reading_denials(parse_rules(deny=[rule]).deny, TRAITS)
        assert denial_of(path, denials, workspace) == denials[0] or path == "Secrets/key.txt"


def test_what_lies_beside_or_above_is_not_denied(workspace: Workspace) -> None:
    denials = reading_denials(parse_rules(deny=["read(secrets/**)", "read(top)"]).deny, TRAITS)
    for path in (".", "src/app.py", "src/secrets.py", "..", "/etc/passwd"):
        assert denial_of(path, denials, workspace) is None
