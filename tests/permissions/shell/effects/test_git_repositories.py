"""What git may do in a repository, by its words and by what lies in it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.git_config import GitFacts
from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.rules import proposed_rules
from agentcli.permissions.shell.effects.git_repositories import (
    git_placed,
    records_in_git,
    replaces_files,
    repository_problem,
)
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from tests.permissions.deciding import explain_command
from tests.tables import each_row

OUTSIDE = "the repository lies outside the workspace"
BISECT_RUN = "git bisect run starts a program beside git"
NO_HOOKS = "the repository has no folder for hooks, which the sandbox could close"
SIGNS = "git is set to run a program when it records (gpgsign)"
FILES = (
    ".git/HEAD", ".git/refs/heads/main", ".git/refs/tags/v1", ".git/refs/remotes/origin/main", "README.md", "AGENTS.md",
    "src/a.py", "sub/.git/config",
)  # fmt: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with branches, a tag and remotes, partly packed, and another one inside it."""
    folder = tmp_path / "top/work"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text\n")
    (folder / ".git/hooks").mkdir()
    (folder / "sub/.git/hooks").mkdir()
    (folder / ".git/config").write_text("[core]\n\tbare = false\n")
    (folder / ".git/packed-refs").write_text("0123 refs/heads/packed\n4567 refs/remotes/up/dev\n")
    (tmp_path / "home").mkdir()
    return folder


def workspace(work: Path, **more: object) -> Workspace:
    """The workspace of a repository whose config starts nothing."""
    home, cover = work.parents[1] / "home", UndoCover(100, 1_000)
    made = Workspace(work, (work,), home, undo=cover, git=lambda _: GitFacts())
    return replace(made, **more)  # type: ignore[arg-type]


def told(command: str, work: Path, **more: object) -> str:
    return records_in_git(shlex.split(command), [work], workspace(work, **more))


SETS = "sets an upstream in the repository's config"
MAY_SET = "may set an upstream in the repository's config"


@each_row(
    ("command", "why"),
    [
        ("git checkout -b x", ""),
        ("git checkout -b x main", ""),
        ("git checkout -b x origin/main", f"git checkout {SETS}"),
        ("git checkout -b x up/dev", f"git checkout {SETS}"),
        ("git checkout -b x main --track", f"git checkout {SETS}"),
        ("git checkout -b x origin/main --no-track", ""),
        ("git checkout -b origin/main", ""),
        ("git branch x", ""),
        ("git branch x main", ""),
        ("git branch x origin/main", f"git branch {SETS}"),
        ("git branch origin/main x", ""),
        ("git switch -c x", ""),
        ("git switch -c x origin/main", f"git switch {SETS}"),
        ("git switch --create x origin/main", f"git switch {SETS}"),
        ("git switch -c x v1", ""),
        ("git switch main", ""),
        ("git switch elsewhere", f"git switch {MAY_SET}"),
        ("git checkout main", ""),
        ("git checkout v1", ""),
        ("git checkout packed", ""),
        ("git checkout HEAD", ""),
        ("git checkout HEAD~1", ""),
        ("git checkout main@{1}", ""),
        ("git checkout elsewhere^", ""),
        ("git checkout abcd", ""),
        ("git checkout abc", f"git checkout {MAY_SET}"),
        (f"git checkout {'a' * 40}", ""),
        (f"git checkout {'a' * 41}", f"git checkout {MAY_SET}"),
        ("git checkout README.md", ""),
        ("git checkout elsewhere", f"git checkout {MAY_SET}"),
        ("git checkout --detach elsewhere", f"git checkout {MAY_SET}"),
        ("git tag x origin/main", ""),
        ("git commit -m elsewhere", ""),
        ("git merge origin/main", ""),
    ],
)
def test_a_branch_with_an_upstream_is_kept_in_the_config(command: str, why: str, work: Path) -> None:
    assert told(command, work) == why


