"""The policy `native` from the command line: what a model without it is told, and that a session keeps it."""

from __future__ import annotations

import json

import pytest

from agentcli.context.cleared import CLEARED
from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Loopback

NATIVE = ("--set", "context.policy=native")


@pytest.mark.slow
def test_a_model_whose_provider_clears_nothing_goes_on_with_auto_and_the_plan_refuses(program: Program) -> None:
    ran = program.ask("-p", "hello", "-m", "script:echo", *NATIVE)
    assert ran.code == 0
    assert "The policy native works only with Claude on Anthropic's own API" in ran.out
    planned = json.loads(program.run("context", "plan", "--json").out)
    assert planned["policy"] == "auto"
    refused = program.run("context", "plan", "-p", "native")
    assert refused.code != 0
    assert "works only with Claude on Anthropic's own API; script/echo is another model." in refused.err
    assert program.run("context", "compare", "--policies", "native", "--", *session_ids(program)).code != 0
    assert "native" not in program.run("context", "compare", *session_ids(program)).out


def session_ids(program: Program) -> list[str]:
    return [row["id"] for row in json.loads(program.run("sessions", "list", "--json").out)]


@pytest.mark.slow
def test_a_session_keeps_the_policy_and_what_was_cleared(program: Program) -> None:
    (program.work / "long.txt").write_text("a line of some length\n" * 300)
    rules = ("native.trigger=9000", "native.keep=1", "native.clear_at_least=500", "keep_recent=100")
    more = [option for rule in rules for option in ("--set", f"context.{rule}")]
    replies = [say("", call("read", file_path="long.txt", offset=n)) for n in range(1, 8)]
    with Loopback([*replies, say("Read."), say("Fine."), say("Good.")]) as server:
        program.more = server.env
        assert program.run("-p", "Read it.", "-m", "opus", *NATIVE, *more).code == 0
        assert server.requests[-1].json["context_management"]["edits"][1]["trigger"]["type"] == "tool_uses"
        shown = json.loads(program.run("context", "show", "--json", *more).out)
        assert shown["used"] < 9_500
        assert {row["fate"] for row in shown["messages"]} >= {"cleared", "kept"}
        assert json.loads(program.run("context", "plan", "--json", *more).out)["policy"] == "native"
        assert program.run("resume", "--last", "-p", "Thanks.", *more).out == "Fine.\n"
        assert "context_management" in server.requests[-1].json
        auto = ("--set", "context.policy=auto")
        assert program.run("resume", "--last", "-p", "And now?", *auto).out == "Good.\n"
        assert "context_management" not in server.requests[-1].json
        assert CLEARED in json.dumps(server.requests[-1].turns), "agentcli's markers have taken over"
        assert json.loads(program.run("context", "plan", "--json").out)["policy"] == "auto"
        assert not any(asked.refused for asked in server.asked)
