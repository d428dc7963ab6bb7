"""The fallback model against a real server: all retries first, then the other model, told on every channel."""

from __future__ import annotations

from typing import Any

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Asked, Loopback, Refuse

FIRST, OTHER = "anthropic/claude-sonnet-5", "google/gemini-3.8-flash"
QUICK = ("--set", "retry.first=0.01", "--set", "retry.attempts=3")


def busy_after_one_step(asked: Asked) -> Any:
    """Claude thinks and lists, then has no capacity left; Gemini answers."""
    if asked.wire == "google":
        return say("Gemini answers.")
    if any(turn["role"] == "assistant" for turn in asked.turns):
        return Refuse(529, "overloaded_error", "Overloaded")
    return say("I list.", call("list"), thinking="a thought of Claude")


@pytest.mark.full
def test_the_other_provider_goes_on_where_the_first_one_gave_up(program: Program) -> None:
    with Loopback(busy_after_one_step) as server:
        program.more = server.env
        ran = program.ask("-p", "go", "-m", FIRST, "--set", f"agent.fallback_model={OTHER}", *QUICK)
        assert ran.code == 0, ran.err
        assert ran.result["text"] == "Gemini answers."
        assert [asked.wire for asked in server.requests] == ["anthropic"] * 4 + ["google"]
        assert not server.requests[-1].refused
        assert "a thought of Claude" not in str(server.requests[-1].json)
        assert len(ran.of("retry")) == 2
        [told] = [line["message"] for line in ran.of("warning") if OTHER in line["message"]]
        assert FIRST in told
        kinds = [(r["provider"], r["model"]) for r in program.records() if r.get("role") == "assistant"]
        assert kinds == [tuple(FIRST.split("/")), tuple(OTHER.split("/"))]
        [switched] = [record["why"] for record in program.records() if record["kind"] == "settings" and "why" in record]
        assert switched == told
        assert program.ask("resume", "--last", "-p", "and now?").code == 0
        assert server.requests[-1].wire == "google"


def test_without_one_the_run_ends_as_transient(program: Program) -> None:
    with Loopback(busy_after_one_step) as server:
        program.more = server.env
        ran = program.ask("-p", "go", "-m", FIRST, *QUICK)
    assert (ran.code, ran.result["exit_code"]) == (75, 75)
    assert {asked.wire for asked in server.requests} == {"anthropic"}