def test_a_repository_without_remotes_sets_no_upstream(work: Path) -> None:
    inner = work / "src"
    assert records_in_git(("git", "checkout", "elsewhere"), [inner], workspace(work)) == f"git checkout {MAY_SET}"
    remotes = work / ".git/refs/remotes"
    (remotes / "origin/main").unlink()
    (remotes / "origin").rmdir()
    remotes.rmdir()
    assert told("git checkout elsewhere", work) == f"git checkout {MAY_SET}", "there are packed ones"
    assert told("git checkout -b x up/dev", work) == f"git checkout {SETS}"
    (work / ".git/packed-refs").write_text("0123 refs/heads/packed\n")
    assert told("git checkout elsewhere", work) == told("git checkout -b x up/dev", work) == ""
    (work / ".git/packed-refs").unlink()
    assert told("git checkout elsewhere", work) == ""


@each_row(
    ("command", "why", "without_undo"),
    [
        ("git", "git changes the repository", None),
        ("git gc", "git gc changes the repository", None),
        ("git push", "git push changes the repository", None),
        ("git add .", "", None),
        ("git add ../x", "git add leads outside the workspace", None),
        ("git add AGENTS.md", "", None),
        ("git mv README.md x", "", None),
        ("git mv README.md AGENTS.md", "git mv leads outside the workspace", None),
        ("git mv README.md ../x", "git mv leads outside the workspace", None),
        ("git rm README.md", "", None),
        ("git rm AGENTS.md", "git rm leads outside the workspace", None),
        ("git rm -r src", "", None),
        ("git rm -f README.md", "", None),
        ("git rm --cached .env", "", None),
        ("git rm --cached ../x", "git rm leads outside the workspace", None),
        ("git restore --staged AGENTS.md", "", ""),
        (
            "git restore -SW AGENTS.md",
            "git restore leads outside the workspace",
            "git restore -W changes the repository",
        ),
        ("git restore --staged README.md", "", ""),
        ("git restore README.md", "", "git restore changes the repository"),
        ("git restore AGENTS.md", "git restore leads outside the workspace", "git restore changes the repository"),
        ("git checkout -- README.md", "", ""),
        ("git checkout -- AGENTS.md", "git checkout leads outside the workspace", ""),
        ("git checkout --ours README.md", "", "git checkout --ours changes the repository"),
        ("git checkout main README.md", "git checkout changes the repository", None),
        ("git reset", "", None),
        ("git reset --soft HEAD~1", "", None),
        ("git reset -q README.md src", "", None),
        ("git reset HEAD~1", "", None),
        ("git reset -- ../x", "git reset leads outside the workspace", None),
        ("git reset --hard", "", "git reset --hard changes the repository"),
        ("git reset --merge", "git reset --merge changes the repository", None),
        ("git branch -d x y", "", None),
        ("git branch -D x", "git branch -D changes the repository", None),
        ("git branch --delete --force x", "git branch --delete changes the repository", None),
        ("git branch -df x", "git branch -d changes the repository", None),
        ("git branch -d main", "", None),
        ("git branch -Dr up/dev", "git branch -D changes the repository", None),
        ("git branch -f x HEAD~2", "", None),
        ("git branch -m x y", "git branch -m changes the repository", None),
        ("git branch -u up/dev", "git branch -u changes the repository", None),
        ("git branch --edit-description", "git branch --edit-description changes the repository", None),
        ("git checkout -B x", "", None),
        ("git switch -C x", "", None),
        ("git stash drop", "git stash changes the repository", None),
        ("git stash clear", "git stash changes the repository", None),
        ("git tag -d v1", "", None),
        ("git apply --cached", "", None),
        ("git add -p src", "", None),
        ("git add -pu", "", None),
        ("git reset -p", "", None),
        ("git add -p ../x", "git add leads outside the workspace", None),
        ("git checkout -p src", "git checkout -p changes the repository", None),
        ("git reflog expire --all", "git reflog changes the repository", None),
        ("git clean -fd", "git clean changes the repository", None),
        ("git config user.name x", "git config changes the repository", None),
        ("git remote set-url up x", "git remote changes the repository", None),
        ("git worktree remove x", "git worktree changes the repository", None),
        ("git init", "git init changes the repository", None),
        ("git init -q -b main src", "", None),
        ("git init --initial-branch=main new/er", "", None),
        ("git init sub", "git init changes the repository", None),
        ("git init ../x", "git init leads outside the workspace", None),
        ("git init .git/x", "git init leads outside the workspace", None),
        ("git init .claude", "git init leads outside the workspace", None),
        ("git init --bare x", "git init --bare changes the repository", None),
        ("git init --template=src x", "git init --template changes the repository", None),
        ("git init --shared x", "git init --shared changes the repository", None),
        ("git bisect start HEAD v1", "", None),
        ("git bisect start --term-old=x", "git bisect --term-old changes the repository", None),
        ("git bisect good", "", None),
        ("git bisect skip main", "", None),
        ("git bisect reset", "", None),
        ("git bisect replay log", "git bisect changes the repository", None),
        ("git bisect run make", BISECT_RUN, None),
    ],
)
def test_git_records_and_replaces_files_only_if_they_can_be_restored(
    command: str, why: str, without_undo: str | None, work: Path
) -> None:
    assert told(command, work) == why
    assert told(command, work, undo=None) == (why if without_undo is None else without_undo)


