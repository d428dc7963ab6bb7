"""Commands that run unasked because they only read run in a box of their own, in every mode."""

from __future__ import annotations

import json

import pytest

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="no bubblewrap works here")


def outputs(program: Program, *commands: str, settings: tuple[str, ...] = ()) -> list[str]:
    calls = [{"name": "bash", "input": {"command": command}} for command in commands]
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [{"calls": calls}, {"text": "Done."}]}))
    program.ask("-p", "go", "-m", f"script:{script}", *settings)
    return [record["output"] for record in program.records() if record["kind"] == "tool_result"]


def test_a_reader_sees_no_process_but_its_own(program: Program) -> None:
    (program.work / "a.txt").write_text("inside\n")
    read, init = outputs(program, "cat a.txt; cat /proc/1/cmdline || true", "cat a.txt; ps -p 1 -o comm=")
    assert "outside" in read or "not a regular file" in read
    assert init.startswith("inside\nbwrap\n[it ran in a read-only sandbox, which shows no processes")


def test_what_looks_at_the_machine_alone_sees_it(program: Program) -> None:
    (seen,) = outputs(program, "ps -eo comm=")
    assert len(seen.splitlines()) > 5
    assert "sandbox" not in seen


def test_with_the_sandbox_switched_off_a_reader_runs_as_it_is(program: Program) -> None:
    (program.work / "a.txt").write_text("inside\n")
    (seen,) = outputs(program, "cat a.txt; ps -eo comm=", settings=("--set", "sandbox=off"))
    assert "sandbox" not in seen
    assert len(seen.splitlines()) > 5
