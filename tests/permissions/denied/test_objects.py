"""Revisions that name the content of denied files otherwise than by a path from the top: by ids, trees, tags and messages."""

from __future__ import annotations

import hashlib
import itertools
import subprocess

import pytest

from agentcli.core.record import Mode
from agentcli.permissions.paths import Workspace
from tests.permissions.denied.test_commands import bash, git, tracked, workspace

__all__ = ["tracked", "workspace"]

_MODES: tuple[Mode, ...] = ("ask", "yolo")


def filled(command: str, workspace: Workspace) -> str:
    """The command with ids in place of `<blob>`, `<tree>`, `<root>`, `<other>`, and the folder in place of `<work>`."""
    names = {"blob": "HEAD:secrets/key.txt", "tree": "HEAD:secrets", "root": "HEAD^{tree}", "other": "HEAD:src/a.py"}
    for word, name in names.items():
        if f"<{word}>" not in command:
            continue
        words = ["git", "rev-parse", name]
        id = subprocess.run(words, cwd=workspace.cwd, check=True, capture_output=True, text=True).stdout.strip()
        command = command.replace(f"<{word}>", id)
    return command.replace("<work>", str(workspace.cwd))


SHOWING = """
git show <tree>:key.txt
git show <tree>:./key.txt
git cat-file -p <tree>:key.txt
git cat-file blob <tree>:key.txt
git cat-file -p '<blob>^{}'
git show '<blob>^{blob}' -- src
git diff <tree> -- key.txt
git diff <other> <blob> -- src
git diff <tree>..<root> -- key.txt
git grep TOP <tree> -- key.txt
git diff-tree -p <tree> <root> -- key.txt
git diff-index -p <tree> -- key.txt
git checkout <tree> -- key.txt
git checkout HEAD:secrets .
git restore --source=<tree> -- key.txt
git restore --source <tree> -SW key.txt
git reset -q <tree> .
git tag x <blob>
git tag x <tree>
git tag -a -m x x <blob>
git push origin <blob>:refs/heads/x
""".strip().splitlines()


@pytest.mark.parametrize("command", SHOWING)
def test_a_denied_file_is_recognised_under_every_name_that_git_has_for_it(command: str, tracked: Workspace) -> None:
    git("remote add origin https://example.org/x.git", tracked.cwd)
    for mode in _MODES:
        decision = bash(filled(command, tracked), tracked, mode)
        assert (decision.decision, decision.rule) == ("deny", "deny read(secrets/**)")


BESIDE = """
git show HEAD:src/a.py
git cat-file -p <other>
git show HEAD -- src
git diff HEAD~0..HEAD -- src
git show '<root>:src/a.py'
git ls-tree <tree>
git rev-parse HEAD:src
git tag -m 'fix: all' v1
git tag v1 HEAD
git checkout -q main -- src
git restore --source=HEAD src
git push origin main
git push -u origin feature/x
git push --force origin HEAD:main
git fetch --depth 1 origin main
git pull --rebase
git push git@example.org:a/b.git main
git remote add x git@example.org:a/b.git
git push file://<work> HEAD:x
git push elsewhere HEAD:x
git push --depth 1 elsewhere HEAD:x
git remote add x file://<work>
git remote add x elsewhere
git fetch elsewhere
git remote -v
git commit -qm 'fix: <blob>'
""".strip().splitlines()


@pytest.mark.parametrize("command", BESIDE)
def test_git_beside_denied_files_is_decided_about_as_without_the_rule(command: str, tracked: Workspace) -> None:
    git("remote add origin https://example.org/x.git", tracked.cwd)
    for mode in _MODES:
        with_rule, without = (
            bash(filled(command, tracked), tracked, mode, deny) for deny in (("read(secrets/**)",), ())
        )
        assert (with_rule.decision, with_rule.why) == (without.decision, without.why)


def test_a_tag_of_a_denied_file_is_recognised_by_what_it_leads_to(tracked: Workspace) -> None:
    git(filled("tag plain <blob>", tracked), tracked.cwd)
    git(filled("-c user.name=a -c user.email=a@b.c tag -a -m x noted <blob>", tracked), tracked.cwd)
    git("tag folder HEAD:secrets", tracked.cwd)
    for command in ("cat-file -p plain", "show noted -- src", "show folder:key.txt", "grep TOP folder -- key.txt"):
        assert bash(f"git {command}", tracked, "yolo").decision == "deny"


def test_what_was_sent_to_another_repository_stays_denied_there(tracked: Workspace) -> None:
    copy = tracked.cwd.parent / "copy.git"
    git(f"init -q --bare {copy}", tracked.cwd)
    git(f"push -q {copy} main", tracked.cwd)
    assert bash(f"git -C {copy} show main:secrets/key.txt", tracked, "yolo").decision == "deny"
    decision = bash(f"git -C {copy} show main", tracked, "yolo")
    assert decision.instead.endswith("':(exclude,top,glob,icase)secrets/**'")


def test_a_repository_that_replaces_objects_shows_no_text(tracked: Workspace) -> None:
    assert bash("git show HEAD:src/a.py", tracked, "yolo").decision == "allow"
    git(filled("update-ref refs/replace/<other> <blob>", tracked), tracked.cwd)
    for command in ("git show HEAD:src/a.py", "git diff -- src", "git cat-file -p <other>"):
        assert bash(filled(command, tracked), tracked, "yolo").decision == "deny"
    assert bash("git log --oneline", tracked, "yolo").decision == "allow"


def test_the_empty_file_is_no_denied_content(tracked: Workspace) -> None:
    for name in ("secrets/empty", "src/empty"):
        (tracked.cwd / name).touch()
    git("add -A", tracked.cwd)
    assert bash("git show :src/empty", tracked, "yolo").decision == "allow"


def test_an_abbreviation_with_several_meanings_counts_as_denied(tracked: Workspace) -> None:
    seen: dict[str, int] = {}
    for number in itertools.count():
        content = f"n = {number}\n".encode()
        short = hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()[:4]
        if short in seen:
            break
        seen[short] = number
    for each in (number, seen[short]):
        (tracked.cwd / f"src/{each}.py").write_text(f"n = {each}\n")
    git("add -A", tracked.cwd)
    assert bash(f"git show {short} -- src", tracked, "yolo").decision == "deny"


@pytest.mark.parametrize("command", ["git show ':/first'", "git show {env} -- src", "git show '{env}^{}' -- src"])
def test_a_protected_file_is_asked_about_under_its_other_names(command: str, tracked: Workspace) -> None:
    (tracked.cwd / ".env").write_text("KEY=1\n")
    git("add -A -f", tracked.cwd)
    git("-c user.name=a -c user.email=a@b.c commit -qm second", tracked.cwd)
    words = ["git", "rev-parse", "HEAD:.env"]
    env = subprocess.run(words, cwd=tracked.cwd, check=True, capture_output=True, text=True).stdout.strip()
    assert bash(command.replace("{env}", env), tracked, "auto-edit", ()).decision == "ask"
    assert bash("git show HEAD -- src", tracked, "auto-edit", ()).decision == "allow"
