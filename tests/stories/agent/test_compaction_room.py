"""No session ends at its window while anything in it can be summarised, whatever the policy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

import agentcli
from agentcli.agent.session import AgentSession
from agentcli.context.settings import ContextSettings, PolicyName
from agentcli.core.errors import ModelError
from agentcli.core.event import CompactionEnded, Event, TurnEnded
from agentcli.core.model import Request, StreamEvent
from agentcli.core.record import Compaction
from agentcli.extras.lab.replay import Setup, replay
from agentcli.providers.scripted.model import Reply, ScriptedModel, call, say
from agentcli.tools.registry import TRAITS
from tests.agent.open_session import DEMO, open_session, say_to
from tests.bench.long_life import prepared
from tests.loopback import Loopback
from tests.sampling import sampled
from tests.tables import each_row

# Not `regions`: its summaries are never summarised again, and it says so.
POLICIES = [policy for policy in get_args(PolicyName) if policy != "regions"]
LINE = "a line of the file with some words in it, number {}\n"
MODELS = {"anthropic": "anthropic/claude-sonnet-5", "google": "google/gemini-3.5-flash"}


def reading(steps: int) -> Callable[[Any], Reply]:
    """A model that reads so many files for each prompt, then answers."""
    asked = 0

    def play(_: Any) -> Reply:
        nonlocal asked
        asked += 1
        if asked % (steps + 1) == 0:
            return say(f"Prompt {asked // (steps + 1)} is done and checked.")
        return say(f"Step {asked}.", call("read", file_path=f"f{asked % 12}.txt"))

    return play


def small(
    folder: Path, policy: PolicyName, window: int, steps: int, lines: int, model: type[ScriptedModel] = ScriptedModel
) -> AgentSession:
    """A session of this policy whose model has a window of so many tokens, and twelve files to read."""
    for n in range(12):
        (folder / f"f{n}.txt").write_text("".join(LINE.format(f"{n}.{line}") for line in range(lines)))
    spec = replace(DEMO, window=window, max_output=window // 4)
    context = ContextSettings(policy=policy)
    return open_session(
        folder, (), model=spec, mode="yolo", context=context, wrapped=lambda _: model(spec, reading(steps))
    )


def play(session: AgentSession, prompts: int) -> list[Event]:
    """All events of so many turns, each of which must end as done."""
    events = say_to(session, *(f"Prompt {number}: read the next files." for number in range(prompts)))
    ends = [each for each in events if isinstance(each, TurnEnded)]
    assert [(each.ending, each.error) for each in ends] == [("done", None)] * prompts
    return events


def compactions(events: Sequence[Event]) -> list[CompactionEnded]:
    """The compactions that were tried."""
    return [each for each in events if isinstance(each, CompactionEnded)]


@pytest.mark.full
@pytest.mark.parametrize("steps", [3, 10], ids=["short turns", "turns that alone are too large"])
@pytest.mark.parametrize("window", sampled([8_000, 24_000], 2))
@pytest.mark.parametrize("policy", sampled(POLICIES, 2))
def test_a_session_outlives_its_window(policy: PolicyName, window: int, steps: int, tmp_path: Path) -> None:
    session = small(tmp_path, policy, window, steps, lines=window // 140)
    tried = compactions(play(session, 12))
    assert {each.status for each in tried} == {"compressed"}


@pytest.mark.full
@pytest.mark.parametrize(("policy", "named"), [("gemini", "auto"), ("opencode", "opencode"), ("sliding", "sliding")])
def test_what_only_another_policy_can_free_is_compacted_by_it_and_the_record_names_it(
    policy: PolicyName, named: str, tmp_path: Path
) -> None:
    # One prompt has no message of the user to split before, the only place at which gemini splits.
    session = small(tmp_path, policy, 24_000, 12, lines=170)
    assert compactions(play(session, 1))
    bodies = [record.body for record in session.journal.records_of("compaction")]
    assert {body.policy for body in bodies if isinstance(body, Compaction)} == {named}


@each_row("policy", ["auto", "regions"])
def test_an_output_a_call_or_a_reply_larger_than_the_window_is_cut_to_its_ends(
    policy: PolicyName, tmp_path: Path
) -> None:
    long = "print('a line of code in a long file', 12345)\n" * 400
    replies = [
        say("Read it.", call("read", file_path="f1.txt")),
        say("", call("bash", command=f"true <<'END'\n{long}END")),
        say("", call("write", file_path="long.py", content=long)),
        say(f"FIRST {long} LAST", call("read", file_path="f2.txt")),
    ]
    for n in (1, 2):
        (tmp_path / f"f{n}.txt").write_text("".join(LINE.format(line) for line in range(3_000)))
    spec = replace(DEMO, window=8_000, max_output=2_000)
    asked: list[Request] = []

    def reply(request: Request) -> Reply:
        asked.append(request)
        return replies.pop(0) if replies else say("Done.")

    context = ContextSettings(policy=policy)
    session = open_session(
        tmp_path, (), model=spec, mode="yolo", context=context, wrapped=lambda _: ScriptedModel(spec, reply)
    )
    play(session, 2)
    shown = [part for request in asked for message in request.messages for part in message.parts]
    assert any('role="input") shows all of it' in str(getattr(part, "input", "")) for part in shown)
    assert any(getattr(part, "text", "").startswith("FIRST print") and "shows all of it" in part.text for part in shown)  # type: ignore[union-attr]
    assert (tmp_path / "long.py").read_text() == long


@each_row("policy", POLICIES)
def test_a_prompt_that_the_provider_finds_too_long_is_compacted_within_its_only_turn(
    policy: PolicyName, tmp_path: Path
) -> None:
    refused: list[int] = []

    class Narrow(ScriptedModel):
        """Refuses one prompt of the session as too long."""

        async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
            if not refused and len(request.messages) > 12:
                refused.append(len(request.messages))
                raise ModelError("The prompt is too long.", "too_long")
            async for event in super().stream(request):
                yield event

    session = small(tmp_path, policy, 200_000, 9, lines=170, model=Narrow)
    assert [each.status for each in compactions(play(session, 1))] == ["compressed"]
    assert refused


@pytest.mark.full
@pytest.mark.parametrize("policy", POLICIES)
def test_the_lab_finds_room_as_the_live_program_does(policy: PolicyName, tmp_path: Path) -> None:
    session = small(tmp_path, policy, 24_000, 6, lines=170)
    assert compactions(play(session, 10))
    spec = replace(DEMO, window=24_000, max_output=6_000)
    # The rate is that at which the scripted model counts.
    played = replay(list(session.journal.records()), policy, Setup(spec, TRAITS, rate=0.25))
    assert played.compactions
    assert (played.refused, played.broken) == (0, ())


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("window", [8_000, 24_000, 32_000, 200_000, 1_000_000])
@pytest.mark.parametrize("policy", POLICIES)
@each_row("wire", MODELS)
def test_three_hundred_turns_never_end_at_the_window(
    wire: str, policy: PolicyName, window: int, tmp_path: Path
) -> None:
    model = MODELS[wire]
    program = prepared(tmp_path, model, window)
    lines = min(1_800, window // 140)
    for n in range(12):
        (program.work / f"f{n}.txt").write_text("".join(LINE.format(f"{n}.{line}") for line in range(lines)))
    config = (tmp_path / "config" / "agentcli" / "config.toml").read_text()
    program.config(config + f'[context]\npolicy = "{policy}"\n')

    async def live() -> list[Any]:
        found = []
        async with agentcli.Session(cwd=str(program.work), model=model, env={**program.env, **server.env}) as session:
            for turn in range(300):
                async for event in session.say(f"Prompt {turn}: read the next files."):
                    if isinstance(event, agentcli.CompactionEvent):
                        found.append(event)
                    if isinstance(event, agentcli.Result):
                        assert event.status == "success", (turn, event)
        return found

    with Loopback(reading(3), strict=False, keep=1) as server:
        found = asyncio.run(live())
    # What is read is many times each window; in a large one a policy may find room by pruning alone.
    assert [each for each in found if each.status == "compressed"] or window > 32_000
