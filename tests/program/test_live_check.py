"""The small real requests of `doctor --live`."""

from __future__ import annotations

from pathlib import Path

from agentcli.frontends.opening import program_of
from agentcli.program import live_check as live
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.providers.scripted.model import Reply, say
from tests.loopback import Asked, Loopback, Refuse


def program_in(folder: Path, server: Loopback) -> Program:
    homes = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("DATA", "CONFIG", "STATE", "CACHE")}
    return program_of(Options(cwd=str(folder)), {**server.env, **homes})


def test_each_endpoint_is_asked_with_everything_and_what_it_lacks_is_remembered(tmp_path: Path) -> None:
    refusing = True

    def answer(asked: Asked) -> Reply | Refuse:
        marked = "cache_control" in asked.body.decode()
        return Refuse(400, message="cache_control: not permitted") if refusing and marked else say("OK")

    with Loopback(answer) as server:
        program = program_in(tmp_path, server)
        probes = live.probes(program)
        assert [probe.model.provider for probe in probes] == ["anthropic", "google", "openai"]
        assert all(probe.cost is not None and probe.cost < live.MOST_COST for probe in probes)
        claude, gemini, gpt = live.ask(program, probes)
        taken = dict(zip(live.CAPABILITIES, claude.capabilities, strict=True))
        assert {name for name, state in taken.items() if state == "yes"} == {*live.CAPABILITIES} - {"cache"}
        assert taken["cache"] == "no"
        assert dict(zip(live.CAPABILITIES, gemini.capabilities, strict=True))["cache"] == "-"
        assert {name: learnt.lacking for name, learnt in program.models.memory.all().items()} == {
            claude.model: {"cache"}
        }
        assert dict(zip(live.CAPABILITIES, gpt.capabilities, strict=True))["cache"] == "-"
        assert len(server.requests) == 4
        assert not [asked.refused for asked in server.asked if asked.refused]
        refusing = False
        live.ask(program, probes[:1])
        assert program.models.memory.all() == {}, "what works again is no longer remembered"


def test_an_endpoint_that_fails_says_why(tmp_path: Path) -> None:
    with Loopback(lambda _: Refuse(401)) as server:
        program = program_in(tmp_path, server)
        [answer] = live.ask(program, live.probes(program)[:1])
    assert "401" in answer.error
    assert answer.capabilities == ()


def test_a_model_that_costs_too_much_is_not_asked(tmp_path: Path) -> None:
    with Loopback() as server:
        program = program_in(tmp_path, server)
        program = program_of(Options(cwd=str(tmp_path), settings=("model=fable",)), program.env)
        [claude, _, _] = live.probes(program)
    assert claude.model.id == "claude-sonnet-5-5"
    assert "at most $0.0" in live.offer([claude])
