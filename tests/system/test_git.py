"""Git of the program starts nothing that a repository's own config names, and all that the person's own names."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agentcli.extras.batch import trees
from agentcli.extras.batch.ledger import Row, fold
from agentcli.extras.batch.merging import merge
from agentcli.extras.batch.results import Batch
from agentcli.extras.batch.tasks import Isolation
from agentcli.system.git import git
from agentcli.system.git_changes import changes, choices
from agentcli.system.worktrees import add_worktree

PROGRAMS = (
    "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "diff.external",
    "merge.evil.driver", "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "sequence.editor", "gpg.program", "gpg.ssh.program", "gpg.x509.program", "credential.helper",
    "pager.diff", "pager.status", "pager.log", "alias.status", "alias.diff", "interactive.diffFilter", "uploadpack.packObjectsHook",
    "trailer.evil.command", "hook.evil.command", "tar.tgz.command", "remote.origin.uploadpack", "remote.origin.receivepack",
    "mergetool.evil.cmd", "difftool.evil.cmd", "browser.evil.cmd", "man.evil.cmd", "credential.https://example.org.helper",
)  # fmt: skip
"""Keys whose value git starts."""
SWITCHES = {
    "filter.evil.required": "true",
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "log.showSignature": "true",
    "diff.tool": "evil",
    "merge.tool": "evil",
    "protocol.ext.allow": "always",
    "submodule.recurse": "true",
    "diff.submodule": "diff",
    "status.submoduleSummary": "true",
    "hook.evil.event": "post-checkout",
    "submodule.nested.ignore": "none",
}


@pytest.fixture(autouse=True)
def _own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "global").write_text("[user]\nname = A\nemail = a@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with every attribute and an edit."""
    folder = tmp_path / "repo"
    folder.mkdir()
    plain(folder, "init", "-q", "-b", "main")
    (folder / ".gitattributes").write_text("*.txt filter=evil diff=evil merge=evil\n")
    (folder / "a.txt").write_text("".join(f"line {number}\n" for number in range(9)))
    plain(folder, "add", "-A")
    plain(folder, "commit", "-qm", "first")
    with (folder / "a.txt").open("a") as file:
        file.write("edited\n")
    return folder


