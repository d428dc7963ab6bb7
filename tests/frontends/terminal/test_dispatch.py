"""A turn that failed at the server: the error ends with a key, and Enter on an empty line sends the request once more."""

from __future__ import annotations

import json

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.faults import MODELS
from tests.e2e.program import Program
from tests.loopback import Loopback, Refuse

MODEL = MODELS["anthropic"]


@pytest.mark.parametrize("columns", [60, pytest.param(120, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (
            Refuse(401, message="invalid x-api-key"),
            "(invalid x-api-key). Fix ANTHROPIC_API_KEY or run `agentcli auth set anthropic`, then press Enter to resend.",
        ),
        (Refuse(429, headers={"retry-after": "900"}), "(15 min). Enter resends · /model switches"),
        (Refuse(400, message="no such thing"), "The provider answered: no such thing. Enter resends"),
    ],
    ids=["401", "429", "400"],
)
def test_enter_on_an_empty_line_sends_a_refused_request_once_more(
    program: Program, refusal: Refuse, told: str, columns: int
) -> None:
    with Loopback([refusal, say("fine now")]) as server:
        program.more = server.env
        with program.terminal("--set", "agent.titles=false", "-m", MODEL, "hello there", columns=columns) as t:
            t.until("Enter")
            t.settle()
            assert told in " ".join(" ".join(t.history()).split())
            t.settle()
            t.send("\r", until="fine now")
            t.settle()
            t.send("\r")
            t.settle(0.5)
        first, second = (json.loads(asked.body) for asked in server.requests)
    assert first["messages"] == second["messages"]
    assert "hello there" in json.dumps(first["messages"])


@pytest.mark.parametrize("columns", [80, 120])
def test_a_conversation_that_is_too_long_names_one_way_on(program: Program, columns: int) -> None:
    refusal = Refuse(400, message="prompt is too long: 250000 tokens > 200000 maximum")
    with Loopback(lambda _: refusal) as server:
        program.more = server.env
        with program.terminal("--set", "agent.titles=false", "-m", MODEL, "hello there", columns=columns) as t:
            t.until("/handoff continues")
            t.settle()
            shown = " ".join(" ".join(t.history()).split())
    assert "✗ The conversation is too long for the model: /handoff continues in a new session. ──" in shown
    assert "compact" not in shown


def test_without_a_screen_an_empty_line_does_the_same(program: Program) -> None:
    with Loopback([Refuse(400, message="no such thing"), say("fine now")]) as server:
        program.more = server.env
        with program.terminal("--plain", "--set", "agent.titles=false", "-m", MODEL, "hello there", columns=100) as t:
            t.until("Enter resends")
            t.send("\r", until="fine now")
        assert len(server.requests) == 2
