"""Commands and tools beside files that deny rules keep from being read."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import MODES, Mode
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from tests.permissions.deciding import explain

DENY = ("read(secrets/**)",)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace whose secrets no repository holds, where files can be hidden from commands."""
    work = tmp_path / "work"
    (work / "secrets").mkdir(parents=True)
    (work / "src").mkdir()
    (work / "secrets/key.txt").write_text("TOP\n")
    (work / "src/a.py").write_text("a = 1\n")
    return Workspace(work, (work,), tmp_path / "home", sandboxed=True, masks=True)


@pytest.fixture
def tracked(workspace: Workspace) -> Workspace:
    """The same, and the repository contains the secrets."""
    for words in ("init -q -b main", "add -A", "-c user.name=a -c user.email=a@b.c commit -qm first"):
        git(words, workspace.cwd)
    return workspace


def git(words: str, folder: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *words.split()], cwd=folder, env=env, check=True, capture_output=True)


def bash(command: str, workspace: Workspace, mode: Mode = "ask", deny: tuple[str, ...] = DENY) -> Decision:
    rules = parse_rules(["bash(*)"] if mode == "ask" else [], (), deny)
    return explain(ToolCall("c", "bash", {"command": command}), rules, mode, workspace)


def bare(workspace: Workspace) -> Workspace:
    """The same where no sandbox works."""
    return replace(workspace, sandboxed=False, masks=False)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cat secrets/key.txt",
            "cd secrets && cat key.txt",
            "(cd secrets; cat ./key.txt)",
            "cd secrets; head -1 key.txt",
        ),
        *("pushd secrets && cat key.txt", "cd src/../secrets && cat key.txt", "cd src; cat ../secrets/key.txt"),
        *(
            "cat < secrets/key.txt",
            "cd secrets && cat < key.txt",
            "git -C secrets show HEAD:./key.txt",
            "cat secrets/*",
        ),
        *("make -C secrets -f key.txt", "tar -C secrets -cf - key.txt", "cd secrets && cat *", "cp secrets/key.txt x"),
    ],
)
def test_a_word_is_looked_up_in_every_folder_that_a_command_may_be_in(command: str, workspace: Workspace) -> None:
    for mode in MODES:
        decision = bash(command, workspace, mode)
        assert (decision.decision, decision.rule) == ("deny", "deny read(secrets/**)")


@pytest.mark.parametrize(
    "command", ["pytest", "grep -r TOP .", "rg TOP", "cat $f", "tar cf - .", "cp -r . /tmp/x", "ls -R"]
)
def test_what_no_word_names_is_hidden_from_a_command(command: str, workspace: Workspace) -> None:
    assert bash(command, workspace).hidden.folders == (workspace.cwd / "secrets",)


@pytest.mark.parametrize(
    "command",
    ["pytest", "git status", "ls", "ls -la", "git diff", "git log -p", "git add -A", "cat src/a.py", "npm test"],
)
def test_ordinary_commands_are_decided_about_as_without_the_rule(command: str, workspace: Workspace) -> None:
    for mode in MODES:
        with_rule, without = bash(command, workspace, mode), bash(command, workspace, mode, ())
        assert (with_rule.decision, with_rule.why) == (without.decision, without.why)


