"""Settings of the context engine change what the installed program does, wherever they are given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.program import Program, Ran


@pytest.fixture
def worked(program: Program) -> Program:
    """A session that has run three commands and read eight files."""
    calls: list[dict[str, Any]] = [{"name": "bash", "input": {"command": f"ls f{n}.txt"}} for n in range(3)]
    calls += [{"name": "read", "input": {"file_path": f"f{n}.txt"}} for n in range(8)]
    for n in range(8):
        (program.work / f"f{n}.txt").write_text("".join(f"file {n} says line {k}\n" for k in range(60)))
    replies = [{"text": f"Now {call['input']}.", "calls": [call]} for call in calls] + [{"text": "All read."}]
    (program.work / "script.json").write_text(json.dumps({"replies": replies}))
    assert program.run("-p", "Read all the files.", "-m", "script:script.json").code == 0
    return program


def statuses(ran: Ran) -> list[str]:
    """The statuses of the compactions of a run."""
    return [line["status"] for line in ran.of("compaction")]


@pytest.mark.full
@pytest.mark.parametrize("place", ["config", "environment", "--set"])
def test_what_a_compaction_must_free_is_set_from_anywhere(worked: Program, place: str) -> None:
    more: list[str] = []
    if place == "config":
        worked.config("[context]\nmin_shrink = 1\n")
    elif place == "environment":
        worked.more = {"AGENTCLI_CONTEXT__MIN_SHRINK": "1"}
    else:
        more = ["--set", "context.min_shrink=1"]
    assert statuses(worked.ask("resume", "--last", "-p", "/compress", *more)) == ["noop"]


def test_settings_that_are_gone_change_nothing_and_are_named_once(worked: Program) -> None:
    worked.config("[context.snapshot]\nfiles_read = 2\ncommands = 'few'\n[ui]\nhistory = -1\n")
    worked.more = {"AGENTCLI_CONTEXT__LOSS__PHASES": "false"}
    ran = worked.ask("resume", "--last", "-p", "/compress", "--set", "context.auto.air=0.5")
    assert (ran.code, statuses(ran)) == (0, ["compressed"])
    newest = worked.records(ran.result["session_id"])[-1]
    assert newest["snapshot"].count("ran ls ") > 2
    told = [line["message"] for line in ran.of("warning") if "longer have an effect" in line["message"]]
    place = worked.base / "config/agentcli/config.toml"
    assert told == [
        f"These settings no longer have an effect: context.snapshot.files_read, context.snapshot.commands, ui.history in {place}; "
        "context.loss.phases in the environment (AGENTCLI_CONTEXT__LOSS__PHASES); context.auto.air in --set. Remove them."
    ]
    for command in (("get", "context.auto.air"), ("set", "context.auto.air", "0.5")):
        refused = worked.run("config", *command)
        assert (refused.code, "'context.auto.air' is no longer a setting" in refused.err) == (52, True)
