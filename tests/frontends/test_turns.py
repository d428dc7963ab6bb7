from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from agentcli.frontends.turns import farewell
from agentcli.sessions.in_memory import MemorySession


def test_the_jobs_that_end_with_a_session_are_told() -> None:
    jobs = [SimpleNamespace(id="job-1", command="make all\n\x1b[2J")]
    session: Any = SimpleNamespace(
        core=SimpleNamespace(jobs=SimpleNamespace(running=lambda: jobs)), journal=MemorySession()
    )
    program: Any = SimpleNamespace(sessions=SimpleNamespace(choosing=False))
    assert [line.startswith("Ended job-1: make all") for line in farewell(program, session)] == [True]
    assert "\x1b" not in "".join(farewell(program, session))
