"""Work trees that a session makes in mode auto, with a real repository and the real sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program, Ran

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")


@pytest.fixture
def program() -> Iterator[Program]:
    """The program in a repository that is not below /tmp, which is another folder in the sandbox."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        made = Program(Path(folder).resolve())
        git(made.work, "init", "-q", "-b", "main")
        for key in ("name", "email"):
            git(made.work, "config", f"user.{key}", "a")
        (made.work / "a.txt").write_text("a\n")
        git(made.work, "add", ".")
        git(made.work, "commit", "-qm", "First")
        for hook in (made.work / ".git/hooks").iterdir():
            hook.unlink()
        yield made


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def auto(program: Program, *calls: str | dict[str, Any], more: tuple[str, ...] = ()) -> Ran:
    """The run of a model that makes these calls, commands or others, with nobody to ask."""
    made = [{"name": "bash", "input": {"command": call}} if isinstance(call, str) else call for call in calls]
    path = program.base / "script.json"
    path.write_text(json.dumps({"replies": [*({"calls": [call]} for call in made), {"text": "Done."}]}))
    return program.ask("-m", f"script:{path}", "--mode", "auto", "-p", "go", *more)


def statuses(ran: Ran) -> list[str]:
    return [one["status"] for one in ran.of("tool_result")]


def outputs(ran: Ran) -> list[str]:
    return [one["output"] for one in ran.of("tool_result")]


def written(path: Path, text: str) -> dict[str, Any]:
    return {"name": "write", "input": {"file_path": str(path), "content": text}}


def test_what_git_makes_outside_the_sandbox_stays_though_programs_run_beside_it(program: Program) -> None:
    (program.work / "make.py").write_text("import os\nfor name in ('.vscode', 'sub/.git'): os.makedirs(name)\n")
    git(program.work, "add", ".")
    git(program.work, "commit", "-qm", "Second")
    ran = auto(
        program,
        "git config user.name other && python3 make.py",
        "git worktree add -q .trees/topic -b topic && cd .trees/topic && sh -c 'touch b.txt'",
        "git add . && git commit -qm Third",
    )
    assert statuses(ran) == ["success"] * 3, ran.of("tool_result")
    assert outputs(ran)[0].count("made-in-sandbox") == 2, "only what was made inside"
    assert "made" not in "".join(outputs(ran)[1:])
    assert git(program.work, "log", "-1", "--format=%s %an", "topic") == "Third other"


def test_a_work_tree_beside_the_repository_is_the_sessions_own_once_it_has_made_it(program: Program) -> None:
    name = f"{program.work.name}-topic"
    there = program.work.parent / name
    ran = auto(
        program,
        written(program.work / "turn.py", f"open('{there}/made', 'w')\nopen('{there}/.git', 'w')\n"),
        f"git worktree add ../{name} -b topic 2>&1 | tail -1",
        written(there / "b.txt", "b\n"),
        "python3 turn.py",
        f"git worktree remove ../{name}",
        f"git -C ../{name} add . && git -C ../{name} commit -qm Second",
        f"cd ../{name} && git worktree remove ../{name}",
        f"cd {program.work}",
        f"git worktree remove ../{name}",
        "sh -c 'touch still.txt'",
    )
    ends = ["success"] * 3 + ["error", "error", "success", "denied"] + ["success"] * 3
    assert statuses(ran) == ends, ran.of("tool_result")
    assert "Read-only file system" in outputs(ran)[3]
    undone = [str(record) for record in program.records() if "before" in str(record)]
    assert all(any(str(there / name) in text for text in undone) for name in ("made", "b.txt")), "/undo covers it"
    assert "use --force" in outputs(ran)[4]
    assert git(program.work, "show", "--format=%s", "--name-only", "topic").split() == ["Second", "b.txt", "made"]
    assert not there.exists()


def test_a_work_tree_that_was_there_before_is_not_the_sessions_own(program: Program) -> None:
    name = f"{program.work.name}-other"
    git(program.work, "worktree", "add", "-q", "-b", "other", f"../{name}")
    ran = auto(
        program,
        f"cat ../{name}/a.txt && git -C ../{name} status",
        f"touch ../{name}/new",
        written(program.work.parent / name / "new", "x\n"),
        f"git worktree add --force ../{name} other",
        f"git worktree remove ../{name}",
        f"touch ../{name}/new",
    )
    assert statuses(ran) == ["success"] + ["denied"] * 5, ran.of("tool_result")


