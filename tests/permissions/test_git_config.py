import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.permissions.git_config import (
    config_keys,
    git_facts,
    gitlinks,
    linked_repository,
    linked_work_trees,
    tracked_secrets,
)
from agentcli.permissions.paths import Workspace
from agentcli.system.programs import GIT_CONFIG, GIT_HARDENED_ENV, git_settings
from tests.permissions.deciding import explain_command
from tests.tables import each_row

DANGEROUS = [
    "[core]\n\tfsmonitor = ./evil",
    "[core]\n\tfsmonitor",
    "[CORE]\n\tFsMonitor=./evil",
    "[core] fsmonitor = ./evil",
    "[core]\n\tpager = ./evil",
    "[core]\n\teditor = ./evil",
    "[core]\n\tsshCommand = ./evil",
    "[core]\n\tgitProxy = ./evil",
    "[core]\n\taskPass = ./evil",
    "[core]\n\thooksPath = hooks",
    "[core]\n\tattributesFile = x",
    "[core]\n\tworktree = /",
    "[core]\n\talternateRefsCommand = ./evil",
    "[diff]\n\texternal = ./evil",
    '[diff "x"]\n\ttextconv = ./evil',
    '[diff "x"]\n\tcommand = ./evil',
    '[filter "x"]\n\tclean = ./evil',
    '[filter "x"]\n\tprocess = ./evil',
    '[filter "x"]\n\tsmudge = ./evil',
    '[merge "x"]\n\tdriver = ./evil',
    "[gpg]\n\tprogram = ./evil",
    '[gpg "ssh"]\n\tprogram = ./evil',
    "[log]\n\tshowSignature = true",
    "[pretty]\n\tx = %G?",
    "[format]\n\tpretty = %G?",
    "[alias]\n\tst = !evil",
    "[include]\n\tpath = ../x",
    '[includeIf "gitdir:/"]\n\tpath = x',
    "[credential]\n\thelper = ./evil",
    "[pager]\n\tlog = ./evil",
    "[interactive]\n\tdiffFilter = ./evil",
    "[sequence]\n\teditor = ./evil",
    '[trailer "x"]\n\tcommand = ./evil',
    '[remote "origin"]\n\tuploadpack = ./evil',
    '[remote "origin"]\n\tpromisor = true',
    "[uploadpack]\n\tpackObjectsHook = ./evil",
    "[web]\n\tbrowser = x",
    '[browser "x"]\n\tcmd = ./evil',
    "[status]\n\tsubmoduleSummary = true",
    "[diff]\n\tsubmodule = diff",
    "[unknown]\n\tkey = 1",
    '[remote "a\\"]b"]\n\tvcs = x',
    "[user]\n\tname = a\\\n[core]\n\tfsmonitor = x\n",
    "[core]\n\tbare = false ; \\\n\tfsmonitor = ./evil",
    "[core]\n\tbare = false # \\\n\tfsmonitor = ./evil",
    '[core]\n\teol = "a\\\\"\n\tfsmonitor = ./evil',
    "[core]\n\teol = a\\\\\n\tfsmonitor = ./evil",
    "[core]\n# \x0b[color]\n\tfsmonitor = ./evil",
    "[core]\n# \x85[color]\n\tfsmonitor = ./evil",
    "[core]\n# \u2028[color]\n\tfsmonitor = ./evil",
    "[core]\n# \r[color]\n\tfsmonitor = ./evil",
    "[core]\n\tsplitIndex = true",
    "[extensions]\n\tobjectFormat = sha256",
    "key = 1",
    "[core\n\tfsmonitor = x",
    "\ufeff[core]\n\tfsmonitor = ./evil",
]
HARMLESS = [
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true",
    '[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*',
    '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n\trebase = true',
    "[user]\n\tname = A\n\temail = a@example.org",
    "[pull]\n\trebase = false\n[push]\n\tdefault = current",
    '# comment\n; another\n[submodule "x"]\n\turl = y\n\tactive = true',
    "[color]\n\tui = auto ; why not",
    "",
]


def repository(folder: Path, config: str = "") -> Path:
    (folder / ".git/objects").mkdir(parents=True)
    (folder / ".git/refs").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/config").write_bytes(config.encode())
    return folder


@each_row("config", DANGEROUS)
def test_a_key_that_may_start_a_program_makes_git_ask(tmp_path: Path, config: str) -> None:
    workspace = Workspace(repository(tmp_path, config))
    for command in ("git status", "git log -p", "git diff", "git show", "git blame x"):
        assert explain_command(command, workspace, "ask").decision == "ask"


