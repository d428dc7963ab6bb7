"""The key goes to its provider and nowhere else: into no file, no message, no child, and to no other host."""

from __future__ import annotations

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.faults import MODELS
from tests.e2e.program import Program, Ran
from tests.loopback import Loopback, Refuse
from tests.loopback.server import KEY
from tests.sampling import first

LOOKS = (
    "env",
    "cat /proc/self/environ | tr '\\0' '\\n'",
    "python3 -c 'import os; print(dict(os.environ))'",
    "bash -c 'set; export -p'",
)
"""Commands by which a child would see the key, had it been given it."""


def _is_nowhere(program: Program, *runs: Ran) -> None:
    for ran in runs:
        assert KEY not in ran.out + ran.err
    files = [path for path in program.base.rglob("*") if path.is_file()]
    assert any("records" in path.parts for path in files)
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("wire", first(1, MODELS))
def test_no_child_file_or_message_holds_the_key(program: Program, wire: str) -> None:
    looks = [call("bash", command=command) for command in LOOKS]
    child = call("task", description="look", prompt="look")
    script = [say("", *looks), say("", child), say("", looks[0]), say("Nothing."), say("Done."), say("Still here.")]
    with Loopback(script) as server:
        program.more = server.env
        options = ("-m", MODELS[wire], "--mode", "yolo", "--set", "agent.titles=false")
        ran = program.ask("-p", "look around", *options)
        again = program.ask("resume", "--last", "-p", "again", *options)
        assert (ran.code, ran.result["text"]) == (0, "Done."), (ran.result, ran.err)
        assert again.code == 0
        header = {"anthropic": "authorization", "google": "x-goog-api-key"}[wire]
        assert all(KEY in asked.headers[header] for asked in server.requests)
        assert all(KEY.encode() not in asked.body for asked in server.requests), (
            "what a child printed went to the model"
        )
    printed = [line for line in ran.of("tool_result") if line["name"] == "bash"]
    assert len(printed) == len(LOOKS)
    assert all("PATH" in line["output"] for line in printed if line["status"] == "success")
    exported = program.run("sessions", "export", ran.result["session_id"], "--format", "json", "--keep-secrets")
    _is_nowhere(program, ran, again, exported)


@pytest.mark.parametrize("wire", MODELS)
def test_a_server_that_echoes_the_key_does_not_get_it_shown_or_kept(program: Program, wire: str) -> None:
    with Loopback(lambda _: Refuse(401, message=f"invalid key {KEY}, or Bearer {KEY}")) as server:
        program.more = server.env
        ran = program.ask("-p", "hello", "-m", MODELS[wire])
    assert (ran.code, ran.result["subtype"]) == (41, "credentials")
    _is_nowhere(program, ran)


@pytest.mark.full
@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize(
    "status", [307, *(pytest.param(other, marks=pytest.mark.slow) for other in (301, 302, 303, 308))]
)
def test_a_redirect_takes_the_key_to_no_other_host(program: Program, wire: str, status: int) -> None:
    with Loopback([say("caught")] * 9) as elsewhere:
        where = {"location": f"{elsewhere.url.replace('127.0.0.1', 'localhost')}/v1/messages"}
        with Loopback(lambda _: Refuse(status, headers=where)) as server:
            program.more = server.env
            ran = program.ask("-p", "hello", "-m", MODELS[wire])
            assert len(server.requests) == 1
        assert (elsewhere.asked, elsewhere.connections) == ([], 0)
    assert (ran.code, ran.result["subtype"]) == (1, "failed")
    _is_nowhere(program, ran)