def test_a_resumed_session_knows_the_work_trees_that_it_has_made(program: Program) -> None:
    name, replaced = (f"{program.work.name}-{end}" for end in ("topic", "replaced"))
    there = program.work.parent
    made = [f"git worktree add -q ../{each} -b {each}" for each in (name, replaced)]
    assert statuses(auto(program, *made, f"cd ../{name}")) == ["success"] * 3
    git(program.work, "worktree", "remove", f"../{replaced}")
    git(program.work, "worktree", "add", "-q", f"../{replaced}", replaced)
    os.utime(there / replaced / ".git", (1, 1))
    goes_on = ("pwd", "touch b", f"touch ../{replaced}/b", f"git worktree remove ../{replaced}", f"cd {program.work}")
    ran = auto(program, *goes_on, f"rm ../{name}/b && git worktree remove ../{name}", more=("-c",))
    assert statuses(ran) == ["success"] * 2 + ["denied"] * 2 + ["success", "denied"], ran.of("tool_result")
    assert outputs(ran)[0].strip() == str(there / name)
    ran = auto(program, f"rm ../{name}/b", f"git worktree remove ../{name}", more=("-c",))
    assert statuses(ran) == ["success"] * 2, ran.of("tool_result")
    assert not (there / name).exists()
    denied = auto(program, f"touch ../{replaced}/b", more=("-c", "--fork"))
    assert statuses(denied) == ["denied"]


def test_a_work_tree_in_the_sessions_tmp_is_made_used_and_removed(program: Program) -> None:
    ran = auto(
        program,
        "git worktree add -q --detach /tmp/check HEAD && cd /tmp/check && sh -c 'cat a.txt; touch new' && git status --short",
        "git worktree remove --force /tmp/check",
        "git worktree list | wc -l",
    )
    assert statuses(ran) == ["success"] * 3, ran.of("tool_result")
    assert "a\n?? new" in outputs(ran)[0]
    assert outputs(ran)[2].split()[0] == "1"


def test_work_trees_that_have_gone_are_forgotten_and_those_of_no_branch_ask(program: Program) -> None:
    git(program.work, "worktree", "add", "-q", "--detach", ".trees/old")
    ran = auto(
        program,
        "git worktree add -q .trees/new -b new",
        "git worktree prune",
        "git worktree remove .trees/old",
    )
    assert statuses(ran) == ["success"] + ["denied"] * 2, ran.of("tool_result")
    git(program.work, "worktree", "remove", ".trees/old")
    shutil.rmtree(program.work / ".trees/new")
    ran = auto(program, "git worktree prune -v; git worktree list | wc -l")
    assert statuses(ran) == ["success"], ran.of("tool_result")
    assert outputs(ran)[0].split()[-1] == "1"


def test_a_work_tree_that_is_hidden_or_another_repositorys_does_not_join(program: Program) -> None:
    base, name = program.work.parent, program.work.name
    git(base, "clone", "-q", str(program.work), "other")
    ran = auto(
        program,
        f"git worktree add -q ../.{name}/hidden -b hidden",
        "git -C ../other worktree add -q ../other-topic -b topic",
        *(written(base / folder / "new.txt", "x\n") for folder in (f".{name}/hidden", "other-topic")),
        f"git worktree remove ../.{name}/hidden && git worktree remove ../other-topic",
        more=("--allow", "bash(git worktree add *)", "--allow", "bash(git -C ../other worktree add *)"),
    )
    assert statuses(ran) == ["success"] * 2 + ["denied"] * 3, ran.of("tool_result")


def test_a_session_in_a_work_tree_commits_to_its_repository_which_stays_closed_to_programs(program: Program) -> None:
    common, tree = program.work / ".git", program.work.parent / "tree"
    git(program.work, "worktree", "add", "-q", "-b", "topic", str(tree))
    names = [f"{common}/{name}" for name in ("x", "config", "refs/heads/y", "worktrees/tree/x")]
    lines = [f"try: open('{name}', 'a'); print('wrote', '{name}')\nexcept OSError: pass\n" for name in names]
    (tree / "write.py").write_text("".join(lines))
    ran = auto(
        program,
        "python3 write.py",
        "git add . && git commit -qm Second && python3 write.py",
        "git checkout -q -b more && git stash list",
        "sh -c 'rm .git'",
        more=("-C", str(tree)),
    )
    assert statuses(ran) == ["success"] * 3 + ["denied"], ran.of("tool_result")
    assert "wrote" not in "".join(outputs(ran))
    assert git(program.work, "log", "-1", "--format=%s", "more") == "Second"
    (common / "hooks/pre-commit").touch(0o755)
    assert statuses(auto(program, "git commit --amend -qm Third", more=("-C", str(tree)))) == ["denied"]
    (common / "hooks/pre-commit").unlink()
    (common / "worktrees/tree/gitdir").write_text(f"{program.work.parent}/other/.git\n")
    assert statuses(auto(program, "git commit --amend -qm Third", more=("-C", str(tree)))) == ["denied"]