def test_git_shows_no_protected_file_to_pick_its_changes(work: Path) -> None:
    facts = GitFacts(secrets=(f"{work}/.env",))
    assert told("git add -p src", work, git=lambda _: facts) == f"git add may show {work}/.env, which is protected"
    assert told("git add src", work, git=lambda _: facts) == ""


@each_row(
    ("words", "replaced"),
    [
        ("git restore x", True),
        ("git restore", True),
        ("git checkout -- x", True),
        ("git checkout --ours x", True),
        ("git checkout --theirs x", True),
        ("git checkout x", False),
        ("git reset -- x", False),
        ("git reset --hard", True),
    ],
)
def test_git_replaces_files_by_its_words(words: str, replaced: bool) -> None:
    assert replaces_files(words.split()) is replaced


def changed(work: Path, change: Callable[[Path], object], subcommand: str = "commit", **more: object) -> str:
    change(work)
    return repository_problem(work, workspace(work, **more), subcommand)


def nothing(work: Path) -> None:
    """Leave everything as it is."""


def write(name: str, text: str = "") -> Callable[[Path], object]:
    def change(work: Path) -> None:
        file = work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return change


def linked(work: Path) -> None:
    (work / ".git").rename(work / "real")
    (work / ".git").symlink_to("real")


def moved_above(work: Path) -> None:
    (work / ".git").rename(work.parent / ".git")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (nothing, ""),
        (linked, OUTSIDE),
        (moved_above, OUTSIDE),
        (lambda work: (work / ".git").rename(work / "gone"), OUTSIDE),
        (lambda work: (work / ".git/config").unlink(), OUTSIDE),
        (lambda work: (work / ".git/hooks").rmdir(), NO_HOOKS),
        (write(".git/config", "[commit]\n\tgpgsign = true\n"), SIGNS),
        (write(".git/config", "[commit]\n\tgpgSign\n"), SIGNS),
        (write(".git/config", "[commit]\n\tgpgsign = false\n"), ""),
        (write(".git/config", "[commit]\n\tgpgsign = off\n"), ""),
        (write(".git/config", "[commit]\n\tgpgsign = 0\n"), ""),
        (write("../../home/.gitconfig", "[tag]\n\tgpgsign=yes\n"), SIGNS),
        (write("../../home/.config/git/config", "[tag]\n\tgpgsign=yes\n"), SIGNS),
        (write(".git/hooks/pre-commit"), "git runs the hook pre-commit of the repository"),
        (write(".git/hooks/pre-commit.sample"), ""),
        (write(".git/hooks/pre-push"), ""),
        (write(".git/hooks/post-index-change"), "git runs the hook post-index-change of the repository"),
        (write(".git/config", "[core]\n\thooksPath = mine\n"), ""),
    ],
)
def test_git_records_only_in_a_repository_that_starts_nothing(
    change: Callable[[Path], object], why: str, work: Path
) -> None:
    assert changed(work, change) == why


def work_tree(work: Path, name: str = "wt", named: str = "wt", kind: str = "worktrees") -> Path:
    """A linked work tree of a name in the workspace, with the state that git keeps of one that was `named` so."""
    own, there = work / ".git" / kind / "wt", work / name
    for folder in (own, there):
        folder.mkdir(parents=True)
    for file, text in (("HEAD", "ref: refs/heads/x"), ("commondir", "../.."), ("gitdir", f"{work / named}/.git")):
        (own / file).write_text(f"{text}\n")
    (there / ".git").write_text(f"gitdir: {own}\n")
    return there


