"""Files that deny rules name: which exist, and what lies below a folder that is named."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcli.permissions.denied.files import (
    Hidden,
    denial_of,
    existing,
    naming_nothing,
    paths_given,
    paths_named,
    reading_denials,
    remaining,
)
from agentcli.permissions.denied.history import Held, held_around
from agentcli.permissions.paths import Workspace, entries_of
from agentcli.permissions.rules import parse_rules
from agentcli.tools.registry import TRAITS
from tests.counted import counted
from tests.tables import each_row


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    work = tmp_path / "top"
    for name in ("secrets/key.txt", "secrets/deep/a.txt", "src/a.pem", "src/app.py", "a/private/x", "config/a/b.yml"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    return Workspace(work, (work,), tmp_path)


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("read(app/[slug]/*)", ["app/[slug]/a", "app/s/a"]),
        (r"read(app/\[slug\]/*)", ["app/[slug]/a"]),
        ("read({app/s,config/a}/*)", ["app/s/a", "config/a/b.yml"]),
        ("read(.env.*)", [".env.local"]),
        ("read(.env.example)", [".env.example"]),
    ],
)
def test_names_with_brackets_are_found_and_templates_only_by_name(
    rule: str, files: list[str], workspace: Workspace
) -> None:
    for name in ("app/[slug]/a", "app/s/a", ".env.local", ".env.example"):
        (workspace.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.cwd / name).touch()
    assert sorted(str(file.relative_to(workspace.cwd)) for file in found(workspace, rule).files) == files


def test_rules_about_paths_that_do_not_exist_are_known(workspace: Workspace) -> None:
    (workspace.cwd / "app/[slug]").mkdir(parents=True)
    there = [
        "read(./secrets/**)",
        "read(app/[slug]/**)",
        r"read(app/\[slug\]/x.*)",
        "read(*.pem)",
        "read(~/top/src/*)",
        "read(**/x)",
    ]
    gone = ["read(./vault/**)", "read(~/nowhere/**)", "read(/no/such/file)"]
    rules = parse_rules(deny=[*there, *gone]).deny
    assert [str(rule) for rule in naming_nothing(rules, workspace)] == gone


def found(workspace: Workspace, *rules: str) -> Hidden:
    return existing(reading_denials(parse_rules(deny=rules).deny, TRAITS), workspace)


def names(workspace: Workspace, hidden: Hidden) -> tuple[set[str], set[str]]:
    files, folders = (
        {str(path.relative_to(workspace.cwd)) for path in paths} for paths in (hidden.files, hidden.folders)
    )
    return files, folders


@each_row(
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


def test_an_unchanged_folder_is_not_read_again_and_each_change_is_seen(workspace: Workspace) -> None:
    def looked(*rules: str) -> tuple[set[str], int]:
        time.sleep(0.03)  # a change just before might have the same time
        with counted(entries_of) as calls:
            hidden = found(workspace, *rules)
        return {os.path.relpath(path, workspace.cwd) for path in hidden.paths}, calls[entries_of]

    work = workspace.cwd
    (work / "link").symlink_to("src")
    asked = ("read(*.pem)", "read(private)", *(f"read(**/none{n}/*.[ab]?)" for n in range(5)))
    first, _ = looked(*asked)
    assert first == {"src/a.pem", "a/private"}
    assert looked(*asked) == (first, 0)
    (work / "link").unlink()  # without links, nothing but the folders' times is looked at
    assert looked(*asked)[0] == looked(*asked)[0] == first
    (work / "link").symlink_to("src")
    assert looked(*asked)[0] == first
    (work / "secrets/deep/new.pem").touch()
    now, entries = looked(*asked)
    assert (now - first, entries) == ({"secrets/deep/new.pem"}, 3)  # of this folder only
    (work / "src/a.pem").rename(work / "src/b.txt")
    (work / "src/private").mkdir()
    now, _ = looked(*asked)
    assert now == {"secrets/deep/new.pem", "a/private", "src/private"}
    outside = work.parent / "outside"
    outside.mkdir()
    (outside / "c.pem").touch()
    (work / "link").unlink()
    (work / "link").symlink_to(outside)
    assert outside / "c.pem" in found(workspace, *asked).files
    (outside / "c.pem").unlink()
    (outside / "d.pem").touch()
    assert outside / "d.pem" in found(workspace, *asked).files
    (work / "src").rename(work / "moved")
    (work / "src").mkdir()
    now, _ = looked("read(*.pem)", "read(private)")
    assert {"moved/private", "secrets/deep/new.pem"} <= now


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
    time.sleep(0.03)
    assert [found(workspace, "read(*.pem)").complete for _ in range(2)] == [False, False]
    for number in range(200):
        (many / f"{number}.pem").unlink()
    time.sleep(0.03)
    assert [len(found(workspace, "read(*.pem)").files) for _ in range(2)] == [901, 901]


@each_row("path", ["secrets", "secrets/key.txt", "./secrets/../secrets/deep", "Secrets/key.txt"])
def test_a_folder_that_is_denied_whole_is_denied_with_all_below(path: str, workspace: Workspace) -> None:
    for rule in ("read(secrets/**)", "read(secrets)", f"read({workspace.cwd}/secrets)"):
        denials = reading_denials(parse_rules(deny=[rule]).deny, TRAITS)
        assert denial_of(path, denials, workspace) == denials[0] or path == "Secrets/key.txt"


def test_what_lies_beside_or_above_is_not_denied(workspace: Workspace) -> None:
    denials = reading_denials(parse_rules(deny=["read(secrets/**)", "read(top)"]).deny, TRAITS)
    for path in (".", "src/app.py", "src/secrets.py", "..", "/etc/passwd"):
        assert denial_of(path, denials, workspace) is None


@pytest.mark.parametrize(("count", "complete"), [(1_000, True), (1_001, False)])
def test_a_thousand_files_can_be_hidden_and_no_more(count: int, complete: bool, workspace: Workspace) -> None:
    (workspace.cwd / "many").mkdir()
    for number in range(count):
        (workspace.cwd / f"many/{number}.key").touch()
    assert found(workspace, "read(*.key)").complete is complete


def test_what_a_link_leads_to_is_hidden_and_a_link_to_nothing_is_not(workspace: Workspace) -> None:
    work = workspace.cwd
    (work / "a.key").symlink_to("src/app.py")
    (work / "b.key").symlink_to("nowhere")
    (work / "c.key").mkdir()
    (work / "c.key/x").touch()
    assert names(workspace, found(workspace, "read(*.key)")) == ({"src/app.py"}, set())
    assert names(workspace, found(workspace, "read(c.key)")) == (set(), {"c.key"})


def test_git_s_own_folder_is_searched_like_any_other(workspace: Workspace) -> None:
    (workspace.cwd / ".git/refs").mkdir(parents=True)
    (workspace.cwd / ".git/refs/x.pem").touch()
    assert names(workspace, found(workspace, "read(*.pem)"))[0] == {"src/a.pem", ".git/refs/x.pem"}
    assert names(workspace, found(workspace, "read(.git/**/*.pem)"))[0] == {".git/refs/x.pem"}
    assert names(workspace, found(workspace, "read(.git)"))[1] == {".git"}
    assert names(workspace, found(workspace, "read(./refs/*.pem)"))[0] == set()


def test_a_rule_hides_in_every_root_and_whole_roots(workspace: Workspace) -> None:
    other = workspace.cwd.parent / "other"
    (other / "secrets").mkdir(parents=True)
    both = Workspace(workspace.cwd, (workspace.cwd, other), workspace.home)
    assert set(found(both, "read(secrets/**)").folders) == {workspace.cwd / "secrets", other / "secrets"}
    assert set(found(both, "read(**)").folders) == {workspace.cwd, other}
    assert found(both, "read(secrets/**)", "read(./secrets)").folders.count(other / "secrets") == 1
    assert found(both, f"read({other}/**)").folders == (other,)


def test_all_that_is_hidden_is_told_in_one_list() -> None:
    file, folder, stored = Path("/a"), Path("/b"), Path("/c")
    assert Hidden((file,), (folder,), (Path("/d"),), (stored,)).paths == (file, folder, stored)
    assert (Hidden().paths, Hidden().complete, Hidden().told) == ((), True, False)


@each_row(
    ("rule", "folder", "rest"),
    [
        ("read(secrets/**)", ".", {(".", "secrets/**")}),
        ("read(secrets/)", ".", {(".", "**/secrets/**"), (".", "secrets/**")}),
        ("read(secrets/**)", "secrets", {("secrets", "")}),
        ("read(secrets/**)", "secrets/deep", {("secrets/deep", "")}),
        ("read(secrets/**)", "src", set()),
        ("read(secrets)", "secrets/deep", {("secrets/deep", "")}),
        ("read(*.pem)", "src", {("src", "**/*.pem"), ("src", "*.pem")}),
        ("read(a/*/x)", "a", {("a", "*/x")}),
        ("read(a/*/x)", "a/private", {("a/private", "x")}),
        ("read(a/*/x)", "src", set()),
        ("read(config/**/*.yml)", "config/a", {("config/a", "**/*.yml"), ("config/a", "*.yml")}),
        ("read(s?c/*.pem)", "src", {("src", "*.pem")}),
        ("read(SRC/*.pem)", "src", {("src", "*.pem")}),
        ("read(secrets/*)", "..", {(".", "secrets/*")}),
    ],
)
def test_the_rest_of_a_pattern_below_a_folder_is_known(
    rule: str, folder: str, rest: set[tuple[str, str]], workspace: Workspace
) -> None:
    denials = reading_denials(parse_rules(deny=[rule]).deny, TRAITS)
    below = (workspace.cwd / folder).resolve()
    left = {(os.path.relpath(top, workspace.cwd), pattern) for top, pattern in remaining(denials, workspace, below)}
    assert left == rest


@each_row(
    ("value", "paths"),
    [
        ("src/a", ["src/a"]),
        ("", []),
        ("two\nlines", []),
        ("x" * 4_095, ["x" * 4_095]),
        ("x" * 4_096, []),
        ("https://example.com/a", []),
        ("file:///etc/a%20b", ["/etc/a b"]),
        ("file:/etc/x", ["/etc/x"]),
        ("file://./a", ["/a", "./a"]),
        ("cat a", ["cat a", "cat", "a"]),
        (" @a:3 ", ["@a:3", "a:3", "3", "a"]),
        ("a\\b", ["a\\b", "a/b"]),
        ("git:x", ["git:x", "x", "git"]),
        ("s3://a/b", []),
        ("vscode://file/a", ["file/a", "/a"]),
        ({"a": "x", "b": ["y", ("z", 5)], "c": None}, ["x", "y", "z"]),
        (5, []),
        (None, []),
    ],
)
def test_what_may_be_a_path_in_an_input_is_found(value: Any, paths: list[str]) -> None:
    assert list(paths_given(value)) == paths


def test_without_rules_or_for_an_impossible_path_nothing_is_denied(workspace: Workspace) -> None:
    denials = reading_denials(parse_rules(deny=["read(secrets/**)"]).deny, TRAITS)
    assert denial_of("secrets/key.txt", (), workspace) is None
    assert denial_of("secrets/\0", denials, workspace) is None
    assert reading_denials(parse_rules(deny=["read", "edit(x)", "bash(cat *)"]).deny, TRAITS) == ()


def run(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True)


def blob_of(folder: Path, text: str) -> str:
    words = ["git", "hash-object", "--stdin"]
    return subprocess.run(words, input=text, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Workspace:
    """A repository that contains nothing denied yet."""
    work = tmp_path / "repository"
    (work / "secrets").mkdir(parents=True)
    (work / "app.py").write_text("a\n")
    run(work, "init", "-q")
    run(work, "add", "-A")
    run(work, "commit", "-qm", "first")
    (work / "secrets/key").write_text("TOP\n")
    return Workspace(work, (work,), tmp_path)


def held(workspace: Workspace, *rules: str) -> Held:
    denials = reading_denials(parse_rules(deny=rules or ["read(secrets/**)"]).deny, TRAITS)
    (one,) = held_around([workspace.cwd], denials, workspace)
    return one


def _deleted(work: Path) -> None:
    run(work, "add", "secrets")
    run(work, "commit", "-qm", "second")
    run(work, "rm", "-q", "-r", "--cached", "secrets")
    run(work, "commit", "-qm", "third")


def _on_a_branch(work: Path) -> None:
    run(work, "checkout", "-q", "-b", "side")
    run(work, "add", "secrets")
    run(work, "commit", "-qm", "second")
    run(work, "checkout", "-q", "main")


def _in_the_reflog(work: Path) -> None:
    run(work, "add", "secrets")
    run(work, "commit", "-qm", "second")
    run(work, "reset", "-q", "--hard", "HEAD~1")


def _stashed(work: Path) -> None:
    run(work, "stash", "push", "-q", "--include-untracked")


def _renamed(work: Path) -> None:
    _deleted(work)
    (work / "plain").write_text("TOP\n")
    run(work, "add", "plain")
    run(work, "commit", "-qm", "fourth")


def _merged(work: Path) -> None:
    _on_a_branch(work)
    run(work, "merge", "-q", "--no-ff", "-m", "merged", "side")
    run(work, "branch", "-D", "side")


def _fetched(work: Path) -> None:
    _on_a_branch(work)
    run(work, "fetch", "-q", ".", "side")
    run(work, "branch", "-D", "side")
    (work / ".git/logs/HEAD").unlink()


@pytest.mark.parametrize(
    "how",
    [
        lambda work: run(work, "add", "secrets"),
        _deleted,
        _on_a_branch,
        _in_the_reflog,
        _stashed,
        _renamed,
        _merged,
        _fetched,
    ],
)
def test_a_denied_file_is_found_wherever_a_repository_keeps_it(
    how: Callable[[Path], None], repository: Workspace
) -> None:
    """Also if the repository was looked at before."""
    assert not held(repository).any
    how(repository.cwd)
    after = held(repository)
    assert after.any
    assert after.known
    assert (after.names, after.blobs) == ({"secrets/key"}, {blob_of(repository.cwd, "TOP\n")})
    assert (after.top, after.objects) == (repository.cwd, (repository.cwd / ".git/objects",))


def test_a_repository_without_such_files_or_that_no_rule_is_about_holds_none(repository: Workspace) -> None:
    run(repository.cwd, "add", "secrets")
    nothing = held(repository, "read(other/**)")
    assert (nothing.any, nothing.known, nothing.names, nothing.blobs) == (False, True, frozenset(), frozenset())
    denials = reading_denials(parse_rules(deny=["read(/elsewhere/**)"]).deny, TRAITS)
    assert held_around([repository.cwd], denials, repository) == []
    assert held_around([repository.home], reading_denials(parse_rules(deny=["read(x)"]).deny, TRAITS), repository) == []


def test_each_repository_is_looked_at_once_from_any_of_its_folders(repository: Workspace) -> None:
    denials = reading_denials(parse_rules(deny=["read(secrets/**)"]).deny, TRAITS)
    work = repository.cwd
    assert [each.top for each in held_around([work, work / "secrets", work], denials, repository)] == [work]


@each_row(
    ("rule", "found_names"),
    [
        ("read(secrets)", {"secrets/key"}),
        ("read(SECRETS/)", {"secrets/key"}),
        ("read(key)", {"secrets/key"}),
        ("read(*.py)", {"app.py"}),
        ("read(s*/k?y)", {"secrets/key"}),
        ("read(**)", {"secrets/key", "app.py"}),
        ("read(~/repository/app.py)", {"app.py"}),
        ("read(app)", set()),
    ],
)
def test_rules_mean_the_same_files_in_a_repository(rule: str, found_names: set[str], repository: Workspace) -> None:
    run(repository.cwd, "add", "secrets")
    assert held(repository, rule).names == found_names


def test_a_workspace_inside_of_a_repository_means_its_own_files(repository: Workspace) -> None:
    inner = repository.cwd / "in [x]"
    (inner / "secrets").mkdir(parents=True)
    (inner / "secrets/key").write_text("INNER\n")
    run(repository.cwd, "add", "-A")
    assert held(Workspace(inner, (inner,), repository.home)).names == {"in [x]/secrets/key"}


def test_a_repository_that_git_cannot_read_counts_as_one_that_holds_some(repository: Workspace) -> None:
    (repository.cwd / ".git/index").write_bytes(b"no index")
    broken = held(repository)
    assert (broken.any, broken.known) == (True, False)


@each_row(
    ("text", "found"),
    [
        ("src/a.py", True),
        ("  src/a.py  ", True),
        ("src/a.py\nx", False),
        ("x" * 4_000 + " src/a.py", True),
        ("x" * 5_000 + " src/a.py", False),
    ],
)
def test_paths_are_looked_for_in_one_line_that_is_no_longer_than_a_path(text: str, found: bool) -> None:
    assert ("src/a.py" in set(paths_named(text))) is found