@each_row("config", HARMLESS)
def test_an_ordinary_config_lets_git_read(tmp_path: Path, config: str) -> None:
    assert git_facts(repository(tmp_path, config)).danger == ""


LINES = st.lists(
    st.sampled_from(
        [
            "[core]",
            "[color]",
            "[core] eol = a",
            "[a.b]",
            '[a "b\\"]"]',
            '[remote "x"] url = y',
            "#",
            "; \\",
            "",
            "\tfsmonitor = x",
            "bare",
            "eol = a",
            "eol = a \\",
            "eol = a\\\\",
            'eol = "a # \\"" ; \\',
            'eol = "a',
            "ui = 1 # [core] \\",
            "]",
            "\\",
            "  \\",
            "# \r[color]",
            "# \x0b[color]",
            "# \x85[color]",
            "# \u2028[color]",
            "eol = \\\r",
            "eol = a \x0c",
            "\x0bbare = 1",
            "\ufeff",
        ]
    ),
    max_size=6,
)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@given(LINES, st.sampled_from(["\n", "\r\n", "\n\n"]))
@settings(max_examples=300)
def test_no_key_that_git_reads_is_overlooked(lines: list[str], newline: str) -> None:
    text = newline.join(lines)
    command = ["git", "config", "--file", "-", "--list", "--name-only", "-z"]
    read = subprocess.run(command, input=text.encode(), capture_output=True, check=False, timeout=60)
    keys = config_keys(text)
    unread = any(key.startswith("unreadable") for key in keys)
    assert unread or set(read.stdout.decode().lower().split("\0")) - {""} <= set(keys)


def test_the_config_of_a_folder_that_is_entered_counts(tmp_path: Path) -> None:
    repository(tmp_path)
    repository(tmp_path / "vendor", "[core]\n\tfsmonitor = ./evil")
    workspace = Workspace(tmp_path)
    for command in ("cd vendor && git status", "git -C vendor status", "cd vendor; git log", "cd vendor\ngit log"):
        assert explain_command(command, workspace, "ask").decision == "ask", command
    assert explain_command("git log", workspace, "ask").decision == "allow"


def test_a_bare_repository_in_the_way_asks(tmp_path: Path) -> None:
    shutil.move(repository(tmp_path / "x") / ".git", tmp_path / "bare")
    assert "bare" in git_facts(tmp_path / "bare").danger
    (tmp_path / "bare/.git").mkdir()
    assert "bare" in git_facts(tmp_path / "bare").danger
    (tmp_path / "bare/sub").mkdir()
    assert "bare" in git_facts(tmp_path / "bare/sub").danger