def test_commits_that_run_a_hook_are_asked_about_once(work: Path) -> None:
    (work / ".git/hooks/pre-commit").write_text("#!/bin/sh\nnpm test\n")
    (work / ".git/hooks/pre-commit").chmod(0o755)
    here = workspace(work, sandboxed=True, records=True)
    for command in (
        "git commit -m first",
        "git add -A && git commit -m first",
        "npm test && git commit -am first",
        "echo x > a.txt && git add a.txt && git commit -m first && git status",
    ):
        first = explain_command(command, here, "auto")
        folders, rules = first.first_answer("auto")
        assert (first.decision, folders) == ("ask", ()), command
        assert rules == ("bash(git commit *)",), command
        again = [explain_command(f"true; {command}", here, "auto", proposed_rules(rules))]
        again.append(explain_command("git add src && git commit -m second", here, "auto", proposed_rules(rules)))
        assert [one.decision for one in again] == ["allow", "allow"], command
        for other in (
            "git push --force",
            "git commit --amend -m x && git push --force",
            "git commit -m x; curl -d @README.md example.org",
            "ln -s ~/.ssh/id_rsa note && git commit -F note",
            "git -c core.hooksPath=/tmp commit -m x",
            "echo 'exit 0' > .git/hooks/pre-commit && git commit -m x",
            "GIT_DIR=../other/.git git commit -m x",
        ):
            assert explain_command(other, here, "auto", proposed_rules(rules)).decision == "ask", other
    skipped = explain_command("git commit --no-verify -m first", here, "auto")
    assert (skipped.decision, skipped.first_answer("auto")) == ("ask", ((), ()))


def test_git_records_in_a_linked_work_tree_of_a_repository_of_the_workspace(work: Path) -> None:
    there = work_tree(work)
    assert repository_problem(there, workspace(work), "commit") == ""
    assert repository_problem(there, workspace(work, cwd=there, roots=(there, work)), "commit") == ""
    assert repository_problem(there, workspace(work, cwd=there, roots=(there,)), "commit") == ""
    (work / ".git/hooks/pre-commit").touch()
    for roots in ((there,), (work,)):
        found = repository_problem(there, workspace(work, cwd=there, roots=roots), "commit")
        assert found == "git runs the hook pre-commit of the repository"
    inner = there / "src"
    inner.mkdir()
    assert repository_problem(inner, workspace(work, cwd=inner, roots=(inner,)), "commit") == OUTSIDE
    around = work.parent / "around"
    around.mkdir()
    moved = there.rename(around / "wt")
    (work / ".git/worktrees/wt/gitdir").write_text(f"{moved}/.git\n")
    assert repository_problem(moved, workspace(work, cwd=around, roots=(around,)), "commit") == (
        f"the repository of this work tree lies outside the workspace: --add-dir {work} brings it in"
    )


def test_a_folder_that_its_repository_does_not_know_as_a_work_tree_is_none(work: Path) -> None:
    assert repository_problem(work_tree(work, "other"), workspace(work), "commit") == OUTSIDE
    (work / "fake").mkdir()
    (work / "fake/.git").write_text(f"gitdir: {work}/.git\n")
    assert repository_problem(work / "fake", workspace(work), "commit") == OUTSIDE
    inner = work_tree(work, "inner", kind="modules")
    assert (
        repository_problem(inner, workspace(work), "commit")
        == "inner is a submodule: its repository is not opened to git"
    )


@pytest.mark.parametrize(
    ("hook", "subcommand", "runs"),
    [
        ("pre-commit", "commit", True),
        ("pre-commit", "merge", True),
        ("pre-commit", "checkout", False),
        ("post-checkout", "checkout", True),
        ("post-checkout", "switch", True),
        ("post-checkout", "rebase", True),
        ("post-checkout", "commit", False),
        ("post-merge", "merge", True),
        ("post-rewrite", "commit", True),
        ("reference-transaction", "tag", True),
    ],
)
def test_a_hook_counts_for_the_commands_that_run_it(hook: str, subcommand: str, runs: bool, work: Path) -> None:
    why = f"git runs the hook {hook} of the repository" if runs else ""
    assert changed(work, write(f".git/hooks/{hook}"), subcommand) == why


