"""Settings of the context engine change what the installed program does, wherever they are given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.program import Program


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


def snapshot(program: Program, *more: str) -> str:
    """The snapshot of a compaction that is asked for now."""
    ran = program.ask("resume", "--last", "-p", "/compress", *more)
    assert [line["status"] for line in ran.of("compaction")] == ["compressed"], ran.out
    newest: dict[str, Any] = program.records(ran.result["session_id"])[-1]
    assert newest["kind"] == "compaction"
    return str(newest["snapshot"])


@pytest.mark.parametrize("place", ["config", "environment", "--set"])
def test_the_size_of_a_snapshot_is_set_from_anywhere(worked: Program, place: str) -> None:
    more: list[str] = []
    if place == "config":
        worked.config("[context.snapshot]\nfiles_read = 2\ncommands = 1\n")
    elif place == "environment":
        worked.more = {"AGENTCLI_CONTEXT__SNAPSHOT__FILES_READ": "2", "AGENTCLI_CONTEXT__SNAPSHOT__COMMANDS": "1"}
    else:
        more = ["--set", "context.snapshot.files_read=2", "--set", "context.snapshot.commands=1"]
    made = snapshot(worked, *more)
    assert made.count("READ: ") == 2
    assert "older items left out; recall reaches them)" in made
    assert made.count(" → exit 0") == 1


def test_without_a_word_a_snapshot_names_every_file(worked: Program) -> None:
    made = snapshot(worked)
    assert made.count("READ: ") > 2
    assert "left out" not in made
    assert made.count(" → exit 0") == 3
