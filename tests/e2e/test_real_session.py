"""A real session of another program is taken over and goes on with either provider."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.program import ROOT, Program
from tests.loopback import Loopback

REAL = ROOT.parent / "shared" / "data" / "real-session.jsonl"

pytestmark = pytest.mark.skipif(not REAL.is_file(), reason="the recorded session is not here")


@pytest.mark.parametrize(
    "model", ["anthropic/claude-opus-4-5", pytest.param("google/gemini-2.5-pro", marks=pytest.mark.slow)]
)
def test_it_is_imported_shown_planned_compressed_and_goes_on(program: Program, model: str) -> None:
    session = program.run("sessions", "import", str(REAL)).out.strip()
    records = program.records(session)
    replies = [r for r in records if r["kind"] == "message" and r["role"] == "assistant" and r["usage"]]
    assert len(replies) >= 470
    assert sum(r["usage"]["input"] for r in replies) > 0

    shown = json.loads(program.run("context", "show", session, "--json", "-m", model).out)
    assert shown["used"] > 100_000
    plan = json.loads(program.run("context", "plan", session, "--json", "-m", model, "--force").out)
    assert plan["trigger"]
    assert plan["tokens_after_estimate"] < plan["tokens_before"] / 2
    wanted = "policy trigger split summarised kept cleared pinned tokens_before tokens_after_estimate reasons"
    assert set(plan) == set(wanted.split())

    with Loopback(lambda _: say("I remember the refactoring.")) as server:
        program.more = server.env
        ran = program.ask("resume", session, "-p", "what were we doing?", "-m", model)
        assert ran.code == 0, ran.err
        assert not [asked.refused for asked in server.requests if asked.refused]
        assert ran.result["text"] == "I remember the refactoring."
    after = json.loads(program.run("context", "show", session, "--json", "-m", model).out)
    if model.startswith("anthropic"):
        assert ran.of("prune") or ran.of("compaction"), "it was over the hard mark"
        assert after["used"] < 0.9 * after["usable"] < shown["used"]


def test_compress_by_hand_and_a_prompt_after_it(program: Program) -> None:
    session = program.run("sessions", "import", str(REAL)).out.strip()

    def plan(asked: Any) -> Any:
        return say("Then I go on.")

    with Loopback(plan) as server:
        program.more = server.env
        with program.terminal("resume", session, "-m", "google/gemini-2.5-pro", columns=100, rows=30) as t:
            t.until("gemini-2.5-pro")
            t.send("/compress keep the names of the modes\r", until="tokens · Summarised", seconds=40)
            t.send("go on\r", until="Then I go on.", seconds=40)
            t.settle()
            t.send("\x04")
            assert t.wait() == 0
    assert not [asked.refused for asked in server.requests if asked.refused]
    assert "keep the names of the modes" in str(server.requests[0].json)
    assert "state_snapshot" in str(server.requests[-1].json)