def test_the_first_of_several_hooks_is_named(work: Path) -> None:
    write(".git/hooks/post-commit")(work)
    assert changed(work, write(".git/hooks/commit-msg")) == "git runs the hook commit-msg of the repository"


def test_only_a_command_that_signs_is_kept_from_signing(work: Path) -> None:
    for subcommand in ("commit", "merge", "rebase", "cherry-pick", "revert", "tag"):
        assert changed(work, write(".git/config", "[commit]\n\tgpgsign = true\n"), subcommand) == SIGNS
    assert changed(work, nothing, "checkout") == ""


def test_hooks_lie_where_the_strongest_setting_says(work: Path) -> None:
    write("mine/pre-commit")(work)
    write(".git/hooks/commit-msg")(work)
    assert changed(work, nothing) == "git runs the hook commit-msg of the repository"
    theirs = "[core]\n\thookspath = none\n"
    assert changed(work, write("../../home/.gitconfig", theirs)) == ""
    mine = '[core]\n\thooksPath = "mine"\n'
    assert changed(work, write(".git/config", mine)) == "git runs the hook pre-commit of the repository"
    assert changed(work, write(".git/config", mine + theirs)) == "", "the last of a file"


def test_what_a_repository_s_config_would_start_is_told(work: Path) -> None:
    facts = GitFacts("git starts x")
    assert repository_problem(work, workspace(work, git=lambda _: facts), "commit") == "git starts x"


def test_only_the_repositories_of_the_current_folder_and_of_the_workspace_count(work: Path) -> None:
    sub = work / "sub"
    other = "the repository is not the one around the current folder"
    assert repository_problem(sub, workspace(work), "commit") == other
    assert repository_problem(sub, replace(workspace(work), cwd=sub), "commit") == ""
    assert repository_problem(work, replace(workspace(work), cwd=work / "src"), "commit") == ""
    assert repository_problem(work / "src", workspace(work), "commit") == ""
    assert repository_problem(work, replace(workspace(work), cwd=sub), "commit") == ""
    assert repository_problem(work, replace(workspace(work), cwd=sub, roots=(sub,)), "commit") != ""
    assert records_in_git(("git", "commit", "-m", "x"), [work, sub], workspace(work)) == other


@each_row(
    ("words", "rest", "folder"),
    [
        ("git", "git", "."),
        ("git status -s", "git status -s", "."),
        ("git -C a status", "git status", "a"),
        ("git -C a -C b status", "git status", "a/b"),
        ("git --no-pager -P --no-optional-locks --literal-pathspecs log", "git log", "."),
        ("git -c user.name=x -c color.ui=always commit", "git commit", "."),
        ("git -c core.pager=cat log", "git log", "."),
        ("git --version", "git --version", "."),
        ("git --no-pager --help x", "git --help x", "."),
        ("git -C", None, ""),
        (f"git -C {UNKNOWN} status", None, ""),
        ("git -c", None, ""),
        ("git -c core.editor=x commit", None, ""),
        ("git -c user.name=$x commit", None, ""),
        ("git --git-dir=x status", None, ""),
        ("git -p log", None, ""),
    ],
)
def test_options_before_the_subcommand_say_where_git_runs(words: str, rest: str | None, folder: str) -> None:
    found = git_placed(words.split(), [Path("/w"), Path("/v")])
    expected = rest and (tuple(rest.split()), [Path("/w") / folder, Path("/v") / folder])
    assert found == expected


def test_a_repository_is_not_begun_where_git_would_copy_the_users_own_template(work: Path) -> None:
    for text in ("[init]\n\ttemplateDir = ~/template\n", "[init] templateDir = ~/template\n"):
        (work.parents[1] / "home/.gitconfig").write_text(text)
        assert told("git init src", work) == "git init copies your own template, which the sandbox hides"
    (work.parents[1] / "home/.gitconfig").write_text("[init]\n\tdefaultBranch = trunk\n")
    assert told("git init src", work, env={}) == ""
    assert told("git init src", work, env={"GIT_TEMPLATE_DIR": "/x"}) != ""