def test_worktrees_and_submodules_are_looked_into(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    (main / ".git/worktrees/w").mkdir(parents=True)
    (main / ".git/worktrees/w/commondir").write_text("../..\n")
    (main / ".git/worktrees/w/HEAD").write_text("ref: refs/heads/w\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/w\n")
    assert git_facts(tree).danger == ""
    (main / ".git/modules/deep/er").mkdir(parents=True)
    (main / ".git/modules/deep/er/config").write_text("[core]\n\tworktree = ../../../x\n")
    assert git_facts(tree).danger == ""
    (main / ".git/modules/deep/er/config").write_text("[core]\n\tfsmonitor = x\n")
    assert "fsmonitor" in git_facts(tree).danger
    assert "fsmonitor" in git_facts(main).danger


def test_a_work_tree_is_linked_only_if_both_sides_name_each_other(tmp_path: Path) -> None:
    main, other, tree = repository(tmp_path / "main"), repository(tmp_path / "other"), tmp_path / "tree"
    state = main / ".git/worktrees/tree"
    state.mkdir(parents=True)
    (state / "commondir").write_text("../..\n")
    (state / "gitdir").write_text(f"{tree}/.git\n")
    tree.mkdir()
    assert linked_work_trees(main) == {}, "it does not name the repository"
    (tree / ".git").write_text(f"gitdir: {state}\n")
    assert linked_work_trees(main) == linked_work_trees(tree) == {state: tree}
    assert linked_repository(tree) == main / ".git"
    assert linked_work_trees(other) == {}
    (state / "gitdir").write_text("../../../../tree/.git\n")
    assert linked_work_trees(main) == {state: tree}, "names are relative with a setting of git"
    for named in (f"{tmp_path}/gone/.git", f"{main}/.git", ""):
        (state / "gitdir").write_text(named)
        assert linked_work_trees(main) == {}, named
        assert linked_repository(tree) is None, named
    (state / "gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").rename(tree / "kept")
    (tree / ".git").symlink_to("kept")
    assert linked_work_trees(main) == {}
    assert linked_repository(tmp_path / "gone") is None
    assert linked_repository(main) is None


def test_a_split_index_asks_for_it_may_hide_submodules(tmp_path: Path) -> None:
    git_folder = repository(tmp_path) / ".git"
    (git_folder / "index").write_bytes(b"DIRC")
    assert git_facts(tmp_path).danger == ""
    (git_folder / "sharedindex.abc").write_bytes(b"DIRC")
    assert "split" in git_facts(tmp_path).danger


def test_a_hook_that_reading_sets_off_asks(tmp_path: Path) -> None:
    hooks = repository(tmp_path) / ".git/hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("x")
    assert git_facts(tmp_path).danger == ""
    (hooks / "post-index-change").write_text("x")
    assert "post-index-change" in git_facts(tmp_path).danger


def test_a_git_file_that_leads_nowhere_asks(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense")
    assert git_facts(tmp_path).danger


def git(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env={**clean, **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_a_repository_hidden_behind_a_gitlink_is_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "a").write_text("x")
    git(inner, "add", "a")
    git(inner, "commit", "-qm", "x")
    git(tmp_path, "add", "inner")
    assert gitlinks(tmp_path / ".git/index") == ["inner"]
    assert git_facts(tmp_path).danger == ""
    git(inner, "config", "core.fsmonitor", "./evil")
    assert "fsmonitor" in git_facts(tmp_path).danger


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_hardened_environment_starts_nothing_that_a_repository_names(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("x\n")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-qm", "x")
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    evil.chmod(0o755)
    hooks = tmp_path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    shutil.copy(evil, hooks / "post-index-change")
    for key in ("core.fsmonitor", "core.pager", "pager.log", "core.editor"):
        git(tmp_path, "config", key, str(evil))
    (tmp_path / "a").write_text("y\n")
    reading = [
        ["status"],
        ["diff"],
        ["log", "-p"],
        ["show"],
        ["blame", "a"],
        ["branch"],
        ["stash", "list"],
        ["ls-files"],
    ]
    assert "+y" in git(tmp_path, "diff", env=GIT_HARDENED_ENV)
    for arguments in reading:
        git(tmp_path, *arguments, env=GIT_HARDENED_ENV)
        assert not (tmp_path / "pwned").exists(), arguments
    git(tmp_path, "status")
    assert (tmp_path / "pwned").exists(), "without the hardened environment the attack works, so this test can fail"


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_our_reading_of_a_config_misses_no_key_that_git_sees(tmp_path: Path) -> None:
    for number, text in enumerate(DANGEROUS + HARMLESS):
        file = tmp_path / f"config{number}"
        file.write_bytes(text.encode())
        listed = git(tmp_path, "config", "--file", str(file), "--no-includes", "--list", "--name-only")
        if "fatal" in listed or "error" in listed:
            continue
        ours = set(config_keys(text))
        seen = {key.lower() for key in listed.splitlines() if "." in key}
        assert seen <= ours or any(key.startswith("unreadable") for key in ours), text


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("chosen_by", ["repository", "user"])
def test_a_submodule_of_the_history_alone_starts_no_program_of_its_own(tmp_path: Path, chosen_by: str) -> None:
    work, inner = tmp_path / "work", tmp_path / "work/sub"
    inner.mkdir(parents=True)
    driver = tmp_path / "driver"
    driver.write_text(f"#!/bin/sh\n: > {tmp_path}/pwned\n")
    driver.chmod(0o755)
    for folder in (work, inner):
        git(folder, "init", "-q")
    for text in ("one", "two"):
        (inner / "a").write_text(text)
        git(inner, "add", "a")
        git(inner, "commit", "-qm", text)
        git(work, "add", "sub")
        git(work, "commit", "-qm", text)
    git(work, "rm", "-q", "--cached", "sub")
    git(work, "commit", "-qm", "gone")
    git(inner, "config", "diff.external", str(driver))
    home = {"HOME": str(tmp_path)}
    if chosen_by == "repository":
        git(work, "config", "diff.submodule", "diff")
        assert "diff.submodule" in git_facts(work).danger
    else:
        (tmp_path / ".gitconfig").write_text("[diff]\n\tsubmodule = diff\n")
        assert git_facts(work).danger == ""
    reading = [["log", "-p"], ["show", "HEAD~1"], ["diff", "HEAD~2", "HEAD~1"]]
    for environment in (GIT_HARDENED_ENV, git_settings(GIT_CONFIG)):
        for arguments in reading:
            assert "sub" in git(work, *arguments, env={**environment, **home})
            assert not (tmp_path / "pwned").exists(), arguments
    git(work, "show", "HEAD~1", env=home)
    assert (tmp_path / "pwned").exists(), "without our settings the attack works, so this test can fail"


SHOWING = """
git grep SECRET
git grep SECRET HEAD
git grep --cached SECRET
git grep -l SECRET -- '*e*'
git log -p
git log -p -- conf
git log --stat -p
git log -U3
git log -c
git log -S SECRET -p
git log -G SECRET --oneline
git log --author --stat -p
git show
git show HEAD
git show HEAD --format=%H
git show --author --stat
git show HEAD -- . ':!README.md'
git diff
git diff HEAD -- .
git diff --cached
git diff HEAD~1 HEAD
git diff HEAD -- '*.local' 'conf/*'
git diff HEAD -- conf
git stash show -p
git stash list -p
git diff-tree -p HEAD
git diff-index -p HEAD
git whatchanged -p
git reflog -p
git range-diff HEAD~1 HEAD HEAD
git status -v
git cat-file -p BLOB
git cat-file blob BLOB
git blame conf/.env
git show HEAD:conf/.env
""".strip().split("\n")
SILENT = """
git status
git log --oneline -5
git log --stat
git log --name-only
git show --stat HEAD
git show --name-only
git show HEAD:README.md
git diff --stat
git diff --name-only HEAD
git diff README.md
git diff HEAD -- README.md src
git diff HEAD -- '*.py'
git log -p -- src
git log -p README.md
git show HEAD -- src/a.py
git grep SECRET -- src
git grep SECRET src
cd src && git grep SECRET
git blame README.md
git cat-file -t BLOB
git cat-file -p HEAD:README.md
git ls-files
git ls-tree -r HEAD
git branch -vv
""".strip().split("\n")


def tracking(top: Path, version: int = 2) -> str:
    """A repository that tracks a secret; the secret's blob."""
    git(top, "init", "-q")
    git(top, "config", "index.version", str(version))
    for name in ("README.md", "src/a.py", "conf/.editorconfig", "conf/.env", "conf/.envoy", ".env.example", "x.env"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("SECRET=hunter2\n" if name == "conf/.env" else f"{name}\n")
    git(top, "add", "-f", ".")
    git(top, "commit", "-qm", "one")
    (top / "conf/.env").write_text("SECRET=hunter3\n")
    git(top, "commit", "-qam", "two")
    (top / "conf/.env").write_text("SECRET=hunter4\n")
    return git(top, "rev-parse", "HEAD:conf/.env").strip()


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("version", [2, 4])
def test_git_shows_no_tracked_secret_unasked(tmp_path: Path, version: int) -> None:
    blob = tracking(tmp_path, version)
    assert set(tracked_secrets(tmp_path / ".git/index")) == {"conf/.env", "conf/.envoy", ".env.example", "x.env"}
    workspace = Workspace(tmp_path)
    for wanted, lines in (("ask", SHOWING), ("allow", SILENT)):
        for line in lines:
            command = line.replace("BLOB", blob)
            said = explain_command(command, workspace, "auto-edit")
            assert said.decision == wanted, (command, said.why)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_what_runs_unasked_where_a_secret_is_tracked_prints_nothing_of_it(tmp_path: Path) -> None:
    blob = tracking(tmp_path)
    for line in SILENT:
        script = ["bash", "-c", line.replace("BLOB", blob)]
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **GIT_HARDENED_ENV}
        done = subprocess.run(script, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert "hunter" not in done.stdout + done.stderr, line


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_an_example_is_no_secret(tmp_path: Path) -> None:
    tracking(tmp_path)
    git(tmp_path, "rm", "-rqf", "--cached", "conf", "x.env")
    for command in ("git diff", "git log -p", "git grep SECRET"):
        assert explain_command(command, Workspace(tmp_path), "ask").decision == "allow"


@each_row(
    ("files", "complete"),
    [
        (("HEAD", "objects/x"), True),
        (("HEAD", "commondir"), True),
        (("HEAD",), False),
        (("objects/x",), False),
        (("commondir",), False),
        (("HEAD", "objects"), False),
    ],
)
def test_git_goes_on_to_the_folder_above_from_what_is_no_repository(
    files: tuple[str, ...], complete: bool, tmp_path: Path
) -> None:
    for name, text in (("HEAD", "x"), ("objects/x", ""), ("config", "[core]\n\tfsmonitor = ./evil\n")):
        (tmp_path / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".git" / name).write_text(text)
    for name in files:
        (tmp_path / "in/.git" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in/.git" / name).write_text("." if name == "commondir" else "")
    assert bool(git_facts(tmp_path / "in").danger) is not complete
