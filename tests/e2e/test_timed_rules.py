"""A rule for a number of calls, in runs that resume one session."""

from __future__ import annotations

import json

import pytest

from tests.e2e.program import Program


@pytest.mark.full
def test_a_resumed_session_has_the_calls_that_are_left_and_a_copy_has_none(program: Program) -> None:
    calls = [{"name": "bash", "input": {"command": f"touch f{n}"}, "id": f"c{n}"} for n in range(3)]
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": [{"text": "", "calls": calls}, {"text": "Done."}]}))
    more = ("-m", f"script:{file}", "--mode", "ask")
    assert program.run("-p", "hello", "-m", "script:echo").code == 0
    allowed = program.run("-c", "-p", "/permissions allow bash(touch *) for 2 calls", *more)
    assert "Allowed for 2 calls: bash(touch *)." in allowed.out
    assert "bash(touch *)  (2 calls left)" in program.run("-c", "-p", "/permissions", *more).out
    copied = program.run("-c", "--fork", "-p", "go", *more)
    assert copied.code == 0
    assert not (program.work / "f0").exists()
    (session,) = [
        each["id"] for each in json.loads(program.run("sessions", "list", "--json").out) if not each["parent"]
    ]
    program.run("resume", session, "-p", "go", *more)
    assert [(program.work / f"f{n}").exists() for n in range(3)] == [True, True, False]
    assert "touch" not in program.run("resume", session, "-p", "/permissions", *more).out
    refused = program.run("-c", "-p", "/permissions allow bash(touch *)", *more)
    assert (refused.code, "for 10 calls" in refused.err) == (2, True)
