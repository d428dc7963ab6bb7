from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentcli.core.errors import ConfigError
from agentcli.frontends.terminal.render.facts import Status
from agentcli.frontends.terminal.render.status_line import StatusLine, branch, check_facts, status_line
from agentcli.frontends.terminal.style import MUTE
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import open_session, say_to


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


def test_the_branch_is_that_of_the_folder_in_which_commands_start(tmp_path: Path) -> None:
    for folder, head in ((tmp_path, "main"), (tmp_path / "wt", "release")):
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text(f"ref: refs/heads/{head}\n")
    session = open_session(tmp_path, [say("", call("bash", command="cd wt")), say("Done.")], mode="yolo")
    line = StatusLine(session)
    assert line().branch == "main"
    say_to(session, "go")
    assert line().branch == "release"


def test_the_model_has_the_chosen_effort_after_it() -> None:
    assert status_line(Status(model="anthropic/claude-sonnet-5-5", effort="high"), 60, MUTE) == "sonnet-5-5:high"
    assert status_line(Status(model="anthropic/claude-sonnet-5-5"), 60, MUTE) == "sonnet-5-5"
