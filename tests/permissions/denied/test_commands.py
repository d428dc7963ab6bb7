"""Commands and tools beside files that deny rules keep from being read."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import MODES, Mode
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from tests.permissions.deciding import explain, explain_command
from tests.permissions.denied.readings import git
from tests.tables import each_row

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
    tracks(workspace)
    return workspace


def tracks(workspace: Workspace) -> None:
    """Put all files of a workspace into a repository."""
    for words in ("init -q -b main", "add -A", "-c user.name=a -c user.email=a@b.c commit -qm first"):
        git(words, workspace.cwd)


def bash(command: str, workspace: Workspace, mode: Mode = "ask", deny: tuple[str, ...] = DENY) -> Decision:
    rules = parse_rules(["bash(*)"] if mode == "ask" else [], (), deny)
    return explain_command(command, workspace, mode, rules)


def bare(workspace: Workspace) -> Workspace:
    """The same where no sandbox works."""
    return replace(workspace, sandboxed=False, masks=False)


@each_row(
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


@each_row("command", ["pytest", "grep -r TOP .", "rg TOP", "cat $f", "tar cf - .", "cp -r . /tmp/x", "ls -R"])
def test_what_no_word_names_is_hidden_from_a_command(command: str, workspace: Workspace) -> None:
    assert bash(command, workspace).hidden.folders == (workspace.cwd / "secrets",)


@each_row(
    "command",
    ["pytest", "git status", "ls", "ls -la", "git diff", "git log -p", "git add -A", "cat src/a.py", "npm test"],
)
def test_ordinary_commands_are_decided_about_as_without_the_rule(command: str, workspace: Workspace) -> None:
    for mode in MODES:
        with_rule, without = bash(command, workspace, mode), bash(command, workspace, mode, ())
        assert (with_rule.decision, with_rule.why) == (without.decision, without.why)


@each_row(
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
    ("command", "runs"),
    [
        ("git diff", "git diff -- {}"),
        ("git diff HEAD~1", "git diff HEAD~1 -- {}"),
        ("git diff -- .", "git diff -- . {}"),
        ("git diff HEAD .", "git diff HEAD -- . {}"),
        ("git show HEAD", "git show HEAD -- {}"),
        ("git show | head -n 5", "git show -- {} | head -n 5"),
        ("git --no-pager show", "git --no-pager show -- {}"),
        ("git -C . show", "git -C . show -- {}"),
        ("env git show", "env git show -- {}"),
        ("cd src && git log -p -3 && git show", "cd src && git log -p -3 -- {} && git show -- {}"),
        ("git log -p -- '*.txt'", "git log -p -- '*.txt' {}"),
        ("git grep TOP", "git grep TOP -- {}"),
        ("git diff HEAD -- src/*.py *.txt", "git diff HEAD -- src/*.py *.txt {}"),
        ("git diff HEAD~1 > x.diff", "git diff HEAD~1 -- {} > x.diff"),
        ("git show 'HEAD^{/fi:*}'", "git show 'HEAD^{/fi:*}' -- {}"),
        ("git show HEAD:src/a.py ':/first'", "git show HEAD:src/a.py ':/first' -- {}"),
    ],
)
def test_denied_files_are_left_out_of_what_git_shows(command: str, runs: str, tracked: Workspace) -> None:
    (tracked.cwd / "b.txt").write_text("b")
    for mode in ("yolo", "ask"):
        decision = bash(command, tracked, mode)  # type: ignore[arg-type]
        assert decision.decision != "deny"
        assert decision.instead == runs.replace("{}", "':(exclude,top)secrets/key.txt'")
        assert decision.left_out == ("secrets/key.txt (read(secrets/**))",)


def test_a_search_for_all_that_git_shows_runs_unasked_in_every_mode(tracked: Workspace) -> None:
    for mode in MODES:
        for command in ("git diff", "git show HEAD", "git log -p", "cd src && git grep TOP"):
            assert bash(command, tracked, mode).decision == "allow"


def test_many_denied_files_are_left_out_by_their_rule(workspace: Workspace) -> None:
    for number in range(20):
        (workspace.cwd / f"secrets/{number}").touch()
    tracks(workspace)
    decision = bash("git show", workspace, "yolo")
    assert decision.instead == "git show -- ':(exclude,top,glob,icase)secrets/**'"
    assert decision.left_out == ("read(secrets/**)",)


@each_row(
    ("command", "next_step"),
    [
        ("git show HEAD:secrets/key.txt", ""),
        ("git stash show -p", "`git diff 'stash@{0}^' 'stash@{0}'`"),
        ("git log --follow -p src/a.py", "Omit --follow: `git log -p -- FILE`"),
        ("git log -L1,2:src/a.py", "Omit -L: `git log -p -- FILE`"),
        ("bash -c 'git diff'", "Run git by itself"),
        ("echo HEAD | xargs git show", "Run git by itself"),
        ("git mv . ../x", "Name what to move"),
        ("git archive HEAD", "Use git diff, git show or git log -p"),
        ("git worktree add ../x", "work in this folder without it"),
        ("git clone . ../x", "work in this folder without it"),
        ("git -c alias.p=show p", "Use git diff"),
        ("git fast-export --all", "Use git diff"),
        ("git cat-file --batch", "Use git diff"),
        ("git --git-dir .git status", "Use git diff"),
        ("git -p log --oneline", "Use git diff"),
        ("git -c pager.log=x log", "Use git diff"),
        ("git add -p", "Use git diff"),
        ("git checkout -p", "Use git diff"),
    ],
)
def test_what_git_may_show_without_a_way_to_leave_it_out_is_denied_with_the_next_step(
    command: str, next_step: str, tracked: Workspace
) -> None:
    for mode in MODES:
        decision = bash(command, tracked, mode)
        assert (decision.decision, decision.rule) == ("deny", "deny read(secrets/**)")
        assert next_step in decision.why
        assert "git diff -- . ':(exclude)" not in decision.why


@each_row(
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


@each_row(
    ("command", "hidden"),
    [
        ("git stash", []),
        ("git add -A && git commit -q -m all", []),
        ("echo y >> src/a.py && git stash && git stash pop", []),
        ("touch secrets/new && git add -A", []),
        ("grep -r TOP . | git commit --allow-empty -F -", ["secrets"]),
        ("cat < src/a.py && git add -A", ["secrets"]),
        ("make && git stash", ["secrets"]),
    ],
)
def test_git_that_records_tracked_files_sees_them_if_nothing_beside_it_reads(
    command: str, hidden: list[str], tracked: Workspace
) -> None:
    found = bash(command, tracked, "yolo").hidden
    assert [path.name for path in (*found.files, *found.folders)] == hidden
    assert bool(found.objects) == bool(hidden)


def test_git_that_records_sees_no_denied_file_that_it_does_not_track(tracked: Workspace) -> None:
    (tracked.cwd / "secrets/other.txt").write_text("OTHER\n")
    found = bash("echo y >> src/a.py && git add -A", tracked, "yolo").hidden
    assert ([path.name for path in found.folders], found.objects) == (["secrets"], ())


@each_row("command", ["grep -r TOP .", "rg TOP", "cp -r . x", "diff -r . src"])
def test_without_a_sandbox_what_goes_over_a_denied_file_is_denied(command: str, workspace: Workspace) -> None:
    for mode in MODES:
        decision = bash(command, bare(workspace), mode)
        assert decision.decision == "deny"
        assert "secrets" in decision.why or decision.rule == "mode plan"


@each_row("command", ["pytest", "cat $f", "tar cf - .", "python3 -c 'print(1)'", "make"])
def test_without_a_sandbox_what_may_read_a_denied_file_asks_and_says_why(command: str, workspace: Workspace) -> None:
    for mode in ("ask", "auto-edit", "auto", "yolo"):
        decision = bash(command, bare(workspace), mode)
        assert decision.decision == "ask"
        assert "secrets" in decision.why
        assert not decision.always


@each_row("command", ["ls", "git status", "cat src/a.py", "find . -name '*.py'", "rg a src", "git diff -- src"])
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


@each_row(
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


@each_row("value", [*NAMING, ["a", "secrets"], {"uri": "file:{}/secrets/key.txt"}])
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


@each_row("spec", [*LEAVING_OUT, *NOT_LEAVING_OUT])
def test_git_shows_nothing_denied_with_the_pathspecs_that_it_is_given(spec: str, tracked: Workspace) -> None:
    command = f"git grep TOP -- . '{spec}'"
    decision = bash(command, tracked, "yolo")
    assert decision.decision == "allow"
    assert bool(decision.instead) is (spec in NOT_LEAVING_OUT)
    assert printed(decision.instead or command, tracked) == ""


@each_row("spec", [":!secrets", ":(exclude)secrets", ":!/secrets", ":(top,exclude)secrets"])
def test_a_pathspec_is_relative_to_its_folder_or_to_the_top(spec: str, tracked: Workspace) -> None:
    command = f"cd src && git grep TOP -- .. '{spec}'"
    decision = bash(command, tracked, "yolo")
    assert bool(decision.instead) is ("/" not in spec and "top" not in spec)
    assert printed(decision.instead or command, tracked) == ""


def printed(command: str, workspace: Workspace) -> str:
    return subprocess.run(
        ["bash", "-c", command], cwd=workspace.cwd, capture_output=True, text=True, check=False
    ).stdout