@pytest.mark.parametrize(
    "command",
    [
        *("git status", "git log --oneline", "git branch", "git show --stat", "git diff -- src"),
        *(
            "git --no-pager log --oneline",
            "git -P log --oneline",
            "git --no-optional-locks status",
            "git -C src status",
        ),
        *("git --version", "git -c color.ui=never status"),
    ],
)
def test_git_that_shows_nothing_denied_sees_the_files_as_they_are(command: str, tracked: Workspace) -> None:
    decision = bash(command, tracked, "yolo")
    assert decision.decision == "allow"
    assert not decision.hidden.paths


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git show",
            "git show HEAD",
            "git log -p",
            "git grep TOP",
            "git diff HEAD~1",
            "git show HEAD:secrets/key.txt",
        ),
        *(
            "git archive HEAD",
            "git worktree add ../x",
            "git clone . ../x",
            "git -c alias.p=show p",
            "git fast-export --all",
        ),
        *(
            "git diff -- .",
            "git log -p -- '*.txt'",
            "git stash show -p",
            "git cat-file --batch",
            "git log --follow -p src/a.py",
        ),
        *(
            "git --no-pager show",
            "git -C . show",
            "git --git-dir .git status",
            "git -p log --oneline",
            "git -c pager.log=x log",
        ),
        *("git push .. main", "env git show", "echo HEAD | xargs git show", "git add -p", "git checkout -p"),
    ],
)
def test_git_that_may_show_what_the_repository_holds_is_denied(command: str, tracked: Workspace) -> None:
    for mode in MODES:
        decision = bash(command, tracked, mode)
        assert (decision.decision, decision.rule) == ("deny", "deny read(secrets/**)")


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git show HEAD -- src",
            "git diff -- src/a.py",
            "git show HEAD:src/a.py",
            "git grep a -- src",
            "git log -p -- src",
        ),
        *("git diff -- . ':(exclude)secrets'", "git log -p -- . ':!secrets/**'", "git grep TOP -- . ':!secrets'"),
    ],
)
def test_git_that_leaves_what_is_denied_out_runs(command: str, tracked: Workspace) -> None:
    for mode in MODES:
        assert bash(command, tracked, mode).decision == "allow"


def test_the_content_of_a_denied_file_is_known_by_its_id(tracked: Workspace) -> None:
    def blob(path: str) -> str:
        words = ["git", "rev-parse", f"HEAD:{path}"]
        return subprocess.run(words, cwd=tracked.cwd, check=True, capture_output=True, text=True).stdout.strip()

    assert bash(f"git cat-file -p {blob('secrets/key.txt')[:10]}", tracked).decision == "deny"
    assert bash(f"git show {blob('secrets/key.txt')} -- src", tracked).decision == "deny"
    assert bash(f"git cat-file -p {blob('src/a.py')[:10]}", tracked).decision == "allow"


def test_the_history_is_hidden_from_programs_that_may_run_git(tracked: Workspace) -> None:
    assert bash("pytest", tracked, "yolo").hidden.objects == (tracked.cwd / ".git/objects",)
    assert not bash("cat src/a.py", tracked, "yolo").hidden.objects


@pytest.mark.parametrize("command", ["grep -r TOP .", "rg TOP", "cp -r . x", "diff -r . src"])
def test_without_a_sandbox_what_goes_over_a_denied_file_is_denied(command: str, workspace: Workspace) -> None:
    for mode in MODES:
        decision = bash(command, bare(workspace), mode)
        assert decision.decision == "deny"
        assert "secrets" in decision.why or decision.rule == "mode plan"


@pytest.mark.parametrize("command", ["pytest", "cat $f", "tar cf - .", "python3 -c 'print(1)'", "make"])
def test_without_a_sandbox_what_may_read_a_denied_file_asks_and_says_why(command: str, workspace: Workspace) -> None:
    for mode in ("ask", "auto-edit", "auto", "yolo"):
        decision = bash(command, bare(workspace), mode)
        assert decision.decision == "ask"
        assert "secrets" in decision.why
        assert not decision.always


@pytest.mark.parametrize(
    "command", ["ls", "git status", "cat src/a.py", "find . -name '*.py'", "rg a src", "git diff -- src"]
)
def test_without_a_sandbox_what_is_known_to_read_nothing_denied_runs(command: str, workspace: Workspace) -> None:
    for mode in MODES:
        assert bash(command, bare(workspace), mode).decision == "allow"


@pytest.mark.parametrize("command", ["git add src/a.py && git commit -m x", "git commit -qm x", "git branch x"])
def test_what_git_records_of_other_files_is_decided_about_as_without_the_rule(
    command: str, workspace: Workspace
) -> None:
    git("init -q", workspace.cwd)
    for where in (workspace, bare(workspace)):
        for mode in MODES:
            with_rule, without = bash(command, where, mode), bash(command, where, mode, ())
            assert (with_rule.decision, with_rule.why) == (without.decision, without.why)
            assert not with_rule.hidden.paths
    assert bash("git commit -am x", bare(workspace), "yolo").decision == "ask"
    assert bash("git add -A", bare(workspace), "yolo").decision == "ask"


