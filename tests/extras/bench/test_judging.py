"""The judge of a task: the agent's code sees nothing of it, and an end without a judgement is none."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.extras.bench.judging import Refused, evaluated, ran
from agentcli.extras.bench.task_file import CHECK, OWN, TaskFile, encoded, read_set

namespaces = pytest.mark.skipif(
    bool(subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode), reason="no namespaces here"
)


@namespaces
def test_the_agents_code_sees_no_process_but_its_own(tmp_path: Path) -> None:
    seen = "[name for name in os.listdir('/proc') if name.isdigit()]"
    user, processes, parent = evaluated(tmp_path, "import os", ["os.getuid()", seen, "os.getppid()"])
    assert (user, len(processes) <= 1, parent) == (os.getuid(), True, 0)


@namespaces
def test_what_the_agents_code_leaves_running_ends_with_it(tmp_path: Path) -> None:
    code, out = ran(tmp_path, "/bin/sh", "-c", "(sleep 0.2; touch late) & echo done")
    assert (code, out) == (0, "done\n")
    subprocess.run(["sleep", "0.4"], check=True)
    assert not (tmp_path / "late").exists()


def test_output_without_end_is_no_answer(tmp_path: Path) -> None:
    code, out = ran(tmp_path, "/bin/sh", "-c", "exec yes")
    assert code != 0
    assert len(out) <= 20_000_000


def test_a_command_that_does_not_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="does not end"):
        ran(tmp_path, "/bin/sh", "-c", "sleep 600", seconds=0.2)


def checked(script: str, tree: Path) -> tuple[int, str]:
    task: TaskFile = next(iter(read_set(OWN)))
    given = encoded(replace(task, parts={**task.parts, CHECK: script}))
    tree.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-I", "-m", "agentcli.extras.bench.check"],
        cwd=tree,
        input=given,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


def test_a_check_that_judged_keeps_its_end(tmp_path: Path) -> None:
    judge = "from agentcli.extras.bench.judging import judge, require\njudge(lambda tree, original: require({}, 'no'))"
    assert checked(judge.format("True"), tmp_path / "tree") == (0, "solved\n")
    assert checked(judge.format("False"), tmp_path / "tree") == (1, "refused: no\n")
