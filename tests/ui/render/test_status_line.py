from __future__ import annotations

import asyncio
import gc
import subprocess
from pathlib import Path

import pytest

from agentcli.core.errors import ConfigError
from agentcli.ui.render.facts import Status
from agentcli.ui.render.status_line import branch, check_facts, run_script


def ran(command: str, folder: Path) -> str:
    return asyncio.run(run_script(command, Status(model="a/b", used=3), folder))


def test_a_script_reads_the_status_and_gives_one_harmless_line(tmp_path: Path) -> None:
    script = 'python3 -c \'import json,sys; s=json.load(sys.stdin); print(s["model"], s["used"], "\\x1b[2J"); print("more")\''
    assert ran(script, tmp_path) == "a/b 3 \\x1b[2J"
    assert ran("pwd", tmp_path) == str(tmp_path)


def test_a_script_that_fails_says_so(tmp_path: Path) -> None:
    assert ran("exit 3", tmp_path) == "ui.status_command: exit 3"
    assert ran("true", tmp_path / "gone") == "Can't start ui.status_command: No such file or directory"


@pytest.mark.filterwarnings("error")
def test_a_script_that_is_given_up_has_ended_before_its_event_loop_does(tmp_path: Path) -> None:
    async def run() -> None:
        script = asyncio.create_task(run_script("touch started; sleep 60", Status(model="a/b", used=3), tmp_path))
        while not (tmp_path / "started").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        script.cancel()
        await asyncio.gather(script, return_exceptions=True)

    asyncio.run(run())
    gc.collect()  # a process that still ran would be complained about


def test_a_fact_that_does_not_exist_is_told_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match=r"no item 'weather'\. Use one of: model, mode"):
        check_facts("model weather")
    check_facts("cost model")


def test_the_branch_is_read_also_in_a_worktree_and_on_no_branch(tmp_path: Path) -> None:
    script = """git init -q -b trunk main && cd main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
        && git worktree add -q ../other -b feature/x && git checkout -q --detach && git rev-parse HEAD"""
    ran_ = subprocess.run(
        script.replace("\n", " "), shell=True, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert branch(tmp_path / "other") == "feature/x"
    assert branch(tmp_path / "main") == ran_.stdout[:7]
    assert branch(tmp_path) == branch(Path("/"))
    (tmp_path / "main" / ".git" / "HEAD").write_text("ref: refs/heads/trunk\n")
    (tmp_path / "main" / "below").mkdir()
    assert branch(tmp_path / "main" / "below") == "trunk"
    (tmp_path / ".git").write_text("gitdir: \0\n")
    assert branch(tmp_path) == ""
