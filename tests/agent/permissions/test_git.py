import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.agent.permissions import Place, Rules, explain, git_facts
from agentcli.agent.permissions.git import config_keys, gitlinks
from agentcli.core.hardened import GIT_CONFIG, GIT_HARDENED_ENV, git_settings
from agentcli.core.message import ToolCall

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


@pytest.mark.parametrize("config", DANGEROUS)
def test_a_key_that_may_start_a_program_makes_git_ask(tmp_path: Path, config: str) -> None:
    place = Place(repository(tmp_path, config))
    for command in ("git status", "git log -p", "git diff", "git show", "git blame x"):
        assert explain(ToolCall("c", "bash", {"command": command}), Rules(), "ask", place).decision == "ask"


@pytest.mark.parametrize("config", HARMLESS)
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
@settings(max_examples=300, deadline=None)
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
    place = Place(tmp_path)
    for command in ("cd vendor && git status", "git -C vendor status", "cd vendor; git log", "cd vendor\ngit log"):
        assert explain(ToolCall("c", "bash", {"command": command}), Rules(), "ask", place).decision == "ask", command
    assert explain(ToolCall("c", "bash", {"command": "git log"}), Rules(), "ask", place).decision == "allow"


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