def plain(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def marks(folder: Path, set_key: Callable[[str, str], None]) -> Path:
    """Have every key start a program that leaves a file behind; where the files come to lie."""
    aside = folder.parent if folder.name == "repo" else folder / ".git"
    found = aside / "started"
    found.mkdir(exist_ok=True)
    for number, key in enumerate(PROGRAMS):
        program = aside / f"program-{number}"
        program.write_text(
            f"#!/bin/sh\ntouch {shlex.quote(str(found / key.replace('/', '_')))}\ncat 2>/dev/null\nexit 0\n"
        )
        program.chmod(0o755)
        set_key(key, str(program))
    for key, value in SWITCHES.items():
        set_key(key, value)
    return found


def in_config(folder: Path) -> Callable[[str, str], None]:
    return lambda key, value: plain(folder, "config", "--add", key, value)


def in_worktree_config(folder: Path) -> Callable[[str, str], None]:
    plain(folder, "config", "extensions.worktreeConfig", "true")
    return lambda key, value: plain(folder, "config", "--worktree", "--add", key, value)


def in_conditional_include(folder: Path) -> Callable[[str, str], None]:
    """Config that holds in linked worktrees alone, and in all."""
    plain(folder, "config", "includeIf.gitdir:**/worktrees/**.path", "../more")
    plain(folder, "config", "includeIf.onbranch:main.path", "../more")
    return lambda key, value: plain(folder, "config", "--file", str(folder / "more"), "--add", key, value)


def work(repo: Path, cache: Path) -> None:
    """Everything for which the program itself starts git."""
    isolations: tuple[Isolation, ...] = ("worktree", "clone", "copy")
    base = trees.base_commit(str(repo), "HEAD")
    trees.is_dirty(str(repo))
    rows = []
    for number, isolation in enumerate(isolations):
        tree = trees.make_tree(cache, str(repo), base, isolation, f"b-{isolation}")
        lines = [f"line {line}" if line != 4 * number else f"changed by {isolation}" for line in range(9)]
        (tree / "a.txt").write_text("\n".join([*lines, ""]))
        ref = f"{trees.REFS}/b/{isolation}/1"
        result = trees.record(str(repo), tree, base, ref, isolation, cache / f"{isolation}.diff", isolation)
        assert f"+changed by {isolation}" in (cache / f"{isolation}.diff").read_text()
        rows.append(Row(isolation, 1, "x", "passed", 1.0, commit=result.commit, worktree=str(tree)))
    entries = {row.id: {"repo": str(repo), "base": base, "digest": ""} for row in rows}
    batch = Batch(cache, "b", {"isolation": "worktree"}, entries, fold(rows))
    versions: tuple[tuple[str, tuple[int, ...]], ...] = (("new", ()), ("old", (2, 30)))
    for branch, version in versions:
        done = merge(batch, branch, cache, version=version)
        assert (done.merged, dict(done.conflicts)) == (("worktree", "clone"), {})
        text = git(repo, "show", f"{branch}:a.txt")
        assert "changed by worktree" in text
        assert "changed by clone" in text
    assert "+edited" in changes(repo).diff
    (repo / "new.txt").write_text("new\n")
    assert "+new" in changes(repo).diff
    assert "+changed by clone" in changes(repo, rows[1].commit).diff
    changes(repo, "new")
    assert choices(repo)
    tree = add_worktree(repo, cache / "own", os.environ)
    (tree.folder / "a.txt").write_text("other\n")
    assert "a.txt" in tree.finish("kept")


@pytest.mark.full
@pytest.mark.parametrize("place", [in_config, in_worktree_config, in_conditional_include])
def test_nothing_that_the_config_of_a_repository_names_is_started(
    repo: Path, tmp_path: Path, place: Callable[[Path], Callable[[str, str], None]]
) -> None:
    found = marks(repo, place(repo))
    work(repo, tmp_path / "cache")
    assert sorted(file.name for file in found.iterdir()) == []


@pytest.mark.full
@pytest.mark.parametrize("isolation", ["worktree", "clone", "copy"])
def test_a_repository_within_the_tree_of_a_task_starts_nothing(
    repo: Path, tmp_path: Path, isolation: Isolation
) -> None:
    cache = tmp_path / "cache"
    base = trees.base_commit(str(repo), "HEAD")
    tree = trees.make_tree(cache, str(repo), base, isolation, "b-t")
    nested = tree / "nested"
    nested.mkdir()
    plain(nested, "init", "-q")
    (nested / ".gitattributes").write_text("*.txt filter=evil\n")
    (nested / "b.txt").write_text("one\n")
    plain(nested, "add", "-A")
    plain(nested, "commit", "-qm", "nested")
    (tree / ".gitmodules").write_text('[submodule "nested"]\n\tpath = nested\n\turl = ./nested\n\tignore = none\n')

    def recorded() -> str:
        trees.record(str(repo), tree, base, f"{trees.REFS}/b/t/1", "t", cache / "t.diff", isolation)
        return (cache / "t.diff").read_text()

    first = recorded()
    found = marks(nested, in_config(nested))
    (nested / "b.txt").write_text("two\n")
    assert recorded() == first, "what is not committed there is no change here"
    if isolation != "copy":
        git(tree, "status", "--porcelain", "--untracked-files=all")
        changes(tree)
    assert sorted(file.name for file in found.iterdir()) == []
    commit = trees.commit_tree(nested, git(nested, "rev-parse", "HEAD^{tree}"), "more", "HEAD")
    git(nested, "update-ref", "HEAD", commit)
    assert f"+Subproject commit {commit}" in recorded()
    shutil.rmtree(nested)
    assert "Subproject" not in recorded()


def test_the_filters_of_the_persons_own_config_hold_also_where_the_repository_names_others(
    repo: Path, tmp_path: Path
) -> None:
    plain(repo, "config", "--global", "filter.evil.smudge", "tr a-z A-Z")
    plain(repo, "config", "--global", "filter.evil.required", "true")
    plain(repo, "config", "--global", "filter.evil.clean", "tr A-Z a-z")
    for key in ("filter.evil.smudge", "filter.evil.clean"):
        plain(repo, "config", key, f"touch {tmp_path}/started")
    tree = trees.make_tree(tmp_path / "cache", str(repo), "HEAD", "worktree", "b-t")
    assert (tree / "a.txt").read_text().startswith("LINE 0\n")
    assert git(tree, "status", "--porcelain") == ""
    assert not (tmp_path / "started").exists()