@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("grep", {"pattern": "TOP", "path": "secrets"}, "deny"),
        ("glob", {"pattern": "*", "path": "secrets"}, "deny"),
        ("list", {"path": "secrets"}, "deny"),
        ("read", {"file_path": "src/../secrets/key.txt"}, "deny"),
        ("edit", {"file_path": "secrets/key.txt", "old_string": "a", "new_string": "b"}, "deny"),
        ("write", {"file_path": "secrets/key.txt", "content": "b"}, "deny"),
        ("grep", {"pattern": "TOP"}, "allow"),
        ("list", {"path": "."}, "allow"),
        ("read", {"file_path": "src/a.py"}, "allow"),
    ],
)
def test_file_tools_reach_nothing_in_a_denied_folder(
    tool: str, given: dict[str, str], decision: str, workspace: Workspace
) -> None:
    for mode in MODES:
        found = explain(ToolCall("c", tool, given), parse_rules(deny=DENY), mode, workspace)
        assert found.decision == decision


NAMING = (
    *(
        "secrets/key.txt",
        " secrets/key.txt\n",
        "@secrets/key.txt",
        "secrets\\key.txt",
        "secrets%2Fkey.txt",
        "secrets/key.txt:3",
    ),
    *("file:///{}/secrets/key.txt", "FILE://{}/secrets/key.txt", " file:secrets/key.txt", "file://./secrets/key.txt"),
    *("file://localhost{}/secrets/key.txt#L1", "vscode://file{}/secrets/key.txt", "resource://secrets/key.txt"),
    *(
        "cat secrets/key.txt",
        "HEAD:secrets/key.txt",
        "--file=secrets/key.txt",
        '{{"path": "secrets/key.txt"}}',
        "a,'secrets'",
    ),
)


@pytest.mark.parametrize("value", [*NAMING, ["a", "secrets"], {"uri": "file:{}/secrets/key.txt"}])
def test_a_path_or_address_in_the_input_of_a_foreign_tool_is_denied(value: object, workspace: Workspace) -> None:
    filled = eval(repr(value).replace("{}", str(workspace.cwd)).replace("{{", "{").replace("}}", "}"))
    for tool in ("mcp__files__read_file", "my_own_tool"):
        found = explain(ToolCall("c", tool, {"x": filled}), parse_rules(deny=DENY), "yolo", workspace)
        assert (found.decision, found.rule) == ("deny", "deny read(secrets/**)")
        for beside in (
            "src/a.py",
            "https://example.org/secrets/key.txt",
            "# About\n\nsecrets/key.txt holds the key.\n",
        ):
            given = ToolCall("c", tool, {"x": beside})
            assert explain(given, parse_rules(deny=DENY), "yolo", workspace).decision == "allow"


LEAVING_OUT = (
    *(
        ":!secrets",
        ":(exclude)secrets",
        ":^secrets/*",
        ":!secrets/",
        ":!secrets/key.txt",
        ":!*.txt",
        ":(exclude,glob)secrets/**",
    ),
    *(":(top,exclude)secrets", ":!/secrets"),
)
NOT_LEAVING_OUT = (
    *(
        ":!secrets/other",
        ":!secr",
        ":!*.md",
        ":!",
        ":(exclude,glob)secrets/*",
        ":(glob)secrets",
        ":!secrets\\x",
        ":!src",
    ),
)


@pytest.mark.parametrize("spec", [*LEAVING_OUT, *NOT_LEAVING_OUT])
def test_git_shows_what_no_pathspec_leaves_out(spec: str, tracked: Workspace) -> None:
    wanted = "allow" if spec in LEAVING_OUT else "deny"
    assert bash(f"git grep TOP -- . '{spec}'", tracked, "yolo").decision == wanted
    if wanted == "allow":
        found = subprocess.run(
            ["git", "grep", "TOP", "--", ".", spec], cwd=tracked.cwd, capture_output=True, check=False
        )
        assert found.stdout == b""


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [(":!secrets", "deny"), (":(exclude)secrets", "deny"), (":!/secrets", "allow"), (":(top,exclude)secrets", "allow")],
)
def test_a_pathspec_is_relative_to_its_folder_or_to_the_top(spec: str, wanted: str, tracked: Workspace) -> None:
    assert bash(f"cd src && git diff -- .. '{spec}'", tracked, "yolo").decision == wanted
    found = subprocess.run(
        ["git", "grep", "TOP", "--", "..", spec], cwd=tracked.cwd / "src", capture_output=True, check=False
    )
    assert (found.stdout == b"") is (wanted == "allow")
