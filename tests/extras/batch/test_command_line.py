"""`agentcli batch` on a batch that nobody works on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.extras.batch.driver import STOP
from agentcli.extras.batch.ledger import Ledger, Row
from agentcli.frontends.cli.parser import invoke


@pytest.fixture
def out(tmp_path: Path) -> Path:
    tasks = {id: {"digest": "", "repo": str(tmp_path), "base": ""} for id in ("t0", "t1")}
    (tmp_path / "batch.json").write_text(json.dumps({"version": 1, "name": "b", "options": {}, "tasks": tasks}))
    Ledger(tmp_path).write(Row("t0", 1, "x", "running"))
    return tmp_path


def test_a_wish_to_stop_says_whether_agents_are_at_work(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (([], "agents get ten seconds to end"), (["t1"], "no agent is at work now")):
        assert invoke(["batch", "stop", str(out), *words]) == 0
        assert capsys.readouterr().out == f"Asked to stop: {said}.\n"
        assert (out / STOP).read_text().split() == words


@pytest.mark.parametrize("command", ["stop", "show", "merge"])
def test_a_task_that_does_not_exist_is_named(out: Path, command: str) -> None:
    with pytest.raises(InputError, match=r"Unknown task 't9' in .*\. Did you mean t[01] or t[01]\?"):
        invoke(["batch", command, str(out), "t9"])
    assert not (out / STOP).exists()
